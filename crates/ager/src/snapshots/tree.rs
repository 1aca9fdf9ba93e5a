//! A snapshot together with what its files and directories are called in the trace.

use snapshot::{Entry, ROOT, Snapshot};
use trace::{DirId, FileId};

/// No place in a snapshot.
pub(super) const NONE: u32 = u32::MAX;

/// A snapshot that the trace has reached, or is on the way to.
pub(super) struct Tree {
    pub snapshot: Snapshot,
    /// The number of each name or directory.
    pub numbers: Vec<u64>,
    /// When each file was born, as far as that is known: its birth, or the time of change that it was first seen with.
    pub born: Vec<i64>,
}

impl Tree {
    pub fn entry(&self, place: u32) -> &Entry {
        &self.snapshot.entries()[place as usize]
    }

    /// The name at `place` and its directory.
    pub fn file(&self, place: u32) -> (FileId, DirId) {
        (FileId(self.numbers[place as usize]), self.dir(self.entry(place).parent))
    }

    pub fn dir(&self, place: u32) -> DirId {
        DirId(self.numbers[place as usize] as u32)
    }

    /// All places but the root's.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        ROOT + 1..self.snapshot.entries().len() as u32
    }
}

/// Gives out numbers, none twice.
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
        self.next_dir = self.next_dir.checked_add(1).expect("four thousand million directories are not made");
        DirId(self.next_dir - 1)
    }
}
