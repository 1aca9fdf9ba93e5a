//! How the free space is cut up.

use crate::allocator::Allocator;
use serde::Serialize;

/// The runs of whole free blocks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FreeSpace {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Free bytes, those in parts of blocks included.
    pub bytes: u64,
    /// Maximal runs of free blocks.
    pub runs: u64,
    /// Their mean length in blocks; 0 without any.
    pub mean_blocks: f64,
    /// The longest, in blocks.
    pub longest_blocks: u64,
    /// Runs by length, from the shortest bin to the longest in use.
    pub histogram: Vec<FreeBin>,
}

/// The runs of `lower_blocks` up to twice that, less one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FreeBin {
    /// The least length, a power of two.
    pub lower_blocks: u64,
    /// How many there are.
    pub runs: u64,
    /// Blocks in them.
    pub blocks: u64,
}

impl FreeSpace {
    pub(super) fn of<A: Allocator>(allocator: &A, block_bytes: u64) -> FreeSpace {
        let mut histogram: Vec<FreeBin> = Vec::new();
        let mut longest_blocks = 0;
        allocator.each_free_run(&mut |len| {
            let bin = len.ilog2() as usize;
            for new in histogram.len()..=bin {
                histogram.push(FreeBin { lower_blocks: 1 << new, runs: 0, blocks: 0 });
            }
            histogram[bin].runs += 1;
            histogram[bin].blocks += u64::from(len);
            longest_blocks = longest_blocks.max(u64::from(len));
        });
        let runs: u64 = histogram.iter().map(|bin| bin.runs).sum();
        let blocks: u64 = histogram.iter().map(|bin| bin.blocks).sum();
        FreeSpace {
            block_bytes,
            bytes: allocator.free_bytes().0,
            runs,
            mean_blocks: blocks as f64 / runs.max(1) as f64,
            longest_blocks,
            histogram,
        }
    }
}
