//! The files of a plan on a file system, each opened relative to its open directory, so that its depth costs nothing. If there are more
//! directories than may be open, the others are opened by their path from the root.

use super::descriptors;
use super::error::Error;
use super::plan::Plan;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// A file, identified by its set and its index in the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileId {
    pub set: usize,
    pub file: usize,
}

/// The files of all sets.
pub struct FileTree {
    root: OwnedFd,
    sets: Vec<Set>,
}

struct Set {
    directories: Vec<Directory>,
    /// The directory of each file.
    of: Vec<u32>,
}

enum Directory {
    Open(OwnedFd),
    /// The path relative to the root, with a trailing slash.
    Below(Box<[u8]>),
}

impl FileTree {
    /// Opens the directories of a plan below `root`, for use by `threads` threads.
    pub fn open(plan: &Plan, root: &Path, threads: u32) -> Result<FileTree, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| {
            rustix::fs::open(path, flags, Mode::empty()).map_err(Error::io("opening the directory", path))
        };
        // A thread has one file open, and one more of each set that it keeps open.
        let reserved = u64::from(threads) * (plan.sets.len() as u64 + 1);
        let mut left = descriptors::left(reserved);
        let mut sets = Vec::new();
        for planned in &plan.sets {
            let mut directories = Vec::new();
            for number in 0..planned.above.len() {
                let path = planned.directory(number);
                directories.push(if left > 0 {
                    left -= 1;
                    Directory::Open(open(&root.join(path))?)
                } else {
                    Directory::Below(format!("{path}/").into_bytes().into())
                });
            }
            sets.push(Set { directories, of: planned.files.iter().map(|file| file.directory).collect() });
        }
        Ok(FileTree { root: open(root)?, sets })
    }

    /// Opens an existing file.
    pub(super) fn open_file(
        &self,
        place: FileId,
        flags: OFlags,
        name: &mut Vec<u8>,
    ) -> Result<OwnedFd, Errno> {
        let (directory, name) = self.name(place, name);
        rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))
    }

    /// Creates a missing file and opens it for appending.
    pub(super) fn create(&self, place: FileId, name: &mut Vec<u8>) -> Result<OwnedFd, Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND;
        self.open_file(place, flags, name)
    }

    /// The directory to open a file relative to, and its path from there, which is stored in `name`.
    pub(super) fn name<'a>(&'a self, place: FileId, name: &'a mut Vec<u8>) -> (BorrowedFd<'a>, &'a CStr) {
        let set = &self.sets[place.set];
        name.clear();
        let from = match &set.directories[set.of[place.file] as usize] {
            Directory::Open(directory) => directory,
            Directory::Below(path) => {
                name.extend_from_slice(path);
                &self.root
            }
        };
        for digit in (0..8).rev() {
            name.push(b"0123456789abcdef"[(place.file >> (4 * digit)) & 15]);
        }
        name.push(0);
        (from.as_fd(), CStr::from_bytes_with_nul(name).expect("a path contains no zero byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personality::Personality;

    /// A file is the same whether its directory is open or not.
    #[test]
    fn excess_directories_are_opened_by_path() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::new(&Personality::find("fileserver").unwrap().scaled(0.01), 3).unwrap();
        plan.make(dir.path(), &|| false).unwrap();
        let mut files = FileTree::open(&plan, dir.path(), 1).unwrap();
        for (planned, set) in plan.sets.iter().zip(&mut files.sets) {
            for (number, directory) in set.directories.iter_mut().enumerate().skip(2) {
                assert!(matches!(directory, Directory::Open(_)));
                *directory = Directory::Below(format!("{}/", planned.directory(number)).into_bytes().into());
            }
        }
        let there = (0..plan.sets[0].files.len()).filter(|file| plan.sets[0].files[*file].there);
        for file in there {
            files.open_file(FileId { set: 0, file }, OFlags::RDONLY, &mut Vec::new()).unwrap();
        }
    }
}
