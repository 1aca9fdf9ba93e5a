//! The size limit of files that threads append to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes appended to the files of a set since they were last truncated.
#[derive(Default)]
pub(super) struct Growth {
    bytes: AtomicU64,
    emptying: Mutex<()>,
}

impl Growth {
    /// Adds appended bytes, and calls `empty` if the limit is exceeded. The calling thread continues only after that, so that each thread exceeds the
    /// limit by at most one write, however long the truncating thread waits for a processor.
    pub fn by<E>(&self, written: u64, most: u64, empty: impl Fn() -> Result<(), E>) -> Result<(), E> {
        if self.bytes.fetch_add(written, Ordering::Relaxed) + written <= most {
            return Ok(());
        }
        let _alone = self.emptying.lock().expect("no thread panics while holding the lock");
        let there = self.bytes.load(Ordering::Relaxed);
        if there > most {
            empty()?;
            // Bytes that other threads appended in the meantime may still be in the file.
            self.bytes.fetch_sub(there, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a file that is slow to truncate.
    #[test]
    fn threads_exceed_the_limit_by_at_most_one_write() {
        const THREADS: u64 = 8;
        const WRITTEN: u64 = 10;
        const MOST: u64 = 100;
        let (grown, size, largest) = (Growth::default(), AtomicU64::new(0), AtomicU64::new(0));
        let empty = || {
            std::thread::sleep(std::time::Duration::from_millis(2));
            size.store(0, Ordering::SeqCst);
            Ok::<(), ()>(())
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let now = size.fetch_add(WRITTEN, Ordering::SeqCst) + WRITTEN;
                        largest.fetch_max(now, Ordering::SeqCst);
                        grown.by(WRITTEN, MOST, empty).unwrap();
                    }
                });
            }
        });
        let largest = largest.into_inner();
        assert!(largest > MOST && largest <= MOST + THREADS * WRITTEN, "{largest}");
    }
}
