//! File contents beside a trace: each blob once, compressed with zstd, indexed by name.
//!
//! A file `FILE.blobs` is the mark `SNB1`, a [seal](parquet_file::seal), the concatenated compressed blobs, an index
//! in ascending order of name (name, offset, compressed and uncompressed size: 20 + 3 × 8 bytes,
//! little-endian), and the number of blobs in 8 bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::labels::BlobId;
use crate::{Error, atomic_file};
use parquet_file::seal;

const MARK: &[u8; 4] = b"SNB1";
/// Bytes per entry of the index.
const ENTRY: u64 = 44;
/// Compression level. Speed matters more than the last percent: every blob of a history is compressed.
const LEVEL: i32 = 3;

/// The position of a blob in the file.
#[derive(Clone, Copy)]
struct BlobPosition {
    offset: u64,
    stored: u64,
    size: u64,
}

/// Writes the blobs of a trace. The file appears only when it is complete.
pub struct BlobPackWriter {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    end: u64,
    index: BTreeMap<BlobId, BlobPosition>,
}

impl BlobPackWriter {
    /// Starts a file that will replace `path`.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let mut file = BufWriter::new(atomic_file::begin(&path)?);
        let written = file.write_all(MARK).and_then(|()| file.write_all(&seal::PLACEHOLDER));
        written.map_err(atomic_file::failed("creating", &path))?;
        Ok(Self { path, file, end: (MARK.len() + seal::PLACEHOLDER.len()) as u64, index: BTreeMap::new() })
    }

    /// Whether `blob` has been added.
    pub fn has(&self, blob: BlobId) -> bool {
        self.index.contains_key(&blob)
    }

    /// Adds a blob unless it has been added before.
    pub fn add(&mut self, blob: BlobId, contents: &[u8]) -> Result<(), Error> {
        if self.has(blob) {
            return Ok(());
        }
        let stored = zstd::bulk::compress(contents, LEVEL);
        let stored = stored.and_then(|stored| self.file.write_all(&stored).map(|()| stored.len() as u64));
        let stored = stored.map_err(atomic_file::failed("writing", &self.path))?;
        self.index.insert(blob, BlobPosition { offset: self.end, stored, size: contents.len() as u64 });
        self.end += stored;
        Ok(())
    }

    /// Writes the index, makes the file durable and renames it to its path.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut index = Vec::new();
        for (blob, place) in &self.index {
            index.extend(blob.0);
            for number in [place.offset, place.stored, place.size] {
                index.extend(number.to_le_bytes());
            }
        }
        index.extend((self.index.len() as u64).to_le_bytes());
        let failed = atomic_file::failed("writing", &self.path);
        self.file.write_all(&index).map_err(&failed)?;
        let temporary = self.file.into_inner().map_err(|e| failed(e.into_error()))?;
        atomic_file::publish(temporary, &self.path)
    }
}

/// The blobs of a trace, read on demand. Only the index is in memory.
pub struct BlobPack {
    file: File,
    index: BTreeMap<BlobId, BlobPosition>,
}

impl BlobPack {
    /// Opens the blobs at `path` and verifies the seal.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = atomic_file::failed("opening", path);
        let file = input::open(path).map_err(&failed)?;
        let mut mark = [0; MARK.len()];
        let marked = file.read_exact_at(&mut mark, 0).is_ok() && mark == *MARK;
        let index = match marked && seal::is_intact(&file).map_err(&failed)? {
            true => read_index(&file).map_err(&failed)?,
            false => None,
        };
        let why = "it is truncated, damaged or from another program; create or fetch it again";
        let index = index.ok_or_else(|| Error::Labels { path: path.into(), why: why.into() })?;
        Ok(Self { file, index })
    }

    /// The contents of a blob, or `None` if the file lacks it.
    pub fn read(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.index.get(&blob) else { return Ok(None) };
        let mut stored = vec![0; place.stored as usize];
        self.file.read_exact_at(&mut stored, place.offset)?;
        zstd::bulk::decompress(&stored, place.size as usize).map(Some)
    }
}

/// Reads the index at the end of a file; `None` if it is invalid.
fn read_index(file: &File) -> io::Result<Option<BTreeMap<BlobId, BlobPosition>>> {
    let length = file.metadata()?.len();
    let start = (MARK.len() + seal::PLACEHOLDER.len()) as u64;
    let mut word = [0; 8];
    if length < start + 8 {
        return Ok(None);
    }
    file.read_exact_at(&mut word, length - 8)?;
    let bytes = u64::from_le_bytes(word).checked_mul(ENTRY).filter(|bytes| *bytes <= length - 8 - start);
    let Some(bytes) = bytes else { return Ok(None) };
    let from = length - 8 - bytes;
    let mut index = vec![0; bytes as usize];
    file.read_exact_at(&mut index, from)?;
    let entries = index.chunks_exact(ENTRY as usize).map(|entry| {
        let number =
            |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("the slice has 8 bytes"));
        let place = BlobPosition { offset: number(20), stored: number(28), size: number(36) };
        let end = place.offset.checked_add(place.stored)?;
        (end <= from).then_some((BlobId(entry[..20].try_into().expect("the slice has 20 bytes")), place))
    });
    Ok(entries.collect())
}
