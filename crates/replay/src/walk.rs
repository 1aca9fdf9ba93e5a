//! Reads the directories created by a replay.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io;
use trace::{DirId, FileId, ROOT, dir_name, file_name};

use crate::Error;

/// A directory created by a replay, and its files in ascending order of number.
pub(crate) struct Directory {
    pub fd: OwnedFd,
    pub number: DirId,
    pub parent: DirId,
    pub files: Vec<FileId>,
}

/// Opens the root directory of a replay.
pub(crate) fn open_root(path: &Path, purpose: &'static str) -> crate::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(|errno| error(path, purpose, errno))
}

/// Opens the root directory of a replay for a walk.
pub(crate) fn begin(path: &Path, purpose: &'static str) -> crate::Result<(OwnedFd, Walk)> {
    let root = open_root(path, purpose)?;
    let walk = Walk::new(&root).map_err(|errno| error(path, purpose, errno))?;
    Ok((root, walk))
}

fn error(path: &Path, purpose: &'static str, errno: io::Errno) -> Error {
    Error::Root { path: path.into(), purpose, source: errno.into() }
}

/// Iterates over all directories from `root` down, parents before children, siblings in ascending order of number. A directory that
/// cannot be read yields an error, and the walk continues behind it. Ignores entries that a replay does not create. Holds one
/// directory open at any depth.
pub(crate) struct Walk {
    /// The current directory.
    at: OwnedFd,
    levels: Vec<Level>,
    begun: bool,
}

/// A directory on the current path.
struct Level {
    number: DirId,
    /// Its subdirectories still to visit, in reverse order.
    left: Vec<DirId>,
}

impl Walk {
    pub fn new(root: &OwnedFd) -> io::Result<Self> {
        Ok(Self { at: reopen(root)?, levels: Vec::new(), begun: false })
    }

    /// The path of the last returned directory, relative to the root.
    pub fn path(&self) -> String {
        self.levels.iter().skip(1).map(|level| format!("{}/", level.number)).collect()
    }

    fn enter(&mut self, number: DirId, parent: DirId) -> io::Result<Directory> {
        let (mut files, mut left) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&self.at)? {
            match parse(entry?.file_name().to_bytes()) {
                Some(Name::File(file)) => files.push(file),
                Some(Name::Dir(dir)) => left.push(dir),
                None => {}
            }
        }
        files.sort_unstable();
        left.sort_unstable_by(|a, b| b.cmp(a));
        self.levels.push(Level { number, left });
        Ok(Directory { fd: reopen(&self.at)?, number, parent, files })
    }

    fn step(&mut self) -> io::Result<Option<Directory>> {
        if !self.begun {
            self.begun = true;
            return self.enter(ROOT, ROOT).map(Some);
        }
        while let Some(level) = self.levels.last_mut() {
            let parent = level.number;
            if let Some(dir) = level.left.pop() {
                let below = open(&self.at, dir_path(dir))?;
                let above = std::mem::replace(&mut self.at, below);
                return self.enter(dir, parent).map(Some).inspect_err(|_| self.at = above);
            }
            self.levels.pop();
            if !self.levels.is_empty() {
                // Directories are not moved, so `..` leads back. If it fails, the walk ends.
                self.at = open(&self.at, "..".into()).inspect_err(|_| self.levels.clear())?;
            }
        }
        Ok(None)
    }
}

impl Iterator for Walk {
    type Item = io::Result<Directory>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn open(parent: &OwnedFd, name: Vec<u8>) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

fn dir_path(dir: DirId) -> Vec<u8> {
    let mut name = Vec::new();
    dir_name(dir, &mut name);
    name
}

fn reopen(dir: &OwnedFd) -> io::Result<OwnedFd> {
    io::fcntl_dupfd_cloexec(dir, 0)
}

#[derive(PartialEq, Debug)]
enum Name {
    File(FileId),
    Dir(DirId),
}

/// Parses a name in the exact form of [`file_name`] and [`dir_name`].
fn parse(name: &[u8]) -> Option<Name> {
    let (kind, digits) = std::str::from_utf8(name).ok()?.split_at_checked(1)?;
    let mut canonical = Vec::new();
    let parsed = match kind {
        "f" => {
            let file = FileId(u64::from_str_radix(digits, 16).ok()?);
            file_name(file, &mut canonical);
            Name::File(file)
        }
        "d" => {
            let dir = DirId(u32::from_str_radix(digits, 16).ok()?);
            dir_name(dir, &mut canonical);
            Name::Dir(dir)
        }
        _ => return None,
    };
    (canonical == name).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_round_trip(file: u64, dir: u32) {
            let mut name = Vec::new();
            file_name(FileId(file), &mut name);
            prop_assert_eq!(parse(&name), Some(Name::File(FileId(file))));
            dir_name(DirId(dir), &mut name);
            prop_assert_eq!(parse(&name), Some(Name::Dir(DirId(dir))));
        }

        #[test]
        fn only_canonical_names_are_parsed(name in "[fd]?[-+0-9a-fA-F]{0,18}|.{0,8}") {
            if let Some(parsed) = parse(name.as_bytes()) {
                let ours = match parsed {
                    Name::File(file) => file.to_string(),
                    Name::Dir(dir) => dir.to_string(),
                };
                prop_assert_eq!(ours, name);
            }
        }
    }
}
