//! Waits for freed space that is not available yet.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::syncfs;
use rustix::io::{self, Errno};

/// The wait before the first retry; it doubles with each retry.
const FIRST_WAIT: Duration = Duration::from_millis(10);

/// The free space of a file system, shared by all writers.
pub(crate) struct FreeSpace {
    root: OwnedFd,
    /// Maximum total wait of an operation, see [`crate::Options::space_wait_ms`].
    max_wait: Duration,
    /// Set after a wait in vain: the file system is full.
    full: AtomicBool,
}

impl FreeSpace {
    /// Creates the state for the file system of `root`.
    pub fn of(root: OwnedFd, max_wait: Duration) -> Self {
        Self { root, max_wait, full: AtomicBool::new(false) }
    }

    /// Syncs the file system.
    pub fn sync(&self) -> io::Result<()> {
        syncfs(&self.root)
    }

    /// Runs an operation that needs space. If there is none, syncs, which makes freed space available, and
    /// retries; only once while the file system is known to be full. A failed operation restarts from its
    /// beginning.
    pub fn retry<T>(&self, mut take: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut taken = take();
        let (mut wait, mut left) = (FIRST_WAIT, self.max_wait);
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
