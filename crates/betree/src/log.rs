//! The log: a ring of sectors that is written in order, and flushed for all who wait at once.
//!
//! Long values wait without being written, as long as nobody asks for a sync: what comes into the tree meanwhile need not be
//! written twice. If so much comes that the log lets go of it, the next sync is a checkpoint.

mod recover;
mod sectors;
mod waiting;

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) use recover::{inspect, recover};

use crate::aligned::AlignedBuffer;
use crate::batch::Batch;
use crate::codec::{get_u32, get_u64};
use crate::error::{Error, Result};
use crate::params::SECTOR;
use crate::storage::Storage;
use crate::sum::{Uuid, seed, sum};
use sectors::Sectors;
use waiting::Waiting;

/// Bytes of a sector that are of records.
pub(crate) const PAYLOAD: usize = SECTOR - 20;

/// Where so much waits beside long values, all is written, without a flush; and so much at a time.
const WRITE: usize = 1 << 20;
/// Where so much waits beside long values, whoever writes waits too.
const MOST: usize = 4 * WRITE;

/// Where a log lies and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub uuid: Uuid,
    pub start: u64,
    pub sectors: u64,
    /// Sectors in a block: a writing ends with a whole one.
    pub block: u64,
}

impl Ring {
    fn sum(&self, sector: &[u8]) -> u64 {
        sum(seed(&self.uuid, [u64::MAX, 0, 0]), &sector[..SECTOR - 8])
    }

    /// The number and epoch of a sector, if it is whole.
    fn identify(&self, sector: &[u8]) -> Option<(u64, u32)> {
        let whole = self.sum(sector) == get_u64(sector, SECTOR - 8);
        whole.then(|| (get_u64(sector, PAYLOAD + 4), get_u32(sector, PAYLOAD)))
    }

    /// Where sector `number` lies.
    fn place(&self, number: u64) -> u64 {
        self.start + number % self.sectors * SECTOR as u64
    }
}

struct State {
    /// Records up to the end of a block, the oldest first.
    closed: Vec<Waiting>,
    /// Those that came since.
    open: Waiting,
    /// The first sector that must not be written over.
    tail: u64,
    /// Sectors before this one are on the disk for good, or will never be needed.
    durable: u64,
    /// Records before this sector were let go and are in the tree alone, as long as the tail is not there.
    gone: u64,
    /// Memory to write from, unless somebody is writing.
    buffer: AlignedBuffer,
    /// Somebody is writing.
    busy: bool,
    stop: bool,
    written_bytes: u64,
    failed: Option<Error>,
}

/// What a sync came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Synced {
    /// All lasts.
    Done,
    /// The log let go of records, so that only a checkpoint makes them last.
    NeedsCheckpoint,
}

/// See the module.
pub(crate) struct Log {
    storage: Arc<dyn Storage>,
    ring: Ring,
    epoch: u32,
    seed: u64,
    state: Mutex<State>,
    /// Signalled when something was written, or much waits.
    changed: Condvar,
}

