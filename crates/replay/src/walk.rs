//! Reading the directories that a replay made.

use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io;
use trace::{DirId, FileId, ROOT, dir_name, file_name};

use crate::Error;

/// A directory that a replay made, and the files it made in there in ascending order of number.
pub(crate) struct Directory {
    pub fd: OwnedFd,
    pub number: DirId,
    pub parent: DirId,
    pub files: Vec<FileId>,
}

/// Opens the directory that a trace was replayed into.
pub(crate) fn open_root(path: &Path, purpose: &'static str) -> crate::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_err(|errno| Error::Root {
        path: path.into(),
        purpose,
        source: errno.into(),
    })
}

/// All directories from `root` down, each before those in it, siblings in ascending order of number. One that cannot
/// be read gives an error, and the walk goes on behind it. What no replay makes is passed by.
pub(crate) struct Walk {
    next: Option<io::Result<(OwnedFd, DirId, DirId)>>,
    way: Vec<Level>,
}

/// A directory on the way down.
struct Level {
    fd: OwnedFd,
    number: DirId,
    /// The directories in it that are still to visit, the next one last.
    left: Vec<DirId>,
}

impl Walk {
    pub fn new(root: &OwnedFd) -> Self {
        Self { next: Some(reopen(root).map(|fd| (fd, ROOT, ROOT))), way: Vec::new() }
    }

    /// The path of the directory that was given last, from the root.
    pub fn path(&self) -> String {
        self.way.iter().skip(1).map(|level| format!("{}/", level.number)).collect()
    }

    fn descend(&mut self, (fd, number, parent): (OwnedFd, DirId, DirId)) -> io::Result<Directory> {
        let (mut files, mut left) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&fd)? {
            match parse(entry?.file_name().to_bytes()) {
                Some(Name::File(file)) => files.push(file),
                Some(Name::Dir(dir)) => left.push(dir),
                None => {}
            }
        }
        files.sort_unstable();
        left.sort_unstable_by(|a, b| b.cmp(a));
        self.way.push(Level { fd: reopen(&fd)?, number, left });
        Ok(Directory { fd, number, parent, files })
    }
}

impl Iterator for Walk {
    type Item = io::Result<Directory>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(next) = self.next.take() {
                return Some(next.and_then(|opened| self.descend(opened)));
            }
            let level = self.way.last_mut()?;
            match level.left.pop() {
                Some(dir) => self.next = Some(open_dir(&level.fd, dir).map(|fd| (fd, dir, level.number))),
                None => drop(self.way.pop()),
            }
        }
    }
}

fn open_dir(parent: &OwnedFd, dir: DirId) -> io::Result<OwnedFd> {
    let mut name = Vec::new();
    dir_name(dir, &mut name);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name.as_slice(), flags, Mode::empty())
}

fn reopen(dir: &OwnedFd) -> io::Result<OwnedFd> {
    io::fcntl_dupfd_cloexec(dir, 0)
}

#[derive(PartialEq, Debug)]
enum Name {
    File(FileId),
    Dir(DirId),
}

/// Reads a name as [`file_name`] and [`dir_name`] write them, and in no other spelling.
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
        fn names_are_read_back(file: u64, dir: u32) {
            let mut name = Vec::new();
            file_name(FileId(file), &mut name);
            prop_assert_eq!(parse(&name), Some(Name::File(FileId(file))));
            dir_name(DirId(dir), &mut name);
            prop_assert_eq!(parse(&name), Some(Name::Dir(DirId(dir))));
        }

        #[test]
        fn only_names_of_ours_are_read(name in "[fd]?[-+0-9a-fA-F]{0,18}|.{0,8}") {
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
