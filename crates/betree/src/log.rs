//! The log: a ring of sectors, written in order, with one flush for all concurrent syncs.
//!
//! Records stay in memory until a sync is requested or much is pending: records that reach the tree first need not be written
//! twice. If the log drops such records, the next sync is a checkpoint.

mod recover;
mod sectors;
mod waiting;

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) use recover::{inspect, recover};

use crate::aligned::AlignedBuffer;
use crate::batch::Batch;
use crate::codec::{get_u32, get_u64};
use crate::error::{Error, Result, catch_panic};
use crate::params::SECTOR;
use crate::storage::Storage;
use crate::sum::{Uuid, seed, sum};
use sectors::Sectors;
use waiting::PendingRecords;

/// Record bytes per sector.
pub(crate) const PAYLOAD: usize = SECTOR - 20;

/// Once this many bytes, without long values, are pending, they are written without a flush; also the size of a write.
const WRITE: usize = 1 << 20;
/// Once this many bytes, without long values, are pending, writers wait.
const MOST: usize = 4 * WRITE;

/// Location and identity of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub uuid: Uuid,
    pub start: u64,
    pub sectors: u64,
    /// Sectors per block: every write ends at a block boundary.
    pub block: u64,
}

impl Ring {
    fn sum(&self, sector: &[u8]) -> u64 {
        sum(seed(&self.uuid, [u64::MAX, 0, 0]), &sector[..SECTOR - 8])
    }

    /// The number and epoch of a sector, if its sum is correct.
    fn identify(&self, sector: &[u8]) -> Option<(u64, u32)> {
        let whole = self.sum(sector) == get_u64(sector, SECTOR - 8);
        whole.then(|| (get_u64(sector, PAYLOAD + 4), get_u32(sector, PAYLOAD)))
    }

    /// The address of sector `number`.
    fn place(&self, number: u64) -> u64 {
        self.start + number % self.sectors * SECTOR as u64
    }
}

struct LogState {
    /// Pending records up to the end of a block, the oldest first.
    closed: Vec<PendingRecords>,
    /// Records after those.
    open: PendingRecords,
    /// The first sector that must not be overwritten.
    tail: u64,
    /// Sectors before this one are durable, or will never be needed.
    durable: u64,
    /// Records before this sector were dropped; until the tail passes it, they are in the tree only.
    gone: u64,
    /// The write buffer, while no thread writes.
    buffer: AlignedBuffer,
    /// Whether a thread is writing.
    busy: bool,
    stop: bool,
    written_bytes: u64,
    failed: Option<Error>,
}

/// The result of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Synced {
    /// All records are durable.
    Done,
    /// The log has dropped records: a checkpoint is needed to make them durable.
    NeedsCheckpoint,
}

/// See the module documentation.
pub(crate) struct Log {
    storage: Arc<dyn Storage>,
    ring: Ring,
    epoch: u32,
    seed: u64,
    state: Mutex<LogState>,
    /// Signalled after a write, and when much is pending.
    changed: Condvar,
}

