//! The storage below a store: a few operations that any random-access device provides.

mod crash;
mod failing;
mod file;
mod memory;

use std::io;

pub use crash::{CrashStorage, PowerCut};
pub use failing::{FailingStorage, Failure};
pub use file::FileStorage;
pub use memory::MemoryStorage;

/// The disk below a store.
///
/// Offsets and lengths of requests are multiples of the block size, and memory is aligned to 4096 bytes, as direct I/O requires. Reads and
/// writes come from several threads at once, but a write never overlaps a concurrent request.
pub trait Storage: Send + Sync + 'static {
    /// Size in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the size is 0.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `buffer` from `offset`; a short read is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `buffer` at `offset`. It is durable after the next [`flush`](Self::flush).
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Makes all completed writes durable. After an error the state of those writes is unknown, and the store does not retry.
    fn flush(&self) -> io::Result<()>;
}
