//! An arena: thousands of keys and values in one allocation, freed together.

use std::ptr::NonNull;

/// The largest chunk, except for longer single keys and values.
const MOST: usize = 256 << 10;

/// Memory that only grows.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

/// A reference to bytes in an [`Arena`], which must outlive it.
#[derive(Debug)]
pub(crate) struct ArenaSlice {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are reachable only through the owner of the arena, under the rules of its references.
unsafe impl Send for ArenaSlice {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for ArenaSlice {}

impl Arena {
    /// Total bytes copied into the arena.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `bytes` into the arena.
    pub fn keep(&mut self, bytes: &[u8]) -> ArenaSlice {
        self.bytes += bytes.len();
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < bytes.len()) {
            let size = (2 * self.chunks.last().map_or(2048, Vec::capacity)).min(MOST).max(bytes.len());
            self.chunks.push(Vec::with_capacity(size));
        }
        let chunk = self.chunks.last_mut().expect("a chunk exists");
        let start = chunk.len();
        // The chunk has enough capacity, so it does not move, and neither do bytes stored in it before.
        chunk.extend_from_slice(bytes);
        let at = NonNull::from(&mut chunk[start..]).cast();
        ArenaSlice { at, len: bytes.len() }
    }
}

impl ArenaSlice {
    /// The bytes.
    ///
    /// # Safety
    /// The arena is alive, and no other thread writes to these bytes during the borrow.
    pub unsafe fn get(&self) -> &[u8] {
        // SAFETY: `at` points to `len` initialized bytes, in a chunk that never moves while the arena lives.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// The bytes, for changes in place.
    ///
    /// # Safety
    /// The arena is alive, and no other reference to these bytes exists during the borrow.
    pub unsafe fn get_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}