impl Log {
    /// A log that continues at sector `next`, the start of a block.
    pub fn new(storage: Arc<dyn Storage>, ring: Ring, epoch: u32, next: u64) -> Self {
        let state = LogState {
            closed: Vec::new(),
            open: PendingRecords::at(next),
            tail: next,
            durable: next,
            gone: next,
            buffer: AlignedBuffer::default(),
            busy: false,
            stop: false,
            written_bytes: 0,
            failed: None,
        };
        let seed = seed(&ring.uuid, [u64::MAX, 0, 0]);
        Self { storage, ring, epoch, seed, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Whether a record of `bytes` fits without overwriting needed sectors.
    pub fn has_room(&self, bytes: usize) -> bool {
        let more = (bytes + 4).div_ceil(PAYLOAD) as u64 + 4 * self.ring.block;
        let state = self.state.lock();
        state.end() + more <= state.tail + self.ring.sectors
    }

    /// The fraction of the ring for records that are in no checkpoint yet, including dropped ones.
    pub fn used(&self) -> f64 {
        let state = self.state.lock();
        (state.end() - state.tail) as f64 / self.ring.sectors as f64
    }

    /// Bytes written since the store was opened.
    pub fn written_bytes(&self) -> u64 {
        self.state.lock().written_bytes
    }

    /// Waits while too many bytes are pending.
    pub fn throttle(&self) {
        let mut state = self.state.lock();
        while state.own_bytes() > MOST && !state.has_gap() && state.failed.is_none() {
            self.changed.wait(&mut state);
        }
    }

    /// Writes pending records whenever they are many, until [`stop`](Self::stop). Runs in its own thread, so that no writer waits.
    ///
    /// # Errors
    /// If a write fails, now or earlier.
    pub fn write_until_stop(&self) -> Result<()> {
        let mut state = self.state.lock();
        while !state.stop {
            state.result()?;
            if state.own_bytes() < WRITE || state.busy || state.has_gap() {
                self.changed.wait(&mut state);
            } else {
                self.write_out(&mut state, u64::MAX, false)?;
            }
        }
        Ok(())
    }

    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    /// Appends a batch as a record; the log must have room. The next [`sync`](Self::sync) makes it durable.
    pub fn append(&self, batch: &Batch) {
        let mut state = self.state.lock();
        state.open.push(batch, self.ring.block);
        if state.own_bytes() >= WRITE && !state.busy {
            self.changed.notify_all();
        }
    }

    /// Ends the current block and returns the number of the first sector of the next record.
    pub fn cut(&self) -> u64 {
        let mut state = self.state.lock();
        state.close(self.ring.block);
        state.open.first
    }

    /// Drops the records before `sector`, a result of [`cut`](Self::cut), if they are at least `least` bytes or earlier ones were dropped. They must
    /// be in the tree; writing them to the log would write them twice.
    pub fn drop_applied(&self, sector: u64, least: usize) {
        let mut state = self.state.lock();
        let n = state.closed.partition_point(|waiting| waiting.first < sector);
        let bytes: u64 = state.closed[..n].iter().map(PendingRecords::len).sum();
        if n > 0 && (bytes >= least as u64 || state.has_gap()) {
            let gone: Vec<PendingRecords> = state.closed.drain(..n).collect();
            state.gone = sector;
            self.changed.notify_all();
            drop(state);
            drop(gone);
        }
    }

    /// Frees the sectors before `tail`, whose records are in a checkpoint. Unwritten ones are discarded.
    pub fn set_tail(&self, tail: u64) {
        let mut state = self.state.lock();
        state.tail = tail;
        state.durable = state.durable.max(tail);
        state.closed.retain(|waiting| waiting.first >= tail);
        self.changed.notify_all();
    }

    /// Makes all records so far durable, unless some were dropped. Callers that arrive during a flush share the next one.
    pub fn sync(&self) -> Result<Synced> {
        let mut state = self.state.lock();
        let target = state.end().next_multiple_of(self.ring.block);
        loop {
            state.result()?;
            if state.durable >= target {
                return Ok(Synced::Done);
            }
            if state.has_gap() {
                return Ok(Synced::NeedsCheckpoint);
            }
            if state.busy {
                self.changed.wait(&mut state);
            } else {
                self.write_out(&mut state, u64::MAX, true)?;
            }
        }
    }

    /// Writes the records before `sector`, a result of [`cut`](Self::cut), without a flush, even behind a gap. For a checkpoint of a tree that
    /// contains a part of them: it moves the tail past the gap, and flushes before it becomes valid.
    pub fn write_before(&self, sector: u64) -> Result<()> {
        let mut state = self.state.lock();
        while state.busy {
            self.changed.wait(&mut state);
        }
        state.result()?;
        self.write_out(&mut state, sector, false)
    }

    /// Writes pending records before `sector`, a record boundary. Records behind a gap become valid only once the tail is past the gap.
    fn write_out(&self, state: &mut MutexGuard<'_, LogState>, sector: u64, flush: bool) -> Result<()> {
        state.close(self.ring.block);
        let n = state.closed.partition_point(|waiting| waiting.first < sector);
        let waiting: Vec<PendingRecords> = state.closed.drain(..n).collect();
        let end = state.closed.first().map_or(state.open.first, |next| next.first);
        let mut buffer = std::mem::take(&mut state.buffer);
        state.busy = true;
        let write = || {
            let written = self.write(waiting, &mut buffer)?;
            if flush {
                self.storage.flush().map_err(|e| Error::io("flushing the log after", 0, 0, &e))?;
            }
            Ok(written)
        };
        let done = MutexGuard::unlocked(state, || catch_panic("writing the log", write));
        state.busy = false;
        state.buffer = buffer;
        match done {
            Ok(written) => {
                state.written_bytes += written;
                if flush {
                    state.durable = state.durable.max(end);
                }
            }
            Err(error) => state.failed = Some(error),
        }
        self.changed.notify_all();
        state.result()
    }

    /// Writes records to the ring; returns the number of bytes.
    fn write(&self, records: Vec<PendingRecords>, buffer: &mut AlignedBuffer) -> Result<u64> {
        let mut sectors = 0;
        for waiting in records {
            let mut out = Sectors::new(self, buffer, waiting.first);
            waiting.pieces().try_for_each(|piece| out.put(piece))?;
            sectors += out.finish()? - waiting.first;
        }
        Ok(sectors * SECTOR as u64)
    }
}

impl LogState {
    /// The number of the sector behind the last record.
    fn end(&self) -> u64 {
        self.open.first + self.open.sectors()
    }

    /// Ends the current block.
    fn close(&mut self, block: u64) {
        if !self.open.is_empty() {
            let next = self.end().next_multiple_of(block);
            self.closed.push(std::mem::replace(&mut self.open, PendingRecords::at(next)));
        }
    }

    /// Pending bytes, without long values.
    fn own_bytes(&self) -> usize {
        self.closed.iter().chain([&self.open]).map(PendingRecords::own_bytes).sum()
    }

    /// Whether dropped records are in no checkpoint yet.
    fn has_gap(&self) -> bool {
        self.gone > self.tail
    }

    fn result(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}
