//! The files that the trace thinks exist and that do not, because making them failed.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use trace::{DirId, FileId};

/// Names of lost files. While there are none, as is the rule, asking costs one load.
#[derive(Default)]
pub(crate) struct Lost {
    names: Mutex<HashSet<(DirId, FileId)>>,
    count: AtomicUsize,
}

impl Lost {
    pub fn insert(&self, dir: DirId, file: FileId) {
        self.change(|names| names.insert((dir, file)));
    }

    /// Forgets a lost file, if it was one.
    pub fn remove(&self, dir: DirId, file: FileId) -> bool {
        self.any() && self.change(|names| names.remove(&(dir, file)))
    }

    pub fn contains(&self, dir: DirId, file: FileId) -> bool {
        self.any() && self.change(|names| names.contains(&(dir, file)))
    }

    // A file's operations are in one order for all threads, with synchronization between them where they change
    // threads, so the count that a thread sees is never older than what it must know.
    fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    fn change(&self, change: impl FnOnce(&mut HashSet<(DirId, FileId)>) -> bool) -> bool {
        let mut names = self.names.lock().expect("no thread panics while it holds the names");
        let changed = change(&mut names);
        self.count.store(names.len(), Relaxed);
        changed
    }
}
