//! Operations and the labels of the files they create.

use std::sync::Arc;

use trace::{Content, DirId, FileId, FileLabel, Op};

use super::labels::LiveLabels;

/// Collects the operations of one pull, assigns numbers, and records the labels.
pub(super) struct Maker {
    labels: Arc<LiveLabels>,
    next_file: u64,
    next_dir: u32,
    ops: Vec<Op>,
}

impl Maker {
    pub fn new(labels: Arc<LiveLabels>) -> Self {
        Self { labels, next_file: 0, next_dir: 1, ops: Vec::new() }
    }

    /// Takes the operations collected so far.
    pub fn take(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub fn mkdir(&mut self, parent: DirId, name: &[u8]) -> DirId {
        let dir = DirId(self.next_dir);
        self.next_dir += 1;
        self.labels.insert_dir(dir, name);
        self.ops.push(Op::Mkdir { dir, parent });
        dir
    }

    /// Undoes a mkdir that is the last operation.
    pub fn take_back_mkdir(&mut self, dir: DirId) {
        self.ops.pop();
        self.labels.forget_dir(dir);
    }

    pub fn rmdir(&mut self, dir: DirId, parent: DirId) {
        self.ops.push(Op::Rmdir { dir, parent });
    }

    pub fn create(&mut self, parent: DirId, label: FileLabel, size: u64, content: Content) -> FileId {
        let file = FileId(self.next_file);
        self.next_file += 1;
        self.labels.insert_file(file, label);
        self.ops.push(Op::Create { file, parent, size, content });
        file
    }

    pub fn delete(&mut self, file: FileId, parent: DirId) {
        self.ops.push(Op::Delete { file, parent });
    }

    /// Renames `file` to `to`, which is a reserved name or an existing file in the same directory.
    pub fn replace(&mut self, file: FileId, to: FileId, parent: DirId) {
        self.ops.push(Op::Rename { file, parent, to_file: to, to_parent: parent });
    }

    /// Reserves a number and a name for the target of [`Maker::replace`].
    pub fn reserve(&mut self, name: &[u8]) -> FileId {
        let file = FileId(self.next_file);
        self.next_file += 1;
        self.labels.insert_file(file, plain(name));
        file
    }
}

/// The label of a file whose contents do not matter.
pub(super) fn plain(name: &[u8]) -> FileLabel {
    FileLabel { name: name.to_vec(), executable: false, blob: None }
}
