//! The superblock, stored twice; it points to everything else.

use crate::aligned::Aligned;
use crate::codec::{Reader, get_u32, get_u64, set_u32, set_u64};
use crate::error::{Error, Result};
use crate::node_format::Layout;
use crate::params::Params;
use crate::pointer::Pointer;
use crate::storage::Storage;
use crate::sum::{Uuid, sum};
use crate::tree::LEVELS;

const MAGIC: &[u8; 8] = b"SNSCBETR";
/// The format version written.
pub(crate) const VERSION: u32 = 1;
const BYTES: usize = 512;
const SPREAD: u64 = 4096;

/// See `FORMAT.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// Whether the store was closed, with an empty log.
    pub closed: bool,
    pub uuid: Uuid,
    pub image_bytes: u64,
    pub params: Params,
    pub log_start: u64,
    pub area: (u64, u64),
    pub generation: u64,
    pub tail: u64,
    pub epoch: u32,
    pub next_birth: u64,
    pub root: Pointer,
    pub map: Pointer,
    pub buffered: u64,
    pub inner: u64,
    pub counters: Counters,
}

/// Bytes written since the store was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Keys and values from users.
    pub given: u64,
    pub log: u64,
    /// Maps and superblocks.
    pub frame: u64,
    pub nodes: [u64; LEVELS],
}

impl Superblock {
    pub fn layout(&self) -> Layout {
        Layout { params: self.params, uuid: self.uuid, area: self.area }
    }

    /// The address of a generation.
    fn place(generation: u64) -> u64 {
        generation % 2 * SPREAD
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out[..8].copy_from_slice(MAGIC);
        set_u32(&mut out, 8, VERSION);
        set_u32(&mut out, 12, u32::from(self.closed));
        out[16..32].copy_from_slice(&self.uuid);
        set_u64(&mut out, 32, self.image_bytes);
        let params = &self.params;
        let sizes = [params.block_bytes, params.node_bytes, params.basement_bytes, params.fanout];
        sizes.iter().enumerate().for_each(|(i, n)| set_u32(&mut out, 40 + 4 * i, *n));
        let places = [self.log_start, params.log_bytes, self.area.0, self.area.1, self.generation, self.tail];
        places.iter().enumerate().for_each(|(i, n)| set_u64(&mut out, 56 + 8 * i, *n));
        set_u32(&mut out, 104, self.epoch);
        set_u64(&mut out, 112, self.next_birth);
        let mut pointers = Vec::with_capacity(80);
        self.root.put(&mut pointers);
        self.map.put(&mut pointers);
        out[120..200].copy_from_slice(&pointers);
        let counters = &self.counters;
        let numbers = [self.buffered, counters.given, counters.log, counters.frame];
        numbers
            .iter()
            .chain(&counters.nodes)
            .enumerate()
            .for_each(|(i, n)| set_u64(&mut out, 200 + 8 * i, *n));
        set_u64(&mut out, 360, self.inner);
        let sum = sum(Self::place(self.generation), &out[..BYTES - 8]);
        set_u64(&mut out, BYTES - 8, sum);
        out
    }

    /// Decodes the copy in `bytes`, at address `at`, whose sum is correct.
    fn decode(bytes: &[u8], at: u64) -> Result<Self> {
        let wrong = |why: &str| Error::damaged("superblock", at, why);
        let mut reader = Reader::new(&bytes[12..BYTES - 8], "superblock", at);
        let closed = match reader.u32()? {
            0 => false,
            1 => true,
            _ => return Err(wrong("its state is invalid")),
        };
        let uuid = reader.take(16)?.try_into().expect("16 bytes");
        let image_bytes = reader.u64()?;
        let mut params = Params {
            block_bytes: reader.u32()?,
            node_bytes: reader.u32()?,
            basement_bytes: reader.u32()?,
            fanout: reader.u32()?,
            log_bytes: 0,
        };
        let log_start = reader.u64()?;
        params.log_bytes = reader.u64()?;
        let area = (reader.u64()?, reader.u64()?);
        let right = params.area(image_bytes).map_err(|_| wrong("its sizes are invalid for a store"))?;
        if area != right || log_start != crate::params::SUPER_AREA {
            return Err(wrong("its positions do not match its sizes"));
        }
        let (generation, tail) = (reader.u64()?, reader.u64()?);
        let epoch = reader.u32()?;
        reader.u32()?;
        let next_birth = reader.u64()?;
        let root = Pointer::get(&mut reader, &params, area)?;
        let map = Pointer::get(&mut reader, &params, area)?;
        let buffered = reader.u64()?;
        let mut counters =
            Counters { given: reader.u64()?, log: reader.u64()?, frame: reader.u64()?, nodes: [0; LEVELS] };
        for level in &mut counters.nodes {
            *level = reader.u64()?;
        }
        let inner = reader.u64()?;
        let sectors_per_block = u64::from(params.block_bytes) / 512;
        if map.level != Pointer::MAP
            || !tail.is_multiple_of(sectors_per_block)
            || Self::place(generation) != at
        {
            return Err(wrong("its numbers are inconsistent"));
        }
        Ok(Self {
            closed,
            uuid,
            image_bytes,
            params,
            log_start,
            area,
            generation,
            tail,
            epoch,
            next_birth,
            root,
            map,
            buffered,
            inner,
            counters,
        })
    }

