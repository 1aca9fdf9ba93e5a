//! Limits the number of inodes that the kernel references, which bounds memory: by itself the kernel forgets inodes only when its memory is short.
//!
//! Linux 6.18 and later can prune given inodes (`FUSE_NOTIFY_PRUNE` of `linux/fuse.h`); it keeps those in use. Older kernels refuse the first
//! notification.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, park, sleep};
use std::time::Duration;

use crate::fs::Fs;

/// Inodes per notification.
const BATCH: usize = 512;
/// How long to wait for the kernel's forget requests.
const ANSWER: Duration = Duration::from_millis(1);
/// How long to wait if the kernel forgets none, because all are in use.
const IN_USE: Duration = Duration::from_millis(100);
/// The code of the notification.
const NOTIFY_PRUNE: i32 = 9;

/// A thread that keeps the number of inodes the kernel references near a limit.
pub(crate) struct Pruner {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Pruner {
    /// Starts the thread; `device` is a duplicate of the FUSE connection.
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
                // If the kernel refuses, memory stays unlimited.
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

    /// Stops the thread.
    pub fn stop(self) {
        self.stop.store(true, Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("the prune thread does not panic");
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
