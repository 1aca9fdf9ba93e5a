//! Memory that is aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::memory::{Charge, Gauge};

const ALIGN: usize = 4096;

/// Zeroed bytes at an address that is a multiple of 4096.
pub(crate) struct Aligned {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: this value owns the memory exclusively, as a boxed slice does.
unsafe impl Send for Aligned {}
// SAFETY: shared references only read.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// `len` zeros; `len` must not be 0.
    pub fn zeroed(len: usize) -> Self {
        let layout = Layout::from_size_align(len, ALIGN).expect("the length is at most that of a node");
        assert!(len > 0, "the buffer is empty");
        // SAFETY: the layout is not empty.
        let at = unsafe { alloc_zeroed(layout) };
        let Some(at) = NonNull::new(at) else { handle_alloc_error(layout) };
        Self { at, len }
    }
}

impl Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `at` has `len` bytes, initialized to zero, until the drop.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

/// A growable buffer at an address that is a multiple of 4096.
#[derive(Default)]
pub(crate) struct AlignedBuffer {
    /// The first `len` bytes are in use.
    memory: Option<Aligned>,
    len: usize,
}

impl AlignedBuffer {
    /// Appends `more` bytes with arbitrary content and returns them for writing.
    pub fn grow(&mut self, more: usize) -> &mut [u8] {
        let len = self.len + more;
        if self.memory.as_ref().is_none_or(|memory| memory.len() < len) {
            let mut larger = Aligned::zeroed(len.next_power_of_two());
            larger[..self.len].copy_from_slice(self);
            self.memory = Some(larger);
        }
        let start = std::mem::replace(&mut self.len, len);
        &mut self.memory.as_mut().expect("the memory was just allocated")[start..len]
    }

    /// Capacity in bytes.
    fn room(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.len())
    }

    /// Empties the buffer, and keeps its memory if that is at most `most` bytes.
    pub fn clear(&mut self, most: usize) {
        self.len = 0;
        self.memory.take_if(|memory| memory.len() > most);
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.len])
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        self.memory.as_mut().map_or(&mut [], |memory| &mut memory[..len])
    }
}

/// A pool of buffers: reuse is cheaper than returning memory to the system and asking for it again.
#[derive(Default)]
pub(crate) struct Pool {
    spare: Mutex<Vec<AlignedBuffer>>,
}

/// Number and maximum size of the buffers that the pool keeps.
const SPARE: (usize, usize) = (4, 4 << 20);

impl Pool {
    /// Lends `len` bytes with arbitrary content.
    pub fn lend(self: &Arc<Self>, len: usize) -> PooledBuffer {
        let mut buffer = {
            let mut spare = self.spare.lock();
            // The smallest buffer that fits, to keep larger ones for larger requests.
            let fitting = spare.iter().enumerate().filter(|(_, buffer)| buffer.room() >= len);
            let best = fitting.min_by_key(|(_, buffer)| buffer.room()).map(|(i, _)| i);
            best.map(|i| spare.swap_remove(i)).unwrap_or_default()
        };
        buffer.grow(len);
        PooledBuffer { buffer, pool: Arc::clone(self) }
    }
}

/// Bytes from a [`Pool`].
pub(crate) struct PooledBuffer {
    buffer: AlignedBuffer,
    pool: Arc<Pool>,
}

impl Deref for PooledBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear(SPARE.1);
        let mut spare = self.pool.spare.lock();
        spare.push(buffer);
        if spare.len() > SPARE.0 {
            let least = (0..spare.len()).min_by_key(|i| spare[*i].room()).expect("the pool is not empty");
            let gone = spare.swap_remove(least);
            drop(spare);
            drop(gone);
        }
    }
}

/// Bytes from a pool, shared by the items parsed from them. They are charged while any of the items exists.
pub(crate) struct SharedBuffer {
    bytes: PooledBuffer,
    _charge: Charge,
}

impl SharedBuffer {
    /// Shares `bytes` if `used`, the number of bytes that stay in use, is most of their memory.
    ///
    /// # Errors
    /// The bytes, if sharing would waste too much memory.
    pub fn of(bytes: PooledBuffer, used: usize, gauge: &Arc<Gauge>) -> Result<Arc<Self>, PooledBuffer> {
        let room = bytes.buffer.room();
        if used < room / 4 * 3 {
            return Err(bytes);
        }
        Ok(Arc::new(Self { bytes, _charge: Charge::new(gauge, room) }))
    }
}

impl Deref for SharedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl std::fmt::Debug for SharedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        let layout =
            Layout::from_size_align(self.len, ALIGN).expect("the layout was valid at the allocation");
        // SAFETY: made by `alloc_zeroed` with this layout.
        unsafe { dealloc(self.at.as_ptr(), layout) }
    }
}
