//! Waiting for space that was freed and is not there yet.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::syncfs;
use rustix::io::{self, Errno};

/// How long to wait before the first retry; each later wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(10);

/// The space of a file system, as all who work on it find it.
pub(crate) struct Room {
    root: OwnedFd,
    /// How long all waits of an operation take together, see [`crate::Options::space_wait_ms`].
    patience: Duration,
    /// Waiting for space was in vain the last time: the file system is full.
    full: AtomicBool,
}

impl Room {
    /// That of the file system that `root` is on.
    pub fn of(root: OwnedFd, patience: Duration) -> Self {
        Self { root, patience, full: AtomicBool::new(false) }
    }

    /// Brings all that was done to disk.
    pub fn sync(&self) -> io::Result<()> {
        syncfs(&self.root)
    }

    /// Does what takes space. If there is none, all that is freed is brought to disk, where it becomes space, and it
    /// is tried again; no more than once while the file system is known to be full. What failed is done over from its
    /// beginning.
    pub fn find<T>(&self, mut take: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut taken = take();
        let (mut wait, mut left) = (FIRST_WAIT, self.patience);
        loop {
            if !matches!(taken, Err(Errno::NOSPC)) {
                break;
            }
            let was_full = self.full.load(Relaxed);
            if !was_full {
                std::thread::sleep(wait.min(left));
                left = left.saturating_sub(wait);
                wait *= 2;
            }
            self.sync()?;
            taken = take();
            let is_last = was_full || left.is_zero();
            self.full.store(taken.is_err() && is_last, Relaxed);
            if is_last {
                break;
            }
        }
        taken
    }
}