impl Log {
    /// A log that goes on at sector `next`, which begins a block.
    pub fn new(storage: Arc<dyn Storage>, ring: Ring, epoch: u32, next: u64) -> Self {
        let state = State {
            closed: Vec::new(),
            open: Waiting::at(next),
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

    /// Whether a record of `bytes` fits in beside what must be kept.
    pub fn has_room(&self, bytes: usize) -> bool {
        let more = (bytes + 4).div_ceil(PAYLOAD) as u64 + 4 * self.ring.block;
        let state = self.state.lock();
        state.end() + more <= state.tail + self.ring.sectors
    }

    /// Which part of the ring holds records that are in no checkpoint yet, or would hold them.
    pub fn used(&self) -> f64 {
        let state = self.state.lock();
        (state.end() - state.tail) as f64 / self.ring.sectors as f64
    }

    /// Bytes written since the store was opened.
    pub fn written_bytes(&self) -> u64 {
        self.state.lock().written_bytes
    }

    /// Waits where too much waits in memory to be written.
    pub fn throttle(&self) {
        let mut state = self.state.lock();
        while state.own_bytes() > MOST && !state.has_gap() && state.failed.is_none() {
            self.changed.wait(&mut state);
        }
    }

    /// Writes what waits whenever it is much, until [`stop`](Self::stop): for a thread, so that nobody waits for it.
    ///
    /// # Errors
    /// If the disk refuses, now or before.
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

    /// Appends a batch as a record, for which there must be room. It is on the disk after the next [`sync`](Self::sync).
    pub fn append(&self, batch: &Batch) {
        let mut state = self.state.lock();
        state.open.push(batch, self.ring.block);
        if state.own_bytes() >= WRITE && !state.busy {
            self.changed.notify_all();
        }
    }

    /// Ends the last block and gives the number of the sector that the next record begins in.
    pub fn cut(&self) -> u64 {
        let mut state = self.state.lock();
        state.close(self.ring.block);
        state.open.first
    }

    /// Lets go of the records before `sector`, which [`cut`](Self::cut) gave, if they are `least` bytes or more, or some before them are gone.
    /// They must be in the tree: to write them now would be to write them twice.
    pub fn let_go(&self, sector: u64, least: usize) {
        let mut state = self.state.lock();
        let n = state.closed.partition_point(|waiting| waiting.first < sector);
        let bytes: u64 = state.closed[..n].iter().map(Waiting::len).sum();
        if n > 0 && (bytes >= least as u64 || state.has_gap()) {
            let gone: Vec<Waiting> = state.closed.drain(..n).collect();
            state.gone = sector;
            self.changed.notify_all();
            drop(state);
            drop(gone);
        }
    }

    /// Gives up the sectors before `tail`, the records of which are in a checkpoint. Those that were not written yet never will be.
    pub fn set_tail(&self, tail: u64) {
        let mut state = self.state.lock();
        state.tail = tail;
        state.durable = state.durable.max(tail);
        state.closed.retain(|waiting| waiting.first >= tail);
        self.changed.notify_all();
    }

    /// Makes all records so far last, unless some are gone. Whoever comes while another flushes is served by the next flush, all of them by one.
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

    /// Writes the records before `sector`, which [`cut`](Self::cut) gave, without a flush, also behind a gap: for a checkpoint of a tree that has a part of
    /// them, which moves the tail past that gap and flushes before it counts.
    pub fn write_before(&self, sector: u64) -> Result<()> {
        let mut state = self.state.lock();
        while state.busy {
            self.changed.wait(&mut state);
        }
        state.result()?;
        self.write_out(&mut state, sector, false)
    }

    /// Writes what waits before `sector`, which is at the beginning of records. If something before it is gone, it counts only once the tail is past that.
    fn write_out(&self, state: &mut MutexGuard<'_, State>, sector: u64, flush: bool) -> Result<()> {
        state.close(self.ring.block);
        let n = state.closed.partition_point(|waiting| waiting.first < sector);
        let waiting: Vec<Waiting> = state.closed.drain(..n).collect();
        let end = state.closed.first().map_or(state.open.first, |next| next.first);
        let mut buffer = std::mem::take(&mut state.buffer);
        state.busy = true;
        let done = MutexGuard::unlocked(state, || {
            let written = self.write(waiting, &mut buffer)?;
            if flush {
                self.storage.flush().map_err(|e| Error::io("flushing the log after", 0, 0, &e))?;
            }
            Ok(written)
        });
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

    /// Writes records to the ring; gives how many bytes that were.
    fn write(&self, records: Vec<Waiting>, buffer: &mut AlignedBuffer) -> Result<u64> {
        let mut sectors = 0;
        for waiting in records {
            let mut out = Sectors::new(self, buffer, waiting.first);
            waiting.pieces().try_for_each(|piece| out.put(piece))?;
            sectors += out.finish()? - waiting.first;
        }
        Ok(sectors * SECTOR as u64)
    }
}

impl State {
    /// Behind the last sector.
    fn end(&self) -> u64 {
        self.open.first + self.open.sectors()
    }

    /// Ends the last block.
    fn close(&mut self, block: u64) {
        if !self.open.is_empty() {
            let next = self.end().next_multiple_of(block);
            self.closed.push(std::mem::replace(&mut self.open, Waiting::at(next)));
        }
    }

    /// Bytes that wait beside long values.
    fn own_bytes(&self) -> usize {
        self.closed.iter().chain([&self.open]).map(Waiting::own_bytes).sum()
    }

    /// Whether records are gone that are in no checkpoint yet.
    fn has_gap(&self) -> bool {
        self.gone > self.tail
    }

    fn result(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}