    /// Writes the superblock to the address of its generation, without a flush.
    pub fn write(&self, storage: &dyn Storage) -> Result<()> {
        let mut block = Aligned::zeroed(SPREAD as usize);
        block[..BYTES].copy_from_slice(&self.encode());
        let at = Self::place(self.generation);
        storage.write_at(&block, at).map_err(|e| Error::io("writing a superblock of", at, block.len(), &e))
    }

    /// Reads both copies, which must be valid, and returns the one of the later generation.
    pub fn read(storage: &dyn Storage) -> Result<Self> {
        let len = storage.len().map_err(|e| Error::io("measuring the image, reading", 0, 0, &e))?;
        if len < 2 * SPREAD {
            return Err(Error::Foreign(format!("it has {len} bytes, less than two superblocks")));
        }
        let mut area = Aligned::zeroed(2 * SPREAD as usize);
        storage.read_at(&mut area, 0).map_err(|e| Error::io("reading", 0, area.len(), &e))?;
        let copies = [&area[..BYTES], &area[SPREAD as usize..SPREAD as usize + BYTES]];
        if copies.iter().all(|copy| &copy[..8] != MAGIC) {
            return Err(Error::Foreign("its magic number does not match".into()));
        }
        let mut found: Vec<Self> = Vec::new();
        for (i, copy) in copies.into_iter().enumerate() {
            let at = i as u64 * SPREAD;
            if sum(at, &copy[..BYTES - 8]) != get_u64(copy, BYTES - 8) || &copy[..8] != MAGIC {
                return Err(Error::damaged("superblock", at, "checksum mismatch"));
            }
            let version = get_u32(copy, 8);
            if version > VERSION {
                return Err(Error::NewerVersion { found: version, known: VERSION });
            }
            found.push(Self::decode(copy, at)?);
        }
        let [first, second] = [found[0], found[1]];
        if first.uuid != second.uuid
            || first.params != second.params
            || first.image_bytes != second.image_bytes
        {
            return Err(Error::damaged("superblock", 0, "its copies are of two stores"));
        }
        let newer = if first.generation > second.generation { first } else { second };
        if len < newer.image_bytes {
            return Err(Error::Truncated { expected: newer.image_bytes, found: len });
        }
        let padding =
            (BYTES..SPREAD as usize).chain(SPREAD as usize + BYTES..area.len()).find(|i| area[*i] != 0);
        match padding {
            Some(at) => Err(Error::damaged("padding of a superblock", at as u64, "it is not zero")),
            None => Ok(newer),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::storage::MemoryStorage;
    use crate::store::Store;

    #[test]
    fn newer_version_is_refused_regardless_of_other_fields() {
        let disk = MemoryStorage::new(4 << 20);
        Store::create(&disk, Params::for_image(4 << 20)).unwrap();
        let mut image = disk.image();
        for at in [0, SPREAD as usize] {
            image[at + 8] = 9;
            image[at + 16..at + BYTES - 8].fill(0xa5);
            let right = sum(at as u64, &image[at..at + BYTES - 8]);
            set_u64(&mut image, at + BYTES - 8, right);
        }
        let disk = Arc::new(MemoryStorage::of(image));
        let error = Store::open(disk.clone(), crate::Options::default()).err().unwrap();
        assert!(matches!(error, Error::NewerVersion { found: 9, known: 1 }), "{error}");
        assert!(matches!(crate::check(disk).unwrap_err(), Error::NewerVersion { .. }));
    }
}
