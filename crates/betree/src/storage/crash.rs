//! A disk whose power is cut, for tests.
//!
//! Writes stay apart until a flush. A cut keeps of those any sectors: each sector of each unflushed write arrives or does not,
//! by itself, so that writes are torn and reordered in every way a drive could.

use std::io;

use parking_lot::Mutex;

use super::{MemoryStorage, Storage, memory::span};

const SECTOR: usize = 512;

/// What a power cut leaves of writes that were not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCut {
    /// Nothing.
    KeepNone,
    /// Everything, as in a crash of the program alone.
    KeepAll,
    /// Whole writes by the seed, in any order.
    SomeWrites(u64),
    /// Sectors by the seed, whatever write they are of.
    SomeSectors(u64),
}

#[derive(Debug, Default)]
struct State {
    durable: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
    writes: u64,
    fail_at: Option<u64>,
    ignore_flushes: bool,
    write_error: Option<i32>,
}

/// A disk in memory that can lose what was not flushed, refuse writes, or lie about flushes.
#[derive(Debug, Default)]
pub struct CrashStorage {
    state: Mutex<State>,
}

impl CrashStorage {
    /// An image on it, as it is after a flush.
    pub fn of(image: Vec<u8>) -> Self {
        Self { state: Mutex::new(State { durable: image, ..State::default() }) }
    }

    /// From now on every flush says yes and does nothing, as cheap drives are said to.
    pub fn ignore_flushes(&self) {
        self.state.lock().ignore_flushes = true;
    }

    /// The power goes at write number `n`, counted from 0 over the whole life: that write stays pending,
    /// and everything after it fails.
    pub fn cut_at(&self, n: u64) {
        self.state.lock().fail_at = Some(n);
    }

    /// Every write and flush from now on fails with this number, as on a dying disk; `None` mends it.
    pub fn refuse_writes(&self, errno: Option<i32>) {
        self.state.lock().write_error = errno;
    }

    /// How many writes there were, with those refused.
    pub fn writes(&self) -> u64 {
        self.state.lock().writes
    }

    /// The image that is found when the power is back.
    pub fn after(&self, cut: PowerCut) -> MemoryStorage {
        let state = self.state.lock();
        let mut image = state.durable.clone();
        let mut random = match cut {
            PowerCut::SomeWrites(seed) | PowerCut::SomeSectors(seed) => {
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
            }
            PowerCut::KeepNone | PowerCut::KeepAll => 1,
        };
        for (start, bytes) in &state.pending {
            let whole = coin(&mut random);
            for (i, sector) in bytes.chunks(SECTOR).enumerate() {
                let arrives = match cut {
                    PowerCut::KeepNone => false,
                    PowerCut::KeepAll => true,
                    PowerCut::SomeWrites(_) => whole,
                    PowerCut::SomeSectors(_) => coin(&mut random),
                };
                if arrives {
                    let at = start + i * SECTOR;
                    image[at..at + sector.len()].copy_from_slice(sector);
                }
            }
        }
        MemoryStorage::of(image)
    }
}

/// The next toss, by xorshift (Marsaglia 2003).
fn coin(state: &mut u64) -> bool {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 32 & 1 == 1
}

impl State {
    fn power(&self) -> io::Result<()> {
        match self.fail_at {
            Some(n) if self.writes > n => Err(io::Error::other("the power is off")),
            _ => Ok(()),
        }
    }
}

impl Storage for CrashStorage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().durable.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state.lock();
        state.power()?;
        let span = span(state.durable.len(), offset, buffer.len())?;
        buffer.copy_from_slice(&state.durable[span.clone()]);
        for (start, bytes) in &state.pending {
            let (from, to) = (span.start.max(*start), span.end.min(start + bytes.len()));
            if from < to {
                buffer[from - span.start..to - span.start].copy_from_slice(&bytes[from - start..to - start]);
            }
        }
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.power()?;
        state.writes += 1;
        if let Some(errno) = state.write_error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let span = span(state.durable.len(), offset, buffer.len())?;
        state.pending.push((span.start, buffer.to_vec()));
        state.power()
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.power()?;
        if let Some(errno) = state.write_error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        if !state.ignore_flushes {
            for (start, bytes) in std::mem::take(&mut state.pending) {
                state.durable[start..start + bytes.len()].copy_from_slice(&bytes);
            }
        }
        Ok(())
    }
}
