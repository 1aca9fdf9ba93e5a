//! A path from the root of a tree down to a directory, as open descriptors.

use rustix::fs::{Mode, OFlags, fstat, openat};
use std::collections::VecDeque;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Descriptors that stay open. Those above are opened again on the way up, so that depth costs no descriptors.
const OPEN: usize = 64;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directories from the root of a tree down to the current one.
pub struct TreeFds {
    /// The deepest directories, at least one.
    open: VecDeque<OwnedFd>,
    /// Device and inode of those above, the root first.
    closed: Vec<(u64, u64)>,
}

impl TreeFds {
    /// Starts at `root`, which may be a symbolic link.
    ///
    /// # Errors
    /// If `root` is no directory, or cannot be opened.
    pub fn new(root: &Path) -> io::Result<TreeFds> {
        let root = rustix::fs::open(root, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(TreeFds { open: VecDeque::from([root]), closed: Vec::new() })
    }

    /// The current directory.
    pub fn here(&self) -> BorrowedFd<'_> {
        self.open.back().expect("one is always open").as_fd()
    }

    /// Levels below the root.
    pub fn depth(&self) -> usize {
        self.closed.len() + self.open.len() - 1
    }

    /// Descends into a subdirectory.
    ///
    /// # Errors
    /// If it is no directory, or cannot be opened.
    pub fn enter(&mut self, name: &CStr) -> io::Result<()> {
        let below = openat(self.here(), name, DIRECTORY, Mode::empty())?;
        self.open.push_back(below);
        if self.open.len() > OPEN {
            let above = self.open.pop_front().expect("there are many");
            self.closed.push(identity(&above)?);
        }
        Ok(())
    }

    /// Ascends to the parent; not from the root.
    ///
    /// # Errors
    /// If the directory was moved meanwhile.
    pub fn leave(&mut self) -> io::Result<()> {
        let left = self.open.pop_back().expect("one is always open");
        if self.open.is_empty() {
            let above = openat(&left, c"..", DIRECTORY, Mode::empty())?;
            if Some(identity(&above)?) != self.closed.pop() {
                return Err(io::Error::other("a directory was moved during the walk"));
            }
            self.open.push_back(above);
        }
        Ok(())
    }
}

fn identity(dir: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}
