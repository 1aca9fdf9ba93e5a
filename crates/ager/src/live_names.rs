//! What files and directories of a trace are called while it is made: of what exists, and for a while of what existed,
//! because the replay lags behind the source. So their memory is bounded by the tree and not by the history.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::RwLock;

use trace::{BlobId, DirId, FileId, FileLabel, Labels, Op};

/// How many batches of operations the labels of a file outlive it. A replay has at most one batch and about 1,300
/// operations a thread still to do when it asks for the next batch: this is enough for two hundred threads.
const BATCHES_KEPT: u64 = 64;

/// The labels of a source, without contents.
#[derive(Default)]
pub(crate) struct LiveNames(RwLock<Table>);

#[derive(Default)]
struct Table {
    files: HashMap<FileId, FileLabel>,
    dirs: HashMap<DirId, Vec<u8>>,
    /// What was removed, and in which batch that was given out: the operations of a pull may fill many.
    gone: VecDeque<(u64, Gone)>,
    batch: u64,
}

enum Gone {
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

    /// Unmakes the label of a directory that no operation makes.
    pub fn forget_dir(&self, dir: DirId) {
        self.change(|table| drop(table.dirs.remove(&dir)));
    }

    /// Another batch of operations is given out: notes what it removes, and forgets what nobody can ask for any more.
    pub fn give_out(&self, batch: &[Op]) {
        self.change(|table| {
            table.batch += 1;
            for op in batch {
                let gone = match *op {
                    Op::Delete { file, .. } | Op::Rename { file, .. } => Gone::File(file),
                    Op::Rmdir { dir, .. } => Gone::Dir(dir),
                    _ => continue,
                };
                table.gone.push_back((table.batch, gone));
            }
            while table.gone.front().is_some_and(|(batch, _)| batch + BATCHES_KEPT < table.batch) {
                match table.gone.pop_front() {
                    Some((_, Gone::File(file))) => drop(table.files.remove(&file)),
                    Some((_, Gone::Dir(dir))) => drop(table.dirs.remove(&dir)),
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
    fn labels_outlive_their_files_a_while_and_no_longer() {
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
