//! The dynamic layout score: how sequential the read requests of a workload are at the block device
//! (DESIGN §3; Conway et al. 2017, §3.3).

use disk::{Request, RequestKind, SECTOR_BYTES};
use serde::{Deserialize, Serialize};
use snapshot::layout::Chain;

/// The dynamic layout of a workload's reads.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct DynamicLayout {
    /// The score over all reads; `None` with fewer than two blocks.
    pub score: Option<f64>,
    /// The score over the reads that the file system did not mark as metadata.
    pub data_only_score: Option<f64>,
    /// Read requests.
    pub requests: u64,
    /// Blocks of these requests.
    pub blocks: u64,
    /// Bytes of these requests.
    pub bytes: u64,
}

/// Scores the reads among `requests`, which are in issue order. Request i is b_i = max(1, ⌈its bytes /
/// `block_bytes`⌉) blocks; the score is Σ[(b_i − 1) + (it begins where request i − 1 ended)] / (Σ b_i − 1).
pub fn dynamic_layout(requests: &[Request], block_bytes: u64) -> DynamicLayout {
    let reads = || requests.iter().filter(|request| request.kind == RequestKind::Read);
    let all = chain(reads(), block_bytes);
    DynamicLayout {
        score: all.score(),
        data_only_score: chain(reads().filter(|read| !read.metadata), block_bytes).score(),
        requests: reads().count() as u64,
        blocks: all.blocks,
        bytes: reads().map(|read| u64::from(read.sectors) * SECTOR_BYTES).sum(),
    }
}

/// The requests as one chain of blocks.
fn chain<'a>(reads: impl Iterator<Item = &'a Request>, block_bytes: u64) -> Chain {
    let mut chain = Chain::default();
    for read in reads {
        chain.add_run(read.sector * SECTOR_BYTES, u64::from(read.sectors) * SECTOR_BYTES, block_bytes);
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sector: u64, sectors: u32) -> Request {
        Request::read(sector, sectors)
    }

    #[test]
    fn score_matches_hand_calculation() {
        // Blocks: 4, then 2 directly behind, 1 for half a block elsewhere, 1 directly behind that.
        let requests = [read(0, 32), read(32, 16), read(1000, 4), read(1004, 8)];
        let layout = dynamic_layout(&requests, 4096);
        assert_eq!((layout.requests, layout.blocks, layout.bytes), (4, 8, 60 * 512));
        assert_eq!(layout.score, Some(6.0 / 7.0));
        assert_eq!(layout.data_only_score, layout.score);
    }

    #[test]
    fn only_reads_count_and_metadata_can_be_left_out() {
        let meta = Request { metadata: true, ..read(500, 8) };
        let write = Request { kind: RequestKind::Write, ..read(64, 800) };
        let layout = dynamic_layout(&[read(0, 8), write, meta, read(8, 8)], 4096);
        assert_eq!((layout.score, layout.data_only_score), (Some(0.0), Some(1.0)));
        assert_eq!((layout.requests, layout.blocks), (3, 3));
    }

    #[test]
    fn one_block_has_no_score() {
        assert_eq!(dynamic_layout(&[read(0, 8)], 4096).score, None);
        assert_eq!(dynamic_layout(&[], 4096).score, None);
    }

    #[test]
    fn descending_reads_are_not_sequential() {
        let requests: Vec<_> = (0..10).rev().map(|block| read(block * 8, 8)).collect();
        assert_eq!(dynamic_layout(&requests, 4096).score, Some(0.0));
    }
}
