//! Builds runs from messages and ranges in key order.

use std::sync::Arc;

use super::{HEAD, Kind, Run, Shared, message};
use crate::codec::put_u32;
use crate::memory::Gauge;
use crate::payload::Payload;

/// A run under construction.
#[derive(Debug, Default)]
pub(crate) struct RunBuilder {
    index: Vec<u32>,
    body: Vec<u8>,
    range_index: Vec<u32>,
    range_body: Vec<u8>,
    shared: Vec<Shared>,
    shared_bytes: usize,
    freed: usize,
}

impl RunBuilder {
    /// A builder with capacity for `messages` messages of `bytes` bytes in total.
    pub fn with_room(messages: usize, bytes: usize) -> Self {
        Self { index: Vec::with_capacity(messages), body: Vec::with_capacity(bytes), ..Self::default() }
    }

    /// Appends a message; its key must be above the last one's.
    pub fn push(&mut self, key: &[u8], kind: Kind, payload: &[u8]) {
        if kind == Kind::Delete {
            self.freed += message::freed(payload);
        }
        self.index.push(self.body.len() as u32);
        put_u32(&mut self.body, key.len() as u32 | (kind as u32) << 24);
        put_u32(&mut self.body, payload.len() as u32);
        self.body.extend_from_slice(key);
        self.body.extend_from_slice(payload);
    }

    /// Appends an insert of a shared value.
    pub fn push_shared(&mut self, key: &[u8], value: &Arc<Payload>) {
        self.share(self.index.len() as u32, value);
        self.index.push(self.body.len() as u32);
        put_u32(&mut self.body, key.len() as u32 | (Kind::Insert as u32) << 24);
        put_u32(&mut self.body, value.len() as u32);
        self.body.extend_from_slice(key);
    }

    fn share(&mut self, message: u32, value: &Arc<Payload>) {
        self.shared_bytes += value.len();
        self.shared.push((message, Arc::clone(value)));
    }

    /// Appends messages `i..j` of another run unchanged.
    pub fn copy(&mut self, run: &Run, i: usize, j: usize) {
        if i == j {
            return;
        }
        if run.freed > 0 {
            let deletes = (i..j).filter(|k| run.kind(*k) == Kind::Delete);
            self.freed += deletes.map(|k| message::freed(run.payload(k))).sum::<usize>();
        }
        let first = run.shared.partition_point(|(message, _)| (*message as usize) < i);
        for (message, value) in run.shared[first..].iter().take_while(|(message, _)| (*message as usize) < j)
        {
            self.share((self.index.len() + *message as usize - i) as u32, value);
        }
        let (start, end) = (run.start(i), run.start(j));
        let moved = (self.body.len() as u32).wrapping_sub(start as u32);
        self.index.extend((i..j).map(|k| (run.at(k) as u32).wrapping_add(moved)));
        self.body.extend_from_slice(&run.bytes[run.body + start..run.body + end]);
    }

    /// Appends a range; its lower key must be above the upper key of the last one.
    pub fn push_range(&mut self, from: &[u8], to: &[u8]) {
        self.range_index.push(self.range_body.len() as u32);
        put_u32(&mut self.range_body, from.len() as u32);
        put_u32(&mut self.range_body, to.len() as u32);
        self.range_body.extend_from_slice(from);
        self.range_body.extend_from_slice(to);
    }

    /// Bytes of the run so far, on the disk.
    pub fn len(&self) -> usize {
        HEAD + 4 * (self.index.len() + self.range_index.len())
            + self.body.len()
            + self.range_body.len()
            + self.shared_bytes
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty() && self.range_index.is_empty()
    }

    /// The run of all appended messages; the builder becomes empty.
    pub fn finish(&mut self, gauge: &Arc<Gauge>) -> Run {
        let shared = std::mem::take(&mut self.shared).into_boxed_slice();
        self.shared_bytes = 0;
        let freed = std::mem::take(&mut self.freed);
        let run =
            Run::assemble(&self.index, &self.body, &self.range_index, &self.range_body, shared, freed, gauge);
        self.index.clear();
        self.body.clear();
        self.range_index.clear();
        self.range_body.clear();
        run
    }
}
