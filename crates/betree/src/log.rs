//! The log: a ring of sectors that is written in order, and flushed for all who wait at once.

mod recover;

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) use recover::{inspect, recover};

use crate::aligned::{Aligned, AlignedBuffer};
use crate::codec::{get_u32, get_u64, set_u32, set_u64};
use crate::error::{Error, Result};
use crate::params::SECTOR;
use crate::storage::Storage;
use crate::sum::{Uuid, seed, sum};

/// Bytes of a sector that are of records.
pub(crate) const PAYLOAD: usize = SECTOR - 20;

/// So much that waits is written, without a flush.
const WRITE: usize = 1 << 20;
/// Where so much waits, whoever writes waits too.
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
    /// Sectors that are not written yet; the last may not be full.
    buffer: AlignedBuffer,
    /// Memory that serves next.
    spare: AlignedBuffer,
    /// Number of the first of them.
    first: u64,
    /// Bytes of payload in the last one; 0 where it is full or there is none.
    fill: usize,
    /// The first sector that must not be written over.
    tail: u64,
    /// Sectors before this one are on the disk for good.
    durable: u64,
    /// Somebody is writing.
    busy: bool,
    stop: bool,
    written_bytes: u64,
    failed: Option<Error>,
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
            buffer: AlignedBuffer::default(),
            spare: AlignedBuffer::default(),
            first: next,
            fill: 0,
            tail: next,
            durable: next,
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

    /// Which part of the ring holds records that are in no checkpoint yet.
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
        while state.buffer.len() > MOST && state.failed.is_none() {
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
            if state.buffer.len() < WRITE || state.busy {
                self.changed.wait(&mut state);
            } else {
                self.write_out(&mut state, false)?;
            }
        }
        Ok(())
    }

    pub fn stop(&self) {
        self.state.lock().stop = true;
        self.changed.notify_all();
    }

    /// Appends a record of `bytes`, which come in pieces, for which there must be room. It is on the disk after the next [`sync`](Self::sync).
    pub fn append<'a>(&self, bytes: usize, record: impl Iterator<Item = &'a [u8]>) {
        let mut state = self.state.lock();
        let in_block = state.end() % self.ring.block;
        let last = state.fill > 0 && in_block == 0;
        if last && PAYLOAD - state.fill < 4 {
            self.pad(&mut state);
        }
        self.put(&mut state, &(bytes as u32).to_le_bytes());
        record.for_each(|piece| self.put(&mut state, piece));
        if state.buffer.len() >= WRITE && !state.busy {
            self.changed.notify_all();
        }
    }

    fn put(&self, state: &mut State, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if state.fill == 0 {
                state.buffer.grow(SECTOR);
            }
            let n = bytes.len().min(PAYLOAD - state.fill);
            let at = state.buffer.len() - SECTOR + state.fill;
            state.buffer[at..at + n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            state.fill += n;
            if state.fill == PAYLOAD {
                self.seal(state);
            }
        }
    }

    /// Ends the last sector.
    fn seal(&self, state: &mut State) {
        let number = state.end() - 1;
        let at = state.buffer.len() - SECTOR;
        let sector = &mut state.buffer[at..];
        set_u32(sector, PAYLOAD, self.epoch);
        set_u64(sector, PAYLOAD + 4, number);
        let sum = sum(self.seed, &sector[..SECTOR - 8]);
        set_u64(sector, SECTOR - 8, sum);
        state.fill = 0;
    }

    /// Fills the last block.
    fn pad(&self, state: &mut State) {
        while state.fill > 0 || !state.end().is_multiple_of(self.ring.block) {
            if state.fill == 0 {
                state.buffer.grow(SECTOR);
            }
            let end = state.buffer.len();
            state.buffer[end - SECTOR + state.fill..].fill(0);
            self.seal(state);
        }
    }

    /// Ends the last block and gives the number of the sector that the next record begins in.
    pub fn cut(&self) -> u64 {
        let mut state = self.state.lock();
        self.pad(&mut state);
        state.end()
    }

    /// Gives up the sectors before `tail`, the records of which are in a checkpoint. Those that were not written yet never will be.
    pub fn set_tail(&self, tail: u64) {
        let mut state = self.state.lock();
        state.tail = tail;
        state.durable = state.durable.max(tail);
        if state.first < tail {
            let gone = (tail - state.first) as usize * SECTOR;
            state.buffer.drain(gone);
            state.first = tail;
        }
    }

    /// Makes all records so far last. Whoever comes while another flushes is served by the next flush, all of them by one.
    pub fn sync(&self) -> Result<()> {
        let mut state = self.state.lock();
        let target = state.end().next_multiple_of(self.ring.block);
        loop {
            state.result()?;
            if state.durable >= target {
                return Ok(());
            }
            if state.busy {
                self.changed.wait(&mut state);
            } else {
                self.write_out(&mut state, true)?;
            }
        }
    }

    fn write_out(&self, state: &mut MutexGuard<'_, State>, flush: bool) -> Result<()> {
        self.pad(state);
        let spare = std::mem::take(&mut state.spare);
        let mut buffer = std::mem::replace(&mut state.buffer, spare);
        let (first, end) = (state.first, state.first + (buffer.len() / SECTOR) as u64);
        state.first = end;
        state.busy = true;
        let done = MutexGuard::unlocked(state, || {
            self.write_sectors(&buffer, first)?;
            if flush {
                self.storage.flush().map_err(|e| Error::io("flushing the log after", 0, 0, &e))
            } else {
                Ok(())
            }
        });
        state.busy = false;
        match done {
            Ok(()) => {
                state.written_bytes += buffer.len() as u64;
                if flush {
                    state.durable = state.durable.max(end);
                }
                buffer.clear(MOST);
                state.spare = buffer;
            }
            Err(error) => state.failed = Some(error),
        }
        self.changed.notify_all();
        state.result()
    }

    fn write_sectors(&self, buffer: &[u8], first: u64) -> Result<()> {
        let before_end = (self.ring.sectors - first % self.ring.sectors) as usize * SECTOR;
        let (head, rest) = buffer.split_at(before_end.min(buffer.len()));
        let write = |bytes: &[u8], at: u64| {
            self.storage.write_at(bytes, at).map_err(|e| Error::io("writing the log,", at, bytes.len(), &e))
        };
        if !head.is_empty() {
            write(head, self.ring.place(first))?;
        }
        if !rest.is_empty() {
            // It may begin anywhere.
            let mut aligned = Aligned::zeroed(rest.len());
            aligned.copy_from_slice(rest);
            write(&aligned, self.ring.start)?;
        }
        Ok(())
    }
}

impl State {
    /// Behind the last sector.
    fn end(&self) -> u64 {
        self.first + (self.buffer.len() / SECTOR) as u64
    }

    fn result(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}
