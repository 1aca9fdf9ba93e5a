//! Visits a tree in scan order: depth-first, the names of one directory in byte order, files and
//! subdirectories in one sequence. Every name is looked up relative to its directory's descriptor, so long
//! paths cost nothing and need no limit. Symbolic links are seen but never followed.

use crate::{Error, Result};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One name in a tree.
pub struct Entry<'a> {
    /// The directory it lies in.
    pub dir: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a CStr,
    /// Its type; a symbolic link is one, whatever it points to.
    pub file_type: FileType,
    dir_path: &'a Path,
}

impl Entry<'_> {
    /// Its path, for messages.
    pub fn path(&self) -> PathBuf {
        self.dir_path.join(OsStr::from_bytes(self.name.to_bytes()))
    }

    /// Its status.
    pub fn stat(&self) -> Result<Stat> {
        statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW).map_err(Error::io("examining", &self.path()))
    }

    /// Opens it for reading; of use for regular files.
    pub fn open(&self) -> rustix::io::Result<OwnedFd> {
        openat(self.dir, self.name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    }
}

/// A directory whose names are being visited.
struct Level {
    fd: OwnedFd,
    names: std::vec::IntoIter<(CString, FileType)>,
}

impl Level {
    fn open(parent: BorrowedFd<'_>, name: &CStr, path: &Path) -> Result<Level> {
        let fd = openat(parent, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Error::io("opening directory", path))?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&fd).map_err(Error::io("reading directory", path))? {
            let entry = entry.map_err(Error::io("reading directory", path))?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(Level { fd, names: names.into_iter() })
    }
}

/// Calls `visit` for every name below `root` in scan order, a directory before what lies in it.
pub fn walk(root: &Path, mut visit: impl FnMut(&Entry) -> Result<()>) -> Result<()> {
    let start = CString::new(root.as_os_str().as_bytes())
        .map_err(|_| Error::cannot("walking a tree", "its path contains a NUL byte"))?;
    let mut path = root.to_path_buf();
    let mut levels = vec![Level::open(CWD, &start, &path)?];
    while let Some(level) = levels.last_mut() {
        let Some((name, mut file_type)) = level.names.next() else {
            levels.pop();
            if !levels.is_empty() {
                path.pop();
            }
            continue;
        };
        if file_type == FileType::Unknown {
            let entry = Entry { dir: level.fd.as_fd(), name: &name, file_type, dir_path: &path };
            file_type = FileType::from_raw_mode(entry.stat()?.st_mode);
        }
        visit(&Entry { dir: level.fd.as_fd(), name: &name, file_type, dir_path: &path })?;
        if file_type == FileType::Directory {
            path.push(OsStr::from_bytes(name.to_bytes()));
            let below = Level::open(level.fd.as_fd(), &name, &path)?;
            levels.push(below);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_directories_come_in_one_byte_order() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["b", "b/z", "b/c", "b/c/d"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        for name in ["a", "c", "B", "b/a", "b/c/d/x", "b/zz", "é", "b-"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        let mut seen = Vec::new();
        walk(dir.path(), |entry| {
            seen.push(entry.path().strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned());
            Ok(())
        })
        .unwrap();
        let expected =
            ["B", "a", "b", "b/a", "b/c", "b/c/d", "b/c/d/x", "b/z", "b/zz", "b-", "c", "link", "é"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_missing_root_is_named() {
        let error = walk(Path::new("/nonexistent/tree"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/tree"), "{error}");
    }
}
