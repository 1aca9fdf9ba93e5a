//! Bytes that are kept together and go together: one allocation for thousands of keys and values.

use std::ptr::NonNull;

/// The largest piece of memory that is asked for, but for single keys and values that are longer.
const MOST: usize = 256 << 10;

/// Memory that only grows.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<Vec<u8>>,
    bytes: usize,
}

/// Bytes in an [`Arena`], which must outlive it.
#[derive(Debug)]
pub(crate) struct Kept {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the bytes are reached through the owner of the arena alone, under the rules of its references.
unsafe impl Send for Kept {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Kept {}

impl Arena {
    /// Bytes that were given to it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies `bytes`.
    pub fn keep(&mut self, bytes: &[u8]) -> Kept {
        self.bytes += bytes.len();
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < bytes.len()) {
            let size = (2 * self.chunks.last().map_or(2048, Vec::capacity)).min(MOST).max(bytes.len());
            self.chunks.push(Vec::with_capacity(size));
        }
        let chunk = self.chunks.last_mut().expect("was just made");
        let start = chunk.len();
        // There is room, so the chunk does not move, and neither do the bytes that were kept before.
        chunk.extend_from_slice(bytes);
        let at = NonNull::from(&mut chunk[start..]).cast();
        Kept { at, len: bytes.len() }
    }
}

impl Kept {
    /// The bytes.
    ///
    /// # Safety
    /// The arena is alive, and nobody writes to these bytes meanwhile.
    pub unsafe fn get(&self) -> &[u8] {
        // SAFETY: `at` has `len` bytes that were initialized, in a chunk that never moves while the arena lives.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// The bytes, to be changed in place.
    ///
    /// # Safety
    /// The arena is alive, and nobody else looks at these bytes meanwhile.
    pub unsafe fn get_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}
