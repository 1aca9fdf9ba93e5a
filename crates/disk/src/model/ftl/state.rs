//! The state of a translation layer as a file.
//!
//! A header (magic, version, sizes of the flash), counters, the superblocks, the unit in each of their programmed slots, the pages of the
//! table in memory, and the write cache; numbers are little-endian. A SHA-256 of all that is at the end. The table of addresses follows from
//! the units in the slots.

use super::{Ftl, Geometry, Superblock, VictimPolicy};
use sha2::{Digest as _, Sha256};

const MAGIC: &[u8; 8] = b"senesftl";
const VERSION: u32 = 1;
const DIGEST_BYTES: usize = 32;

/// The largest valid counters, which no drive lives to reach.
const COUNT_MAX: u64 = 1 << 56;
const ERASES_MAX: u32 = 1 << 30;

/// Stands for a stream that fills no superblock.
const NONE: u32 = u32::MAX;

impl Ftl {
    /// The state as bytes. [`Ftl::parse`] restores it; a superblock that is partly collected is then one like others.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = header(&self.geometry);
        let words = |words: &[u32], bytes: &mut Vec<u8>| {
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        };
        for counter in [self.host_units, self.flash_units, self.victims] {
            bytes.extend(counter.to_le_bytes());
        }
        words(&self.open.map(|open| open.unwrap_or(NONE)), &mut bytes);
        for superblock in &self.superblocks {
            bytes.extend(superblock.stamp.to_le_bytes());
            words(&[superblock.erases, superblock.written], &mut bytes);
        }
        let full = self.geometry.superblock_units() as usize;
        for (superblock, units) in self.superblocks.iter().zip(self.units.chunks(full)) {
            words(&units[..superblock.written as usize], &mut bytes);
        }
        // Least recently used first, so that they are in the same order again when put back.
        words(&[self.table.pages.len() as u32, self.cached.len() as u32], &mut bytes);
        for (page, changed) in self.table.pages.iter().rev() {
            words(&[*page, u32::from(*changed)], &mut bytes);
        }
        for (unit, ()) in self.cached.iter().rev() {
            words(&[*unit], &mut bytes);
        }
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    /// Restores a state of a drive with this flash. Returns what is wrong with it if it is none.
    pub(crate) fn parse(
        bytes: &[u8],
        geometry: Geometry,
        policy: VictimPolicy,
        wear_gap_max: u32,
    ) -> Result<Ftl, String> {
        let Some((text, digest)) = bytes.split_last_chunk::<DIGEST_BYTES>() else {
            return Err("it is truncated".to_owned());
        };
        if Sha256::digest(text)[..] != digest[..] {
            return Err("checksum mismatch".to_owned());
        }
        let ftl = Ftl::new(geometry, policy, wear_gap_max);
        ftl.filled(text).map_err(|why| why.unwrap_or("it has the wrong length").to_owned())
    }

    /// The state in `text`, without its checksum. An error without a reason is a wrong length.
    fn filled(mut self, text: &[u8]) -> Result<Ftl, Option<&'static str>> {
        let header = header(&self.geometry);
        let Some(rest) = text.strip_prefix(&header[..]) else {
            return Err(Some("it is not the state of a drive with this flash"));
        };
        let mut from = Reader(rest);
        [self.host_units, self.flash_units, self.victims] = [from.long()?, from.long()?, from.long()?];
        if [self.host_units, self.flash_units, self.victims].iter().any(|count| *count > COUNT_MAX) {
            return Err(Some("a counter is out of range"));
        }
        self.open = [from.word()?, from.word()?].map(|open| (open != NONE).then_some(open));
        let Geometry { units, table_pages, superblocks, .. } = self.geometry;
        let full = self.geometry.superblock_units();
        for superblock in &mut self.superblocks {
            *superblock =
                Superblock { stamp: from.long()?, erases: from.word()?, written: from.word()?, valid: 0 };
        }
        if self.open.iter().flatten().any(|open| *open >= superblocks)
            || (self.open[0].is_some() && self.open[0] == self.open[1])
        {
            return Err(Some("it fills a superblock that does not exist, or one twice"));
        }
        for index in 0..superblocks {
            let Superblock { written, stamp, erases, .. } = self.superblocks[index as usize];
            let is_open = self.open.contains(&Some(index));
            let sound = if is_open { written < full } else { written == 0 || written == full };
            if !sound || stamp > self.host_units || erases > ERASES_MAX {
                return Err(Some("a superblock is neither erased, being filled nor full"));
            }
            self.free -= u32::from(is_open || written > 0);
            for slot in index * full..index * full + written {
                let Some(unit) = from.word()?.checked_sub(1) else { continue };
                match self.slots.get_mut(unit as usize) {
                    Some(place) if *place == 0 => *place = slot + 1,
                    Some(_) => return Err(Some("a unit is in two places")),
                    None => return Err(Some("a slot has a unit beyond the end of the disk")),
                }
                self.units[slot as usize] = unit + 1;
                self.superblocks[index as usize].valid += 1;
            }
        }
        if self.free == 0 {
            return Err(Some("garbage collection has no superblock left"));
        }
        let (in_memory, cached) = (from.word()?, from.word()?);
        for _ in 0..in_memory {
            let (page, changed) = (from.word()?, from.word()?);
            if page >= table_pages || changed > 1 || self.table.pages.put(page, changed == 1).is_some() {
                return Err(Some("its address table is not that of the disk"));
            }
        }
        for _ in 0..cached {
            let unit = from.word()?;
            if unit >= units || self.cached.put(unit, ()).is_some() {
                return Err(Some("its write cache is not that of the disk"));
            }
        }
        if from.0.is_empty() { Ok(self) } else { Err(None) }
    }
}

fn header(geometry: &Geometry) -> Vec<u8> {
    let Geometry { unit_bytes, units, table_pages, table_page_units, table_pages_cached, .. } = *geometry;
    let Geometry { dies, page_units, rows, superblocks, .. } = *geometry;
    let sizes =
        [units, table_pages, table_page_units, table_pages_cached, dies, page_units, rows, superblocks];
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(unit_bytes.to_le_bytes());
    header.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
    header
}

/// Takes numbers from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Option<&'static str>> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(None)?;
        self.0 = rest;
        Ok(*first)
    }

    fn word(&mut self) -> Result<u32, Option<&'static str>> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Result<u64, Option<&'static str>> {
        self.take().map(u64::from_le_bytes)
    }
}
