//! Waiting for space that was freed and is not there yet.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::syncfs;
use rustix::io::{self, Errno};

/// How long what finds no space waits, all tries together 5 s, before it counts as failed: space that was freed may
/// not be there yet, because the file system frees in the background (XFS does, inodes too) or because another thread
/// is a little behind, and more than a little on a busy machine.
const WAITS_MS: [u64; 9] = [10, 20, 40, 80, 160, 320, 640, 1280, 2560];

/// The space of a file system, as all who work on it find it.
pub(crate) struct Room {
    root: OwnedFd,
    /// Waiting for space was in vain the last time: the file system is full.
    full: AtomicBool,
}

impl Room {
    /// That of the file system that `root` is on.
    pub fn of(root: OwnedFd) -> Self {
        Self { root, full: AtomicBool::new(false) }
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
        for (wait_ms, tries_left) in WAITS_MS.into_iter().zip((0..WAITS_MS.len()).rev()) {
            if !matches!(taken, Err(Errno::NOSPC)) {
                break;
            }
            let was_full = self.full.load(Relaxed);
            if !was_full {
                std::thread::sleep(Duration::from_millis(wait_ms));
            }
            self.sync()?;
            taken = take();
            self.full.store(taken.is_err() && (was_full || tries_left == 0), Relaxed);
            if was_full {
                break;
            }
        }
        taken
    }
}
