//! Where a store lies: a few operations that anything with random access can give.

mod crash;
mod file;
mod memory;

use std::io;

pub use crash::{CrashStorage, PowerCut};
pub use file::FileStorage;
pub use memory::MemoryStorage;

/// The disk below a store.
///
/// Offsets and lengths that a store asks for are multiples of its block, and the memory is aligned to 4096 bytes, so that
/// direct I/O takes them. Reads and writes come from several threads at once, but never two of the same place of which one
/// writes.
pub trait Storage: Send + Sync + 'static {
    /// Bytes of it.
    fn len(&self) -> io::Result<u64>;
    /// Whether it has none.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `buffer` from `offset`; less is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `buffer` at `offset`. It need not last before [`flush`](Self::flush).
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Makes all writes that have returned last through a power cut. After an error nothing is known of them, and the store
    /// does not ask again.
    fn flush(&self) -> io::Result<()>;
}
