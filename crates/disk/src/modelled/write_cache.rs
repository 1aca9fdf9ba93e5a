//! The write cache of the modelled disk: what was written and not flushed, which a power cut can lose.
//!
//! Everything written is in the store at once. What is kept here is how to take it back: for each unflushed write
//! what was there before. As that of a drive it holds so many bytes; what is older counts as written to the medium.

use super::CHUNK_BYTES;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// At most so many pieces of writes are held.
const MAX_RECORDS: usize = 1 << 17;

/// One unflushed write of, at most, a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The request that it is part of.
    pub request: u64,
    /// Address on the disk in bytes.
    pub at_bytes: u64,
    /// Length in bytes.
    pub len: u32,
    /// What the disk held there before.
    pub old: Old,
    /// Bytes that went through the cache before this.
    stamp: u64,
}

/// What a part of the disk held before a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Old {
    /// Zeros; room for what replaced them is in the ring.
    Zeros,
    /// Bytes that are in the ring.
    Bytes,
    /// A whole chunk, which was discarded and waits, or [`super::map::HOLE`].
    Chunk(u32),
}

/// What a power cut does to unflushed writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// All are lost.
    All,
    /// Each is lost or kept, as a coin that is seeded with this falls.
    Some(u64),
    /// One of the last eight, chosen by this seed, is cut off at a sector; those before are kept, those behind lost.
    Torn(u64),
}

/// Unflushed writes, oldest first, and what they replaced.
#[derive(Debug)]
pub struct WriteCache {
    ring: Box<[u8]>,
    records: VecDeque<Record>,
    /// Bytes that went through, padding at the end of the ring included.
    passed: u64,
}

impl WriteCache {
    /// A cache that holds so many bytes; with less than a chunk it holds nothing.
    pub fn new(bytes: u64) -> WriteCache {
        let bytes = if bytes < CHUNK_BYTES as u64 { 0 } else { bytes as usize };
        let count = if bytes == 0 { 0 } else { MAX_RECORDS };
        let nothing = Record { request: 0, at_bytes: 0, len: 0, old: Old::Zeros, stamp: 1 };
        // Nothing is zero, for zeros would be made when they are touched, and no write is to wait for memory.
        let mut records = VecDeque::from(vec![nothing; count]);
        records.clear();
        WriteCache { ring: vec![1; bytes].into(), records, passed: 0 }
    }

    /// Whether it holds nothing, ever.
    pub fn is_off(&self) -> bool {
        self.ring.is_empty()
    }

    /// Adds a write that replaces `old` bytes, or zeros. Chunks that nothing waits for any longer go to `freed`.
    pub fn push_bytes(
        &mut self,
        request: u64,
        at_bytes: u64,
        len: usize,
        old: Option<&[u8]>,
        freed: &mut Vec<u32>,
    ) {
        // A record lies in the ring in one piece.
        let ring = self.ring.len() as u64;
        let left = ring - self.passed % ring;
        let stamp = self.passed + if left < len as u64 { left } else { 0 };
        self.passed = stamp + len as u64;
        while self.records.front().is_some_and(|oldest| oldest.stamp + ring < self.passed) {
            self.settle_oldest(freed);
        }
        let kind = if old.is_some() { Old::Bytes } else { Old::Zeros };
        self.push(Record { request, at_bytes, len: len as u32, old: kind, stamp }, freed);
        if let Some(old) = old {
            let start = (stamp % ring) as usize;
            self.ring[start..start + len].copy_from_slice(old);
        }
    }

    /// Adds the discarding of a whole chunk, which is not to be freed before the next flush.
    pub fn push_chunk(&mut self, request: u64, at_bytes: u64, chunk: u32, freed: &mut Vec<u32>) {
        let old = Old::Chunk(chunk);
        self.push(Record { request, at_bytes, len: CHUNK_BYTES as u32, old, stamp: self.passed }, freed);
    }

    /// Takes the youngest record back, whose write has failed.
    pub fn pop(&mut self) {
        self.records.pop_back();
    }

    fn push(&mut self, record: Record, freed: &mut Vec<u32>) {
        if self.records.len() == MAX_RECORDS {
            self.settle_oldest(freed);
        }
        self.records.push_back(record);
    }

    fn settle_oldest(&mut self, freed: &mut Vec<u32>) {
        if let Some(Record { old: Old::Chunk(chunk), .. }) = self.records.pop_front() {
            freed.push(chunk);
        }
    }

    /// Forgets all: it is on the medium now. Gives the chunks that nothing waits for any longer.
    pub fn settle(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        while !self.records.is_empty() {
            self.settle_oldest(&mut freed);
        }
        freed
    }

    /// Gives up the records, oldest first, to a power cut.
    pub fn take_records(&mut self) -> Vec<Record> {
        self.records.drain(..).collect()
    }

    /// The room of a record in the ring.
    pub fn bytes_mut(&mut self, record: &Record) -> &mut [u8] {
        let start = (record.stamp % self.ring.len() as u64) as usize;
        &mut self.ring[start..start + record.len as usize]
    }
}

impl Loss {
    /// How many bytes of each record survive, all of them or less.
    pub fn survivors(self, records: &[Record], sector_bytes: u64) -> Vec<u32> {
        let mut requests: Vec<u64> = records.iter().map(|record| record.request).collect();
        requests.dedup();
        match self {
            Loss::All => vec![0; records.len()],
            Loss::Some(seed) => {
                let mut coin = ChaCha8Rng::seed_from_u64(seed);
                let kept: Vec<u64> = requests.into_iter().filter(|_| coin.next_u32() & 1 == 1).collect();
                let survives = |record: &Record| kept.binary_search(&record.request).is_ok();
                records.iter().map(|record| if survives(record) { record.len } else { 0 }).collect()
            }
            Loss::Torn(seed) => {
                let mut choice = ChaCha8Rng::seed_from_u64(seed);
                let last = &requests[requests.len().saturating_sub(8)..];
                let Some(torn) = last.get(choice.next_u32() as usize % last.len().max(1)).copied() else {
                    return Vec::new();
                };
                let of_torn = records.iter().filter(|record| record.request == torn);
                let sectors = of_torn.map(|record| u64::from(record.len) / sector_bytes).sum::<u64>();
                let mut left = (choice.next_u64() % sectors.max(1)) * sector_bytes;
                let survive = |record: &Record| match record.request.cmp(&torn) {
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
