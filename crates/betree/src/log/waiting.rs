//! Pending log records. They are packed into sectors only when written, since many never are.

use std::sync::Arc;

use super::PAYLOAD;
use crate::batch::Batch;
use crate::payload::Payload;

/// Consecutive records that start at a block.
#[derive(Default)]
pub(super) struct PendingRecords {
    /// The number of their first sector.
    pub first: u64,
    /// The records in the format of the log, without long values.
    bytes: Vec<u8>,
    /// Long values, each with its position in `bytes`.
    shared: Vec<(usize, Arc<Payload>)>,
    /// Total bytes, including long values.
    len: u64,
}

impl PendingRecords {
    /// No records; the first one will start in sector `first`.
    pub fn at(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// Appends a batch as a record, with `block` sectors per block.
    pub fn push(&mut self, batch: &Batch, block: u64) {
        let in_block = self.len % (block * PAYLOAD as u64);
        let left = block * PAYLOAD as u64 - in_block;
        if left < 4 {
            // A rest of a block that is too short for a length stays zero.
            self.bytes.resize(self.bytes.len() + left as usize, 0);
            self.len += left;
        }
        self.bytes.extend_from_slice(&(batch.bytes() as u32).to_le_bytes());
        batch.encode_into(&mut self.bytes, &mut self.shared);
        self.len += 4 + batch.bytes() as u64;
    }

    /// Number of sectors of the records.
    pub fn sectors(&self) -> u64 {
        self.len.div_ceil(PAYLOAD as u64)
    }

    /// Total bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory, without shared values.
    pub fn own_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The records in the format of the log, in pieces.
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
