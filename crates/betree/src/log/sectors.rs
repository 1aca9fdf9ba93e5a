//! Packs records into sectors and writes them.

use super::{Log, PAYLOAD, WRITE};
use crate::aligned::AlignedBuffer;
use crate::codec::{set_u32, set_u64};
use crate::error::{Error, Result};
use crate::params::SECTOR;
use crate::sum::sum;

/// A writer of sectors to the ring.
pub(super) struct Sectors<'a> {
    log: &'a Log,
    /// Unwritten sectors; the last one may be partly filled.
    buffer: &'a mut AlignedBuffer,
    /// Number of the first unwritten sector.
    first: u64,
    /// Payload bytes in the last sector; 0 if it is full or missing.
    fill: usize,
}

impl<'a> Sectors<'a> {
    /// Starts at sector `first`, the start of a block.
    pub fn new(log: &'a Log, buffer: &'a mut AlignedBuffer, first: u64) -> Self {
        buffer.clear(usize::MAX);
        Self { log, buffer, first, fill: 0 }
    }

    /// The number behind the last sector.
    fn end(&self) -> u64 {
        self.first + (self.buffer.len() / SECTOR) as u64
    }

    /// Appends bytes of records, and writes the buffer when it is large.
    ///
    /// # Errors
    /// If a write fails.
    pub fn put(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.fill == 0 {
                self.buffer.grow(SECTOR);
            }
            let n = bytes.len().min(PAYLOAD - self.fill);
            let at = self.buffer.len() - SECTOR + self.fill;
            self.buffer[at..at + n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            self.fill += n;
            if self.fill == PAYLOAD {
                self.seal()?;
            }
        }
        Ok(())
    }

    /// Pads the last block and writes the rest. Returns the number of the next sector.
    ///
    /// # Errors
    /// If a write fails.
    pub fn finish(mut self) -> Result<u64> {
        while self.fill > 0 || !self.end().is_multiple_of(self.log.ring.block) {
            if self.fill == 0 {
                self.buffer.grow(SECTOR);
            }
            let end = self.buffer.len();
            self.buffer[end - SECTOR + self.fill..].fill(0);
            self.seal()?;
        }
        self.write()?;
        Ok(self.first)
    }

    /// Ends the last sector.
    fn seal(&mut self) -> Result<()> {
        let number = self.end() - 1;
        let at = self.buffer.len() - SECTOR;
        let sector = &mut self.buffer[at..];
        set_u32(sector, PAYLOAD, self.log.epoch);
        set_u64(sector, PAYLOAD + 4, number);
        let sum = sum(self.log.seed, &sector[..SECTOR - 8]);
        set_u64(sector, SECTOR - 8, sum);
        self.fill = 0;
        // The next write starts at the start of the ring, so its memory must start there too, to be aligned.
        let at_end = (number + 1).is_multiple_of(self.log.ring.sectors);
        if self.buffer.len() >= WRITE || at_end { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        let at = self.log.ring.place(self.first);
        let bytes = self.buffer.len();
        if bytes > 0 {
            let written = self.log.storage.write_at(self.buffer, at);
            written.map_err(|e| Error::io("writing the log,", at, bytes, &e))?;
            self.first = self.end();
            self.buffer.clear(usize::MAX);
        }
        Ok(())
    }
}
