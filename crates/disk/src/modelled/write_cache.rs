//! The write cache of the modelled disk: unflushed writes, which a power cut can lose.
//!
//! Writes go to the store at once. The cache keeps the data needed to undo each unflushed write. Like the cache of a drive it has a limited
//! size; older writes count as written to the medium.

use super::CHUNK_BYTES;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The maximum number of records.
const MAX_RECORDS: usize = 1 << 17;

/// One unflushed write of at most one chunk.
#[derive(Clone, Copy, Debug)]
pub struct UndoRecord {
    /// The request that contains the write.
    pub request: u64,
    /// Offset on the disk in bytes.
    pub at_bytes: u64,
    /// Length in bytes.
    pub len: u32,
    /// The previous contents.
    pub old: OldContents,
    /// Number of bytes that had passed through the cache before this record.
    stamp: u64,
}

/// The previous contents of a part of the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldContents {
    /// Zeros; the ring has space reserved for the data that replaced them.
    Zeros,
    /// Bytes stored in the ring.
    Bytes,
    /// A complete chunk that was discarded and not yet freed, or [`super::map::HOLE`].
    Chunk(u32),
}

/// The effect of a power cut on unflushed writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostWrites {
    /// All writes are lost.
    All,
    /// Each write is lost or kept at random, with this seed.
    Some(u64),
    /// One of the last eight writes, chosen by this seed, is torn at a sector; earlier writes are kept, later ones lost.
    Torn(u64),
}

/// The unflushed writes, oldest first, and the data that they replaced.
#[derive(Debug)]
pub struct WriteCache {
    ring: Box<[u8]>,
    records: VecDeque<UndoRecord>,
    /// Number of bytes that passed through, including padding at the end of the ring.
    passed: u64,
}

impl WriteCache {
    /// A cache of `bytes` bytes; a size below one chunk disables it.
    pub fn new(bytes: u64) -> WriteCache {
        let bytes = if bytes < CHUNK_BYTES as u64 { 0 } else { bytes as usize };
        let count = if bytes == 0 { 0 } else { MAX_RECORDS };
        let nothing = UndoRecord { request: 0, at_bytes: 0, len: 0, old: OldContents::Zeros, stamp: 1 };
        // Nonzero, because pages of zeros would be allocated only when touched, and writes must not wait for memory.
        let mut records = VecDeque::from(vec![nothing; count]);
        records.clear();
        WriteCache { ring: vec![1; bytes].into(), records, passed: 0 }
    }

    /// Whether the cache is disabled.
    pub fn is_off(&self) -> bool {
        self.ring.is_empty()
    }

    /// Adds a write that replaces `old` bytes, or zeros. Chunks that are no longer needed are added to `freed`.
    pub fn push_bytes(
        &mut self,
        request: u64,
        at_bytes: u64,
        len: usize,
        old: Option<&[u8]>,
        freed: &mut Vec<u32>,
    ) {
        // A record is contiguous in the ring.
        let ring = self.ring.len() as u64;
        let left = ring - self.passed % ring;
        let stamp = self.passed + if left < len as u64 { left } else { 0 };
        self.passed = stamp + len as u64;
        while self.records.front().is_some_and(|oldest| oldest.stamp + ring < self.passed) {
            self.commit_oldest(freed);
        }
        let kind = if old.is_some() { OldContents::Bytes } else { OldContents::Zeros };
        self.push(UndoRecord { request, at_bytes, len: len as u32, old: kind, stamp }, freed);
        if let Some(old) = old {
            let start = (stamp % ring) as usize;
            self.ring[start..start + len].copy_from_slice(old);
        }
    }

    /// Adds the discard of a complete chunk; the chunk must not be freed before the next flush.
    pub fn push_chunk(&mut self, request: u64, at_bytes: u64, chunk: u32, freed: &mut Vec<u32>) {
        let old = OldContents::Chunk(chunk);
        self.push(UndoRecord { request, at_bytes, len: CHUNK_BYTES as u32, old, stamp: self.passed }, freed);
    }

    /// Removes the newest record, whose write failed.
    pub fn pop(&mut self) {
        self.records.pop_back();
    }

    fn push(&mut self, record: UndoRecord, freed: &mut Vec<u32>) {
        if self.records.len() == MAX_RECORDS {
            self.commit_oldest(freed);
        }
        self.records.push_back(record);
    }

    fn commit_oldest(&mut self, freed: &mut Vec<u32>) {
        if let Some(UndoRecord { old: OldContents::Chunk(chunk), .. }) = self.records.pop_front() {
            freed.push(chunk);
        }
    }

    /// Drops all records, because their writes are stable now. Returns the chunks that are no longer needed.
    pub fn commit(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        while !self.records.is_empty() {
            self.commit_oldest(&mut freed);
        }
        freed
    }

    /// Removes and returns the records, oldest first, for a power cut.
    pub fn take_records(&mut self) -> Vec<UndoRecord> {
        self.records.drain(..).collect()
    }

    /// The space of a record in the ring.
    pub fn bytes_mut(&mut self, record: &UndoRecord) -> &mut [u8] {
        let start = (record.stamp % self.ring.len() as u64) as usize;
        &mut self.ring[start..start + record.len as usize]
    }
}

impl LostWrites {
    /// The number of bytes of each record that survive.
    pub fn survivors(self, records: &[UndoRecord], sector_bytes: u64) -> Vec<u32> {
        let mut requests: Vec<u64> = records.iter().map(|record| record.request).collect();
        requests.dedup();
        match self {
            LostWrites::All => vec![0; records.len()],
            LostWrites::Some(seed) => {
                let mut coin = ChaCha8Rng::seed_from_u64(seed);
                let kept: Vec<u64> = requests.into_iter().filter(|_| coin.next_u32() & 1 == 1).collect();
                let survives = |record: &UndoRecord| kept.binary_search(&record.request).is_ok();
                records.iter().map(|record| if survives(record) { record.len } else { 0 }).collect()
            }
            LostWrites::Torn(seed) => {
                let mut choice = ChaCha8Rng::seed_from_u64(seed);
                let last = &requests[requests.len().saturating_sub(8)..];
                let Some(torn) = last.get(choice.next_u32() as usize % last.len().max(1)).copied() else {
                    return Vec::new();
                };
                let of_torn = records.iter().filter(|record| record.request == torn);
                let sectors = of_torn.map(|record| u64::from(record.len) / sector_bytes).sum::<u64>();
                let mut left = (choice.next_u64() % sectors.max(1)) * sector_bytes;
                let survive = |record: &UndoRecord| match record.request.cmp(&torn) {
                    std::cmp::Ordering::Less => record.len,
                    std::cmp::Ordering::Greater => 0,
                    std::cmp::Ordering::Equal => {
                        let kept = left.min(u64::from(record.len));
                        left -= kept;
                        kept as u32
                    }
                };
                records.iter().map(survive).collect()
            }
        }
    }
}
