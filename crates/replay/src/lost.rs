//! The files that exist according to the trace but not in the file system, because their creation failed.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use trace::{DirId, FileId};

/// Names of lost files. In the normal case there are none, and a query costs one load.
#[derive(Default)]
pub(crate) struct LostFiles {
    names: Mutex<HashSet<(DirId, FileId)>>,
    count: AtomicUsize,
}

impl LostFiles {
    pub fn insert(&self, dir: DirId, file: FileId) {
        self.change(|names| names.insert((dir, file)));
    }

    /// Removes a lost file and returns whether it was one.
    pub fn remove(&self, dir: DirId, file: FileId) -> bool {
        self.any() && self.change(|names| names.remove(&(dir, file)))
    }

    pub fn contains(&self, dir: DirId, file: FileId) -> bool {
        self.any() && self.change(|names| names.contains(&(dir, file)))
    }

    // The operations on a file have one order for all threads, with synchronization between them when they change
    // threads, so the count that a thread sees is always recent enough.
    fn any(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    fn change(&self, change: impl FnOnce(&mut HashSet<(DirId, FileId)>) -> bool) -> bool {
        let mut names = self.names.lock().expect("no thread panics with the lock");
        let changed = change(&mut names);
        self.count.store(names.len(), Relaxed);
        changed
    }
}
