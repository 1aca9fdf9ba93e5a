//! File operations of a mail server, recorded as operations of a trace.

use std::collections::VecDeque;
use trace::{Content, DirId, FileId, Op};

/// A file and its directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLocation {
    pub file: FileId,
    pub parent: DirId,
}

/// Assigns numbers to files and directories, and records the operations on them.
#[derive(Default)]
pub(super) struct Files {
    /// Recorded operations that are still to be given out.
    pub ops: VecDeque<Op>,
    dirs: u32,
    files: u64,
}

impl Files {
    pub fn mkdir(&mut self, parent: DirId) -> DirId {
        self.dirs += 1;
        let dir = DirId(self.dirs);
        self.ops.push_back(Op::Mkdir { dir, parent });
        dir
    }

    fn name(&mut self, parent: DirId) -> FileLocation {
        self.files += 1;
        FileLocation { file: FileId(self.files), parent }
    }

    /// Creates a file of `size` bytes.
    pub fn create(&mut self, parent: DirId, size: u64) -> FileLocation {
        let place = self.name(parent);
        self.ops.push_back(Op::Create { file: place.file, parent, size, content: Content::Written });
        place
    }

    pub fn append(&mut self, FileLocation { file, parent }: FileLocation, len: u64) {
        self.ops.push_back(Op::Append { file, parent, len });
    }

    pub fn write(&mut self, FileLocation { file, parent }: FileLocation, offset: u64, len: u64) {
        self.ops.push_back(Op::Write { file, parent, offset, len });
    }

    pub fn fsync(&mut self, FileLocation { file, parent }: FileLocation) {
        self.ops.push_back(Op::Fsync { file, parent });
    }

    pub fn delete(&mut self, FileLocation { file, parent }: FileLocation) {
        self.ops.push_back(Op::Delete { file, parent });
    }

    /// Adds a name for the file in the same directory.
    pub fn link(&mut self, FileLocation { file, parent }: FileLocation) -> FileLocation {
        let to = self.name(parent);
        self.ops.push_back(Op::Link { file, parent, to_file: to.file, to_parent: parent });
        to
    }

    /// Renames the file, possibly to another directory.
    pub fn move_to(&mut self, from: FileLocation, parent: DirId) -> FileLocation {
        let to = self.name(parent);
        self.rename(from, to);
        to
    }

    /// Renames the file over another, which may or may not exist.
    pub fn rename(&mut self, FileLocation { file, parent }: FileLocation, to: FileLocation) {
        self.ops.push_back(Op::Rename { file, parent, to_file: to.file, to_parent: to.parent });
    }

    /// Replaces a file with a new one of `size` bytes: writes a temporary file, syncs it if requested, and
    /// renames it.
    pub fn replace(&mut self, old: FileLocation, size: u64, sync: bool) {
        let new = self.create(old.parent, size);
        if sync {
            self.fsync(new);
        }
        self.rename(new, old);
    }

    /// Creates a file in the same way.
    pub fn put(&mut self, parent: DirId, size: u64, sync: bool) -> FileLocation {
        let new = self.create(parent, size);
        if sync {
            self.fsync(new);
        }
        self.move_to(new, parent)
    }

    /// Creates a lock file, which holds the process number and the name of the machine.
    pub fn lock(&mut self, parent: DirId) -> FileLocation {
        self.create(parent, 7)
    }
}
