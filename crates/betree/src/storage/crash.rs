//! A disk with simulated power cuts, for tests.
//!
//! Writes are pending until a flush. A power cut keeps any subset of their sectors: each sector of each pending write arrives or is lost
//! independently, so writes are torn and reordered in every way a drive could.

use std::io;

use parking_lot::Mutex;

use super::{MemoryStorage, Storage, memory::span};

const SECTOR: usize = 512;

/// Which pending writes survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCut {
    /// None.
    KeepNone,
    /// All, as in a crash of the program alone.
    KeepAll,
    /// Whole writes, chosen by the seed.
    SomeWrites(u64),
    /// Sectors of any write, chosen by the seed.
    SomeSectors(u64),
}

#[derive(Debug, Default)]
struct DiskState {
    durable: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
    writes: u64,
    fail_at: Option<u64>,
    ignore_flushes: bool,
    write_error: Option<i32>,
}

/// A disk in memory that can lose pending writes, fail writes, or ignore flushes.
#[derive(Debug, Default)]
pub struct CrashStorage {
    state: Mutex<DiskState>,
}

impl CrashStorage {
    /// A disk with this durable content.
    pub fn of(image: Vec<u8>) -> Self {
        Self { state: Mutex::new(DiskState { durable: image, ..DiskState::default() }) }
    }

    /// From now on, flushes succeed without effect, as some cheap drives are said to do.
    pub fn ignore_flushes(&self) {
        self.state.lock().ignore_flushes = true;
    }

    /// Cuts the power at write number `n`, counted from 0 since creation: that write stays pending, and all later requests fail.
    pub fn cut_power_at(&self, n: u64) {
        self.state.lock().fail_at = Some(n);
    }

    /// From now on, every write and flush fails with this error number, as on a failing disk; `None` ends this.
    pub fn fail_writes(&self, errno: Option<i32>) {
        self.state.lock().write_error = errno;
    }

    /// Number of writes, including failed ones.
    pub fn writes(&self) -> u64 {
        self.state.lock().writes
    }

    /// The disk content after the power is back.
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

/// The next random bit, by xorshift (Marsaglia 2003).
fn coin(state: &mut u64) -> bool {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 32 & 1 == 1
}

impl DiskState {
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
