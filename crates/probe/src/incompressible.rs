//! Generates data that no file system can compress or deduplicate: random, with no two equal blocks.

use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The unit in which file systems deduplicate.
const BLOCK_BYTES: usize = 4096;

/// A source of incompressible data.
pub(crate) struct Incompressible {
    buffer: Vec<u8>,
    /// Number of blocks returned so far.
    blocks: u64,
}

impl Incompressible {
    /// Creates a source of at most `most_bytes` per call.
    pub(crate) fn new(most_bytes: usize) -> Result<Incompressible> {
        let source = Path::new("/dev/urandom");
        let mut buffer = vec![0; most_bytes];
        File::open(source)
            .and_then(|mut file| file.read_exact(&mut buffer))
            .map_err(Error::io("reading random bytes from", source))?;
        Ok(Incompressible { buffer, blocks: 0 })
    }

    /// The next bytes.
    pub(crate) fn next(&mut self, len: usize) -> &[u8] {
        for block in self.buffer[..len].chunks_mut(BLOCK_BYTES) {
            let stamp = self.blocks.to_ne_bytes();
            let stamped = block.len().min(stamp.len());
            block[..stamped].copy_from_slice(&stamp[..stamped]);
            self.blocks += 1;
        }
        &self.buffer[..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn blocks_are_distinct() {
        let mut data = Incompressible::new(3 * BLOCK_BYTES).unwrap();
        let mut blocks = HashSet::new();
        for len in [3 * BLOCK_BYTES, 100, BLOCK_BYTES + 1, 3 * BLOCK_BYTES] {
            blocks.extend(data.next(len).chunks(BLOCK_BYTES).map(<[u8]>::to_vec));
        }
        assert_eq!(blocks.len(), 9);
    }
}
