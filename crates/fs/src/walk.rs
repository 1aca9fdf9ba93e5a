//! Visits a tree in scan order: depth-first, the names of one directory in byte order, files and subdirectories
//! together.

use crate::Error;
use crate::tree_fds::TreeFds;
use rustix::fs::{AtFlags, Dir, FileType, Mode, statat};
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One name in a tree.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The directory it lies in.
    pub dir: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a CStr,
    /// Its path from the root of the tree.
    pub path: &'a Path,
    /// Directories between it and the root.
    pub depth: u32,
    /// What it is; a symbolic link is one, whatever it points to.
    pub kind: FileType,
    /// Its permissions.
    pub mode: Mode,
    /// Its size.
    pub size_bytes: u64,
    /// What it takes on disk.
    pub allocated_bytes: u64,
    /// Its inode.
    pub ino: u64,
    /// Names that its inode has.
    pub links: u64,
}

/// Calls `visit` for every name below `root`, a directory before what lies in it. Symbolic links are not followed.
/// The directory `lost+found` and the file `.nilfs` at the root are left out: they belong to the file system, not to the tree.
pub fn walk_sorted(root: &Path, visit: &mut dyn FnMut(&Entry) -> io::Result<()>) -> Result<(), Error> {
    let mut path = PathBuf::new();
    walk(root, &mut path, visit).map_err(Error::io("visiting", &root.join(path)))
}

/// Whether a name at the root is made with the file system: there is one in each copy of it.
fn is_of_file_system(kind: FileType, name: &CStr) -> bool {
    kind == FileType::Directory && name == c"lost+found" || kind == FileType::RegularFile && name == c".nilfs"
}

/// Leaves in `path` where it was when it failed.
fn walk(root: &Path, path: &mut PathBuf, visit: &mut dyn FnMut(&Entry) -> io::Result<()>) -> io::Result<()> {
    let mut fds = TreeFds::new(root)?;
    let mut levels = vec![names(fds.here())?.into_iter()];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.next() else {
            levels.pop();
            if !levels.is_empty() {
                fds.leave()?;
                path.pop();
            }
            continue;
        };
        path.push(OsStr::from_bytes(name.to_bytes()));
        let stat = statat(fds.here(), &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if levels.len() == 1 && is_of_file_system(kind, name.as_c_str()) {
            path.pop();
            continue;
        }
        visit(&Entry {
            dir: fds.here(),
            name: &name,
            path,
            depth: fds.depth() as u32,
            kind,
            mode: Mode::from_raw_mode(stat.st_mode),
            size_bytes: stat.st_size as u64,
            allocated_bytes: stat.st_blocks as u64 * 512,
            ino: stat.st_ino,
            links: stat.st_nlink as u64,
        })?;
        if kind == FileType::Directory {
            fds.enter(&name)?;
            levels.push(names(fds.here())?.into_iter());
        } else {
            path.pop();
        }
    }
    Ok(())
}

fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{mkdirat, openat};

    fn seen(root: &Path) -> Vec<(String, u32)> {
        let mut seen = Vec::new();
        walk_sorted(root, &mut |entry| {
            seen.push((entry.path.to_str().unwrap().to_owned(), entry.depth));
            Ok(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn files_and_directories_come_in_one_byte_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b", "b/z", "b/c", "lost+found"] {
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
            openat(fds.here(), c"e", rustix::fs::OFlags::CREATE, Mode::RWXU).unwrap();
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
        let fail = &mut |entry: &Entry| match entry.kind {
            FileType::RegularFile => Err(io::Error::other("enough")),
            _ => Ok(()),
        };
        let message = walk_sorted(dir.path(), fail).unwrap_err().to_string();
        assert!(message.ends_with("/d/f: enough"), "{message}");
        assert!(
            walk_sorted(Path::new("/does/not/exist"), fail)
                .unwrap_err()
                .to_string()
                .contains("/does/not/exist")
        );
    }
}
