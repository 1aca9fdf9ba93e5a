//! How large the files that are appended to may become.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has been appended to the files of a set since they were emptied.
#[derive(Default)]
pub(super) struct Grown {
    bytes: AtomicU64,
    emptying: Mutex<()>,
}

impl Grown {
    /// Counts what a thread has appended, and empties what has become larger than it may be. No thread goes on before that is done,
    /// so that none adds more than one write beyond the limit, however long the one that empties waits for a processor.
    pub fn by<E>(&self, written: u64, most: u64, empty: impl Fn() -> Result<(), E>) -> Result<(), E> {
        if self.bytes.fetch_add(written, Ordering::Relaxed) + written <= most {
            return Ok(());
        }
        let _alone = self.emptying.lock().expect("no thread panics with it");
        let there = self.bytes.load(Ordering::Relaxed);
        if there > most {
            empty()?;
            // What others have appended meanwhile may still be there.
            self.bytes.fetch_sub(there, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a number, which is slow to empty.
    #[test]
    fn no_thread_adds_more_than_a_write_beyond_the_limit() {
        const THREADS: u64 = 8;
        const WRITTEN: u64 = 10;
        const MOST: u64 = 100;
        let (grown, size, largest) = (Grown::default(), AtomicU64::new(0), AtomicU64::new(0));
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
