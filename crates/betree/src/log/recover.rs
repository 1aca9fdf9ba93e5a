//! Log recovery after a crash.

use super::{PAYLOAD, Ring};
use crate::aligned::Aligned;
use crate::codec::get_u32;
use crate::error::{Error, Result};
use crate::params::SECTOR;
use crate::storage::Storage;

/// Bytes per read.
const CHUNK: u64 = 1 << 20;

/// Passes the records of `epoch` from sector `tail` on to `each`, up to the first missing sector. Inspects all sectors of the ring: one that no
/// power cut can leave is an error.
pub(crate) fn recover(
    storage: &dyn Storage,
    ring: &Ring,
    (tail, epoch): (u64, u32),
    most: usize,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut stream = Stream { bytes: Vec::new(), at: 0, block: PAYLOAD * ring.block as usize };
    let mut live = true;
    scan(storage, ring, tail, |number, sector, identity| {
        live &= identity == Some((number, epoch));
        if live {
            stream.bytes.extend_from_slice(&sector[..PAYLOAD]);
            if (number + 1).is_multiple_of(ring.block) {
                stream.give(ring, most, &mut each)?;
            }
        }
        Ok(())
    })?;
    stream.give(ring, most, &mut each)
}

/// Verifies that every sector is zero, or valid and in its place.
pub(crate) fn inspect(storage: &dyn Storage, ring: &Ring) -> Result<()> {
    scan(storage, ring, 0, |_, _, _| Ok(()))
}

type Identity = Option<(u64, u32)>;

/// Visits all sectors of the ring, starting at the place of sector `tail`, each with the number expected there.
fn scan(
    storage: &dyn Storage,
    ring: &Ring,
    tail: u64,
    mut each: impl FnMut(u64, &[u8], Identity) -> Result<()>,
) -> Result<()> {
    let mut number = tail;
    let mut buffer = Aligned::zeroed(CHUNK.min(ring.sectors * SECTOR as u64) as usize);
    while number < tail + ring.sectors {
        let at = ring.place(number);
        let left = tail + ring.sectors - number;
        let row = (ring.sectors - number % ring.sectors).min(left) * SECTOR as u64;
        let chunk = &mut buffer[..row.min(CHUNK) as usize];
        storage.read_at(chunk, at).map_err(|e| Error::io("reading the log,", at, chunk.len(), &e))?;
        for sector in chunk.chunks_exact(SECTOR) {
            let identity = ring.identify(sector);
            let belongs = identity.is_some_and(|(found, _)| found % ring.sectors == number % ring.sectors);
            if !belongs && sector.iter().any(|byte| *byte != 0) {
                let why = "it contains neither new nor old data";
                return Err(Error::damaged("log sector", ring.place(number), why));
            }
            each(number, sector, identity)?;
            number += 1;
        }
    }
    Ok(())
}

/// The payloads of consecutive sectors, starting at a block.
struct Stream {
    bytes: Vec<u8>,
    /// Start of the next record.
    at: usize,
    /// Payload bytes per block.
    block: usize,
}

impl Stream {
    /// Passes on the complete records.
    fn give(&mut self, ring: &Ring, most: usize, each: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while self.at < self.bytes.len() {
            let next_block = (self.at / self.block + 1) * self.block;
            if next_block - self.at < 4 {
                self.at = next_block;
                continue;
            }
            if self.bytes.len() - self.at < 4 {
                break;
            }
            let len = get_u32(&self.bytes, self.at) as usize;
            if len == 0 {
                self.at = next_block;
                continue;
            }
            if len > most {
                return Err(Error::damaged("log record", ring.start, format!("its length is {len} bytes")));
            }
            let Some(record) = self.bytes.get(self.at + 4..self.at + 4 + len) else { break };
            each(record)?;
            self.at += 4 + len;
        }
        let done = (self.at.min(self.bytes.len())) / self.block * self.block;
        self.bytes.drain(..done);
        self.at -= done;
        Ok(())
    }
}
