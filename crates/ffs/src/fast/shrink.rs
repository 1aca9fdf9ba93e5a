//! Truncating files and punching holes.

use super::FastFs;
use crate::geometry::{BLOCK_BYTES, DIRECT, FRAGMENT_BYTES, FRAGMENTS, Geometry};
use crate::layout::Layout;
use crate::policy::Policy;

impl<P: Policy> FastFs<P> {
    /// Truncates the file to `size` bytes, at most its current size.
    pub(super) fn shrink(&mut self, file: &mut Layout, size: u64) {
        file.size = size;
        self.cut(file, kept_fragments(size), u32::MAX);
    }

    /// Frees the whole blocks within `len` bytes at `offset`.
    pub(super) fn punch_blocks(&mut self, file: &mut Layout, offset: u64, len: u64) {
        let first = offset.div_ceil(BLOCK_BYTES);
        let end = (offset.saturating_add(len).min(file.size) / BLOCK_BYTES).max(first);
        self.cut(file, first as u32 * FRAGMENTS, end as u32 * FRAGMENTS);
    }

    /// Frees the fragments `from..to` of the file, and the indirect blocks that become empty.
    fn cut(&mut self, file: &mut Layout, from: u32, to: u32) {
        let groups = &mut self.groups;
        file.remove_range(from, to, |start, len| groups.give(start, len));
        let needed = Geometry::indirect_blocks(file.end().div_ceil(FRAGMENTS)) as usize;
        for indirect in file.indirect.drain(needed.min(file.indirect.len())..) {
            groups.give(indirect, FRAGMENTS);
        }
    }
}

/// The number of fragments of a file of `size` bytes without holes: the end uses as few as possible in a direct block, else a whole
/// block.
pub(crate) fn kept_fragments(size: u64) -> u32 {
    let blocks = size.div_ceil(BLOCK_BYTES);
    let kept = if blocks > u64::from(DIRECT) {
        blocks * u64::from(FRAGMENTS)
    } else {
        size.div_ceil(FRAGMENT_BYTES)
    };
    u32::try_from(kept).unwrap_or(u32::MAX)
}
