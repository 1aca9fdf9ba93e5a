//! Records that wait to be written, as they were given. Sectors are made of them when they are written, for many never are.

use std::sync::Arc;

use super::PAYLOAD;
use crate::batch::Batch;
use crate::payload::Payload;

/// Records in a row, from the beginning of a block on.
#[derive(Default)]
pub(super) struct Waiting {
    /// The number of the sector that they begin in.
    pub first: u64,
    /// They as in the log, but for long values.
    bytes: Vec<u8>,
    /// Long values, each with its place in `bytes`.
    shared: Vec<(usize, Arc<Payload>)>,
    /// Bytes of all of that.
    len: u64,
}

impl Waiting {
    /// None yet; those to come begin in sector `first`.
    pub fn at(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// Adds a record of a batch, in blocks of `block` sectors.
    pub fn push(&mut self, batch: &Batch, block: u64) {
        let in_block = self.len % (block * PAYLOAD as u64);
        let left = block * PAYLOAD as u64 - in_block;
        if left < 4 {
            // What is too short for a length stays zero.
            self.bytes.resize(self.bytes.len() + left as usize, 0);
            self.len += left;
        }
        self.bytes.extend_from_slice(&(batch.bytes() as u32).to_le_bytes());
        batch.encode_into(&mut self.bytes, &mut self.shared);
        self.len += 4 + batch.bytes() as u64;
    }

    /// Sectors that they take.
    pub fn sectors(&self) -> u64 {
        self.len.div_ceil(PAYLOAD as u64)
    }

    /// Bytes of them.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that nobody shares.
    pub fn own_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// They as in the log, in pieces.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        let pieces = self.shared.iter().flat_map(move |(at, value)| {
            let before = &self.bytes[from..*at];
            from = *at;
            [before, &***value]
        });
        let last = self.shared.last().map_or(0, |(at, _)| *at);
        pieces.chain(std::iter::once(&self.bytes[last..]))
    }
}
