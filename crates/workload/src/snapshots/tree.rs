//! A snapshot and the numbers of its files and directories in the trace.

use snapshot::{Entry, ROOT, Snapshot};
use trace::{DirId, FileId};

/// No place in a snapshot.
pub(super) const NONE: u32 = u32::MAX;

/// A snapshot that the trace has reached, or is approaching.
pub(super) struct Tree {
    pub snapshot: Snapshot,
    /// The trace number of each name or directory.
    pub numbers: Vec<u64>,
    /// The birth time of each file if known, otherwise the change time with which it was first seen.
    pub born: Vec<i64>,
}

impl Tree {
    pub fn entry(&self, place: u32) -> &Entry {
        &self.snapshot.entries()[place as usize]
    }

    /// The file name at `place` and its directory.
    pub fn file(&self, place: u32) -> (FileId, DirId) {
        (FileId(self.numbers[place as usize]), self.dir(self.entry(place).parent))
    }

    pub fn dir(&self, place: u32) -> DirId {
        DirId(self.numbers[place as usize] as u32)
    }

    /// All places except the root's.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        ROOT + 1..self.snapshot.entries().len() as u32
    }
}

/// Assigns unique numbers.
pub(super) struct Numbers {
    next_file: u64,
    next_dir: u32,
}

impl Numbers {
    pub fn new() -> Numbers {
        Numbers { next_file: 0, next_dir: 1 }
    }

    pub fn file(&mut self) -> FileId {
        self.next_file += 1;
        FileId(self.next_file - 1)
    }

    pub fn dir(&mut self) -> DirId {
        self.next_dir = self.next_dir.checked_add(1).expect("directory numbers fit 32 bits");
        DirId(self.next_dir - 1)
    }
}
