//! Runs of nonzero blocks.

use std::ops::Range;

/// The block size for detecting zeros.
pub const BLOCK_BYTES: usize = 4096;

/// The runs of blocks in `bytes` that are not all zero; the last block may be partial.
pub(crate) fn runs(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    let holds = move |at: usize| {
        let block = &bytes[at..bytes.len().min(at + BLOCK_BYTES)];
        block != &ZEROS[..block.len()]
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !holds(at) {
            at += BLOCK_BYTES;
        }
        let start = at;
        while at < bytes.len() && holds(at) {
            at += BLOCK_BYTES;
        }
        (start < bytes.len()).then(|| start..at.min(bytes.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_blocks_separate_runs() {
        let mut bytes = vec![0; 5 * BLOCK_BYTES + 100];
        assert_eq!(runs(&bytes).count(), 0);
        for at in [BLOCK_BYTES - 1, BLOCK_BYTES, 5 * BLOCK_BYTES + 99] {
            bytes[at] = 1;
        }
        let found: Vec<_> = runs(&bytes).collect();
        assert_eq!(found, [0..2 * BLOCK_BYTES, 5 * BLOCK_BYTES..5 * BLOCK_BYTES + 100]);
        assert_eq!(runs(&[]).count(), 0);
    }
}
