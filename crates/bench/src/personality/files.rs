//! The files of a plan on a file system, each reached from a directory that is held open, so that how deep it lies costs nothing.
//! Of more directories than may be open the others are reached by their path from the root.

use super::descriptors;
use super::error::Error;
use super::plan::Plan;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// A file, by its set and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub set: usize,
    pub file: usize,
}

/// The files of all sets.
pub struct Files {
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
    /// Its path from the root, with a slash behind it.
    Below(Box<[u8]>),
}

impl Files {
    /// Opens the directories of a plan below `root`, to be used by so many threads.
    pub fn open(plan: &Plan, root: &Path, threads: u32) -> Result<Files, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| {
            rustix::fs::open(path, flags, Mode::empty()).map_err(Error::io("opening the directory", path))
        };
        // A thread has a file open, and one of each set that it keeps open.
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
        Ok(Files { root: open(root)?, sets })
    }

    /// Opens a file that is there.
    pub(super) fn open_file(
        &self,
        place: Place,
        flags: OFlags,
        name: &mut Vec<u8>,
    ) -> Result<OwnedFd, Errno> {
        let (directory, name) = self.name(place, name);
        rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o644))
    }

    /// Makes a file that is not there, and opens it such that what is written goes to its end.
    pub(super) fn create(&self, place: Place, name: &mut Vec<u8>) -> Result<OwnedFd, Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::APPEND;
        self.open_file(place, flags, name)
    }

    /// The directory that a file is reached from, and its path from there, kept in `name`.
    pub(super) fn name<'a>(&'a self, place: Place, name: &'a mut Vec<u8>) -> (BorrowedFd<'a>, &'a CStr) {
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
        (from.as_fd(), CStr::from_bytes_with_nul(name).expect("a path holds no zero byte"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::personality::Personality;

    /// A file is the same one whether its directory is open or not.
    #[test]
    fn directories_that_cannot_be_open_are_reached_by_path() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::new(&Personality::find("fileserver").unwrap().scaled(0.01), 3).unwrap();
        plan.make(dir.path(), &|| false).unwrap();
        let mut files = Files::open(&plan, dir.path(), 1).unwrap();
        for (planned, set) in plan.sets.iter().zip(&mut files.sets) {
            for (number, directory) in set.directories.iter_mut().enumerate().skip(2) {
                assert!(matches!(directory, Directory::Open(_)));
                *directory = Directory::Below(format!("{}/", planned.directory(number)).into_bytes().into());
            }
        }
        let there = (0..plan.sets[0].files.len()).filter(|file| plan.sets[0].files[*file].there);
        for file in there {
            files.open_file(Place { set: 0, file }, OFlags::RDONLY, &mut Vec::new()).unwrap();
        }
    }
}
