//! Fragmentation of the free space.

use crate::allocator::Allocator;
use serde::Serialize;

/// The runs of completely free blocks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FreeSpace {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Free bytes, including those in partly used blocks.
    pub bytes: u64,
    /// Number of maximal runs of free blocks.
    pub runs: u64,
    /// Mean length of a run in blocks; 0 without runs.
    pub mean_blocks: f64,
    /// The longest run, in blocks.
    pub longest_blocks: u64,
    /// Runs by length, from the shortest bin to the longest used one.
    pub histogram: Vec<FreeBin>,
}

/// The runs of `lower_blocks` to `2 * lower_blocks - 1` blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FreeBin {
    /// Minimum length, a power of two.
    pub lower_blocks: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of blocks in them.
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
