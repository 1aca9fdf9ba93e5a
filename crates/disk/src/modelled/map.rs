//! Chunk maps: which chunk of the data file holds which part of the disk.
//!
//! A map file has a header of 24 bytes (magic, version, bytes of a chunk, number of entries; little-endian) and one entry of four bytes for
//! each part of the disk, in order: 0 for a part that was never written or was discarded, otherwise the number of its chunk, from 1. A map
//! never lists a chunk twice. A snapshot is a map with a SHA-256 of its contents behind the last entry; the active map has none, because
//! its entries change in place, one at a time.

use crate::error::{Error, IoContext};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: &[u8; 8] = b"senesmap";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 4;
const DIGEST_BYTES: usize = 32;

/// The entry of a part of the disk without data.
pub const HOLE: u32 = 0;

/// The active map.
#[derive(Debug)]
pub struct ChunkMap {
    file: File,
    entries: Vec<u32>,
}

impl ChunkMap {
    /// Atomically writes a map with these entries to `path`, replacing an existing one, and opens it. It is on the host's disk after
    /// [`Self::sync`].
    pub fn create(path: &Path, entries: Vec<u32>) -> Result<ChunkMap, Error> {
        put(path, &bytes(&entries), |_| Ok(())).context("writing the chunk map", path)?;
        let file = File::options().read(true).write(true).open(path).context("opening", path)?;
        Ok(ChunkMap { file, entries })
    }

    /// Opens the map at `path`, which must have `parts` entries.
    pub fn open(path: &Path, parts: usize) -> Result<ChunkMap, Error> {
        let file =
            File::options().read(true).write(true).open(path).context("opening the chunk map", path)?;
        let text = input::read(path).context("reading the chunk map", path)?;
        let entries = parse(&text, parts).map_err(|why| damaged(path, &why))?;
        Ok(ChunkMap { file, entries })
    }

    /// The chunk of each part.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Sets the chunk of a part.
    pub fn set(&mut self, part: usize, chunk: u32) -> io::Result<()> {
        self.file.write_all_at(&chunk.to_le_bytes(), (HEADER_BYTES + part * ENTRY_BYTES) as u64)?;
        self.entries[part] = chunk;
        Ok(())
    }

    /// Syncs the map to the host's disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Writes a snapshot atomically.
pub fn write_snapshot(path: &Path, entries: &[u32]) -> Result<(), Error> {
    let mut bytes = bytes(entries);
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    put(path, &bytes, File::sync_all).and_then(|()| sync_dir_of(path)).context("writing the snapshot", path)
}

/// Reads a snapshot of a disk of `parts` parts.
pub fn read_snapshot(path: &Path, parts: usize) -> Result<Vec<u32>, Error> {
    let text = input::read(path).context("reading the snapshot", path)?;
    parse_snapshot(&text, parts).map_err(|why| damaged(path, &why))
}

fn parse_snapshot(text: &[u8], parts: usize) -> Result<Vec<u32>, String> {
    let Some((map, digest)) = text.split_last_chunk::<DIGEST_BYTES>() else {
        return Err("it is truncated".to_owned());
    };
    if Sha256::digest(map)[..] != digest[..] {
        return Err("checksum mismatch".to_owned());
    }
    parse(map, parts)
}

fn parse(text: &[u8], parts: usize) -> Result<Vec<u32>, String> {
    if text.len() < HEADER_BYTES || text[..HEADER_BYTES] != header(parts) {
        return Err("it does not start with the header of a chunk map".to_owned());
    }
    let (entries, rest) = text[HEADER_BYTES..].as_chunks::<ENTRY_BYTES>();
    if entries.len() != parts || !rest.is_empty() {
        return Err(format!("it has {} bytes instead of {}", text.len(), HEADER_BYTES + parts * ENTRY_BYTES));
    }
    let entries: Vec<u32> = entries.iter().map(|entry| u32::from_le_bytes(*entry)).collect();
    let mut chunks: Vec<u32> = entries.iter().copied().filter(|chunk| *chunk != HOLE).collect();
    chunks.sort_unstable();
    match chunks.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("chunk {} is listed twice", pair[0])),
        None => Ok(entries),
    }
}

fn header(parts: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&(super::CHUNK_BYTES as u32).to_le_bytes());
    header[16..].copy_from_slice(&(parts as u64).to_le_bytes());
    header
}

fn bytes(entries: &[u32]) -> Vec<u8> {
    let mut bytes = header(entries.len()).to_vec();
    bytes.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
    bytes
}

/// Replaces a file atomically. `finish` is applied to the new file before it takes the name.
pub(super) fn put(path: &Path, bytes: &[u8], finish: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    let written =
        file.write_all(bytes).and_then(|()| finish(&file)).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// Syncs the directory of a file to the host's disk.
pub fn sync_dir_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
}

fn damaged(path: &Path, why: &str) -> Error {
    let why = format!("{} is damaged: {why}; create a new disk", path.display());
    Error::Store { dir: path.parent().unwrap_or(path).to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Vec<u32>> {
        Just((0..40).collect::<Vec<u32>>()).prop_shuffle()
    }

    proptest! {
        #[test]
        fn snapshots_round_trip(entries in entries()) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s");
            write_snapshot(&path, &entries).unwrap();
            prop_assert_eq!(read_snapshot(&path, entries.len()).unwrap(), entries.clone());
            prop_assert!(read_snapshot(&path, entries.len() + 1).is_err());
        }

        #[test]
        fn damaged_snapshot_is_an_error(entries in entries(), at in 0usize..216, bit in 0u8..8) {
            let mut text = bytes(&entries);
            let digest = Sha256::digest(&text);
            text.extend_from_slice(&digest);
            prop_assert!(parse_snapshot(&text, entries.len()).is_ok());
            text[at] ^= 1u8 << bit;
            prop_assert!(parse_snapshot(&text, entries.len()).is_err());
        }

        #[test]
        fn duplicate_chunk_is_an_error(mut entries in entries(), a in 0usize..40, b in 0usize..40) {
            prop_assume!(a != b && entries[a] != HOLE);
            entries[b] = entries[a];
            prop_assert!(parse(&bytes(&entries), 40).is_err());
        }

        #[test]
        fn arbitrary_file_is_an_error(text in prop::collection::vec(any::<u8>(), 0..200), parts in 0usize..50) {
            prop_assert!(parse(&text, parts).is_err());
            prop_assert!(parse_snapshot(&text, parts).is_err());
        }
    }
}
