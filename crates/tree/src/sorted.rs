//! Scan order: depth-first, the names of a directory in byte order, files and subdirectories together.

use crate::{Error, TreeFds};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The directory at the root of a file system that holds the snapshots which a workload takes, where they have a place in the tree.
pub const SNAPSHOTS: &str = ".senesce-snapshots";

/// One name in a tree.
#[derive(Debug)]
pub struct Entry<'a> {
    /// Its directory.
    pub dir: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a CStr,
    /// Its path from the root of the tree.
    pub path: &'a Path,
    /// Directories between it and the root.
    pub depth: u32,
    /// Its type.
    pub file_type: FileType,
    root: &'a Path,
}

impl Entry<'_> {
    /// Its path, with that of the root.
    pub fn full_path(&self) -> PathBuf {
        self.root.join(self.path)
    }

    /// Its status.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn stat(&self) -> Result<Stat, Error> {
        stat(self.dir, self.name).map_err(|errno| self.error("examining", errno.into()))
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn open(&self) -> rustix::io::Result<OwnedFd> {
        openat(self.dir, self.name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    }

    /// An error at this name.
    pub fn error(&self, doing: &'static str, source: io::Error) -> Error {
        Error { doing, path: self.full_path(), source }
    }
}

/// Calls `visit` for every name below `root`, a directory before its contents.
///
/// The directory `lost+found` and the file `.nilfs` at the root are left out, because the file system creates them itself, and [`SNAPSHOTS`].
///
/// # Errors
/// The first error of `visit`, or of a directory that cannot be read.
pub fn walk<E: From<Error>>(root: &Path, mut visit: impl FnMut(&Entry) -> Result<(), E>) -> Result<(), E> {
    let mut path = PathBuf::new();
    let failed = |doing, path: &Path| {
        let path = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) };
        move |source| Error { doing, path, source }
    };
    let mut fds = TreeFds::new(root).map_err(failed("opening directory", &path))?;
    let list = |fds: &TreeFds, path: &Path| list(fds.here()).map_err(failed("reading directory", path));
    let mut levels = vec![list(&fds, &path)?];
    while let Some(level) = levels.last_mut() {
        let Some((name, mut file_type)) = level.next() else {
            levels.pop();
            if !levels.is_empty() {
                fds.leave().map_err(failed("leaving directory", &path))?;
                path.pop();
            }
            continue;
        };
        path.push(OsStr::from_bytes(name.to_bytes()));
        if file_type == FileType::Unknown {
            let stat = stat(fds.here(), &name).map_err(|errno| failed("examining", &path)(errno.into()))?;
            file_type = FileType::from_raw_mode(stat.st_mode);
        }
        if levels.len() == 1 && is_left_out(file_type, &name) {
            path.pop();
            continue;
        }
        let depth = fds.depth() as u32;
        visit(&Entry { dir: fds.here(), name: &name, path: &path, depth, file_type, root })?;
        if file_type == FileType::Directory {
            fds.enter(&name).map_err(failed("opening directory", &path))?;
            levels.push(list(&fds, &path)?);
        } else {
            path.pop();
        }
    }
    Ok(())
}

fn stat(dir: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Stat> {
    statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Whether this name at the root is no part of the tree.
fn is_left_out(file_type: FileType, name: &CStr) -> bool {
    match file_type {
        FileType::Directory => name == c"lost+found" || name.to_bytes() == SNAPSHOTS.as_bytes(),
        FileType::RegularFile => name == c".nilfs",
        _ => false,
    }
}

/// The names in a directory, in byte order.
fn list(dir: BorrowedFd<'_>) -> io::Result<std::vec::IntoIter<(CString, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(names.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::mkdirat;

    fn seen(root: &Path) -> Vec<(String, u32)> {
        let mut seen = Vec::new();
        walk(root, |entry| {
            seen.push((entry.path.to_str().unwrap().to_owned(), entry.depth));
            Ok::<_, Error>(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn files_and_directories_come_in_one_byte_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b", "b/z", "b/c", "lost+found", SNAPSHOTS, ".senesce-snapshots/s1"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["a", "B", "b/a", "b/c/x", "é", "b-", ".nilfs"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        std::os::unix::fs::symlink("b", dir.path().join("link")).unwrap();
        let expected = [
            ("B", 0),
            ("a", 0),
            ("b", 0),
            ("b/a", 1),
            ("b/c", 1),
            ("b/c/x", 2),
            ("b/z", 1),
            ("b-", 0),
            ("link", 0),
            ("é", 0),
        ];
        assert_eq!(seen(dir.path()), expected.map(|(name, depth)| (name.to_owned(), depth)));
    }

    #[test]
    fn neither_depth_nor_long_paths_matter() {
        let dir = tempfile::tempdir().unwrap();
        let mut fds = TreeFds::new(dir.path()).unwrap();
        let name = CString::new("d".repeat(200)).unwrap();
        for _ in 0..500 {
            mkdirat(fds.here(), &name, Mode::RWXU).unwrap();
            // Visited after coming back up.
            openat(fds.here(), c"e", OFlags::CREATE, Mode::RWXU).unwrap();
            fds.enter(&name).unwrap();
        }
        let seen = seen(dir.path());
        assert_eq!(seen.len(), 1000);
        assert_eq!(seen[499].1, 499);
        assert_eq!(seen[999], ("e".to_owned(), 0));
    }

    #[test]
    fn the_place_of_an_error_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("d/f"), "").unwrap();
        let gone = walk(dir.path(), |entry| {
            if entry.file_type == FileType::RegularFile {
                std::fs::remove_file(entry.full_path()).unwrap();
                entry.stat()?;
            }
            Ok::<_, Error>(())
        });
        let message = gone.unwrap_err().to_string();
        assert_eq!(
            message,
            format!("examining {}/d/f: No such file or directory (os error 2)", dir.path().display())
        );
        let missing = walk(Path::new("/does/not/exist"), |_| Ok::<_, Error>(())).unwrap_err().to_string();
        assert!(missing.starts_with("opening directory /does/not/exist: "), "{missing}");
    }
}
