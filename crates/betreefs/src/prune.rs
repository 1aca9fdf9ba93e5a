//! Has the kernel forget inodes, so that what is kept of each does not grow without bound: by itself it forgets only when its own memory is short.
//!
//! From Linux 6.18 on it can be told which (`FUSE_NOTIFY_PRUNE` of `linux/fuse.h`); those that anybody uses it keeps. An older one refuses the first time.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, park, sleep};
use std::time::Duration;

use crate::fs::Fs;

/// Inodes of one notification.
const BATCH: usize = 512;
/// How long the kernel gets to answer with what it has forgotten.
const ANSWER: Duration = Duration::from_millis(1);
/// How long is waited where it forgets nothing, because all is in use.
const IN_USE: Duration = Duration::from_millis(100);
/// The code of the notification.
const NOTIFY_PRUNE: i32 = 9;

/// A thread that keeps the number of inodes that the kernel knows at about a limit.
pub(crate) struct Pruner {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Pruner {
    /// Begins; `device` is one of the file system's connection.
    pub fn start(fs: Arc<Fs>, device: OwnedFd, most: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, mut device) = (Arc::clone(&stop), File::from(device));
        let served = Arc::clone(&fs);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                let known = fs.table.known();
                if known <= most {
                    park();
                    continue;
                }
                // After a refusal memory is as it was without this.
                if device.write_all(&notification(&fs.table.oldest(BATCH))).is_err() {
                    return;
                }
                sleep(ANSWER);
                if fs.table.known() >= known {
                    sleep(IN_USE);
                }
            }
        });
        served.table.watch(most, thread.thread().clone());
        Self { stop, thread }
    }

    /// Ends the thread.
    pub fn stop(self) {
        self.stop.store(true, Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("the thread that prunes does not panic");
    }
}

/// A `fuse_out_header`, a `fuse_notify_prune_out`, and the numbers.
fn notification(inodes: &[u64]) -> Vec<u8> {
    let len = 32 + 8 * inodes.len();
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(&(len as u32).to_ne_bytes());
    bytes.extend_from_slice(&NOTIFY_PRUNE.to_ne_bytes());
    bytes.extend_from_slice(&0u64.to_ne_bytes());
    bytes.extend_from_slice(&(inodes.len() as u32).to_ne_bytes());
    bytes.extend_from_slice(&[0; 12]);
    inodes.iter().for_each(|ino| bytes.extend_from_slice(&ino.to_ne_bytes()));
    bytes
}
