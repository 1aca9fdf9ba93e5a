//! A work directory: one run at a time, and nothing left of it if the run comes to nothing.

use crate::Error;
use crate::manifest::check_recordable;
use disk::WorkLock;
use results::{STORE, Store};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// A work directory that this run holds.
pub struct Work {
    dir: PathBuf,
    _lock: WorkLock,
    /// Whether what this run made so far is to stay.
    keep: Cell<bool>,
}

impl Work {
    /// Takes the directory, making it if it is not there.
    pub fn take(dir: &Path) -> Result<Work, Error> {
        check_recordable(dir)?;
        let fresh = !dir.exists();
        std::fs::create_dir_all(dir).map_err(Error::io("creating the work directory", dir))?;
        let lock = WorkLock::take(dir)?;
        Ok(Work { dir: dir.to_owned(), _lock: lock, keep: Cell::new(!fresh) })
    }

    /// The result store.
    pub fn store(&self) -> Result<Store, results::Error> {
        Store::open(&self.dir.join(STORE))
    }

    /// From now on the directory holds something worth keeping.
    pub fn keep(&self) {
        self.keep.set(true);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.keep.get() {
            for name in [STORE, "senesce.db-wal", "senesce.db-shm", ".senesce.lock"] {
                let _ = std::fs::remove_file(self.dir.join(name));
            }
            // Fails, as it should, if anything else is in it.
            let _ = std::fs::remove_dir(&self.dir);
        }
    }
}
