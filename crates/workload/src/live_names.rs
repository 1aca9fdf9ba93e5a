//! Labels of files and directories while a trace is generated: of those that exist, and for some batches of
//! those removed, because the replay lags behind the source. Memory use is bounded by the tree, not by the
//! history.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::RwLock;

use trace::{BlobId, DirId, FileId, FileLabel, Labels, Op};

/// How many batches a label outlives its file. A replay has at most one batch and about 1,300 operations per
/// thread outstanding when it requests the next batch: 64 batches suffice for two hundred threads.
const BATCHES_KEPT: u64 = 64;

/// The labels of a source, without contents.
#[derive(Default)]
pub(crate) struct LiveNames(RwLock<Table>);

#[derive(Default)]
struct Table {
    files: HashMap<FileId, FileLabel>,
    dirs: HashMap<DirId, Vec<u8>>,
    /// Removed entries and the batch that removed them; the operations of a pull may fill many batches.
    removed: VecDeque<(u64, Removed)>,
    batch: u64,
}

enum Removed {
    File(FileId),
    Dir(DirId),
}

impl LiveNames {
    pub fn insert_file(&self, file: FileId, label: FileLabel) {
        self.change(|table| drop(table.files.insert(file, label)));
    }

    pub fn insert_dir(&self, dir: DirId, name: &[u8]) {
        self.change(|table| drop(table.dirs.insert(dir, name.to_vec())));
    }

    /// Drops the label of a directory that no operation creates.
    pub fn forget_dir(&self, dir: DirId) {
        self.change(|table| drop(table.dirs.remove(&dir)));
    }

    /// Registers the next batch: records its removals, and drops labels that no replay can request any more.
    pub fn give_out(&self, batch: &[Op]) {
        self.change(|table| {
            table.batch += 1;
            for op in batch {
                let removed = match *op {
                    Op::Delete { file, .. } | Op::Rename { file, .. } => Removed::File(file),
                    Op::Rmdir { dir, .. } => Removed::Dir(dir),
                    _ => continue,
                };
                table.removed.push_back((table.batch, removed));
            }
            while table.removed.front().is_some_and(|(batch, _)| batch + BATCHES_KEPT < table.batch) {
                match table.removed.pop_front() {
                    Some((_, Removed::File(file))) => drop(table.files.remove(&file)),
                    Some((_, Removed::Dir(dir))) => drop(table.dirs.remove(&dir)),
                    None => {}
                }
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut Table)) {
        change(&mut self.0.write().expect("no thread panics while it holds the labels"));
    }
}

impl Labels for LiveNames {
    fn file(&self, file: FileId) -> Option<FileLabel> {
        self.0.read().expect("no thread panics while it holds the labels").files.get(&file).cloned()
    }

    fn dir(&self, dir: DirId) -> Option<Vec<u8>> {
        self.0.read().expect("no thread panics while it holds the labels").dirs.get(&dir).cloned()
    }

    fn contents(&self, _: BlobId) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::ROOT;

    #[test]
    fn labels_outlive_files_for_limited_batches() {
        let labels = LiveNames::default();
        for number in 0..10_000 {
            let (file, dir) = (FileId(number), DirId(number as u32));
            let label = FileLabel { name: b"a".to_vec(), executable: false, blob: None };
            labels.insert_file(file, label);
            labels.insert_dir(dir, b"b");
            labels.give_out(&[Op::Delete { file, parent: ROOT }, Op::Rmdir { dir, parent: ROOT }]);
            assert!(labels.file(file).is_some() && labels.dir(dir).is_some());
        }
        let table = labels.0.read().unwrap();
        assert!(table.files.len() as u64 <= BATCHES_KEPT + 1, "{} labels are kept", table.files.len());
        assert_eq!(table.dirs.len(), table.files.len());
    }
}
