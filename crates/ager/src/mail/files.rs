//! Files as a mail server handles them, told in the operations of a trace.

use std::collections::VecDeque;
use trace::{Content, DirId, FileId, Op};

/// A file and the directory it lies in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub file: FileId,
    pub parent: DirId,
}

/// Gives numbers to files and directories, and takes note of what is done with them.
#[derive(Default)]
pub(super) struct Files {
    /// What has been done and not been taken yet.
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

    fn name(&mut self, parent: DirId) -> Place {
        self.files += 1;
        Place { file: FileId(self.files), parent }
    }

    /// A new file of `size` bytes.
    pub fn create(&mut self, parent: DirId, size: u64) -> Place {
        let place = self.name(parent);
        self.ops.push_back(Op::Create { file: place.file, parent, size, content: Content::Written });
        place
    }

    pub fn append(&mut self, Place { file, parent }: Place, len: u64) {
        self.ops.push_back(Op::Append { file, parent, len });
    }

    pub fn write(&mut self, Place { file, parent }: Place, offset: u64, len: u64) {
        self.ops.push_back(Op::Write { file, parent, offset, len });
    }

    pub fn fsync(&mut self, Place { file, parent }: Place) {
        self.ops.push_back(Op::Fsync { file, parent });
    }

    pub fn delete(&mut self, Place { file, parent }: Place) {
        self.ops.push_back(Op::Delete { file, parent });
    }

    /// Another name of the file in the same directory.
    pub fn link(&mut self, Place { file, parent }: Place) -> Place {
        let to = self.name(parent);
        self.ops.push_back(Op::Link { file, parent, to_file: to.file, to_parent: parent });
        to
    }

    /// Gives the file a new name, perhaps in another directory.
    pub fn move_to(&mut self, from: Place, parent: DirId) -> Place {
        let to = self.name(parent);
        self.rename(from, to);
        to
    }

    /// Gives the file the name of another, which is gone if it was there.
    pub fn rename(&mut self, Place { file, parent }: Place, to: Place) {
        self.ops.push_back(Op::Rename { file, parent, to_file: to.file, to_parent: to.parent });
    }

    /// Puts a new file of `size` bytes in the place of an old one, as whole files are updated: written beside it, forced
    /// to disk if need be, and renamed.
    pub fn replace(&mut self, old: Place, size: u64, sync: bool) {
        let new = self.create(old.parent, size);
        if sync {
            self.fsync(new);
        }
        self.rename(new, old);
    }

    /// The same for a file that is not there yet.
    pub fn put(&mut self, parent: DirId, size: u64, sync: bool) -> Place {
        let new = self.create(parent, size);
        if sync {
            self.fsync(new);
        }
        self.move_to(new, parent)
    }

    /// The file by which a process keeps others out, with its number and the name of the machine.
    pub fn lock(&mut self, parent: DirId) -> Place {
        self.create(parent, 7)
    }
}
