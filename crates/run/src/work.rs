//! A work directory: used by one run at a time, and removed if the run creates nothing worth keeping.

use crate::Error;
use crate::volume::check_recordable;
use disk::WorkLock;
use results::{STORE_FILE, Store};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A locked work directory.
pub struct Work {
    dir: PathBuf,
    _lock: WorkLock,
    /// Whether this run created the directory.
    fresh: bool,
    /// Whether the files that this run created stay.
    keep: AtomicBool,
}

impl Work {
    /// Locks the directory. Creates it if it does not exist.
    pub fn take(dir: &Path) -> Result<Work, Error> {
        check_recordable(dir)?;
        let fresh = !dir.exists();
        std::fs::create_dir_all(dir).map_err(Error::io("creating the work directory", dir))?;
        let lock = WorkLock::take(dir)?;
        let keep = AtomicBool::new(dir.join(STORE_FILE).exists());
        Ok(Work { dir: dir.to_owned(), _lock: lock, fresh, keep })
    }

    /// The result store.
    pub fn store(&self) -> Result<Store, results::Error> {
        Store::open(&self.dir.join(STORE_FILE))
    }

    /// Marks the contents of the directory as worth keeping.
    pub fn keep(&self) {
        self.keep.store(true, Relaxed);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.keep.load(Relaxed) {
            for name in [STORE_FILE, "senesce.db-wal", "senesce.db-shm", ".senesce.lock"] {
                let _ = std::fs::remove_file(self.dir.join(name));
            }
            if self.fresh {
                // Fails as intended if the directory contains anything else.
                let _ = std::fs::remove_dir(&self.dir);
            }
        }
    }
}
