//! Contents of files beside a trace: every blob once, compressed with zstd, found by what it is called.
//!
//! A file `FILE.blobs` is the mark `SNB1`, a [seal](parquet_file::seal), the compressed blobs one behind the other, an index
//! of them in ascending order of name (name, offset, compressed and uncompressed size: 20 + 3 × 8 bytes,
//! little-endian), and the number of blobs in 8 bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::labels::BlobId;
use crate::{Error, whole};
use parquet_file::seal;

const MARK: &[u8; 4] = b"SNB1";
/// Bytes of an entry of the index.
const ENTRY: u64 = 44;
/// Speed counts more than the last percent: writing a history compresses each of its blobs.
const LEVEL: i32 = 3;

/// Where a blob is in the file.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    stored: u64,
    size: u64,
}

/// Writes the blobs of a trace. The file gets its name only when it is whole.
pub struct BlobPackWriter {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    end: u64,
    index: BTreeMap<BlobId, Place>,
}

impl BlobPackWriter {
    /// Starts a file that will be `path`, and will replace what is there.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let mut file = BufWriter::new(whole::begin(&path)?);
        let written = file.write_all(MARK).and_then(|()| file.write_all(&seal::BLANK));
        written.map_err(whole::failed("creating", &path))?;
        Ok(Self { path, file, end: (MARK.len() + seal::BLANK.len()) as u64, index: BTreeMap::new() })
    }

    /// Whether `blob` is there already.
    pub fn has(&self, blob: BlobId) -> bool {
        self.index.contains_key(&blob)
    }

    /// Adds a blob, unless it is there already.
    pub fn add(&mut self, blob: BlobId, contents: &[u8]) -> Result<(), Error> {
        if self.has(blob) {
            return Ok(());
        }
        let stored = zstd::bulk::compress(contents, LEVEL);
        let stored = stored.and_then(|stored| self.file.write_all(&stored).map(|()| stored.len() as u64));
        let stored = stored.map_err(whole::failed("writing", &self.path))?;
        self.index.insert(blob, Place { offset: self.end, stored, size: contents.len() as u64 });
        self.end += stored;
        Ok(())
    }

    /// Writes the index, makes the file durable and gives it its name.
    pub fn finish(mut self) -> Result<(), Error> {
        let mut index = Vec::new();
        for (blob, place) in &self.index {
            index.extend(blob.0);
            for number in [place.offset, place.stored, place.size] {
                index.extend(number.to_le_bytes());
            }
        }
        index.extend((self.index.len() as u64).to_le_bytes());
        let failed = whole::failed("writing", &self.path);
        self.file.write_all(&index).map_err(&failed)?;
        let temporary = self.file.into_inner().map_err(|e| failed(e.into_error()))?;
        whole::publish(temporary, &self.path)
    }
}

/// The blobs beside a trace, read one at a time. Its memory is the index.
pub struct BlobPack {
    file: File,
    index: BTreeMap<BlobId, Place>,
}

impl BlobPack {
    /// Opens the blobs at `path` and checks that they are whole.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = whole::failed("opening", path);
        let file = input::open(path).map_err(&failed)?;
        let mut mark = [0; MARK.len()];
        let marked = file.read_exact_at(&mut mark, 0).is_ok() && mark == *MARK;
        let index = match marked && seal::is_whole(&file).map_err(&failed)? {
            true => read_index(&file).map_err(&failed)?,
            false => None,
        };
        let why = "it is truncated, damaged or from another program; create or fetch it again";
        let index = index.ok_or_else(|| Error::Labels { path: path.into(), why: why.into() })?;
        Ok(Self { file, index })
    }

    /// The contents of a blob, or `None` if it is not here.
    pub fn read(&self, blob: BlobId) -> io::Result<Option<Vec<u8>>> {
        let Some(place) = self.index.get(&blob) else { return Ok(None) };
        let mut stored = vec![0; place.stored as usize];
        self.file.read_exact_at(&mut stored, place.offset)?;
        zstd::bulk::decompress(&stored, place.size as usize).map(Some)
    }
}

/// Reads the index at the end of a file, or nothing if there is none that fits.
fn read_index(file: &File) -> io::Result<Option<BTreeMap<BlobId, Place>>> {
    let length = file.metadata()?.len();
    let start = (MARK.len() + seal::BLANK.len()) as u64;
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
        let number = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("it has 8 bytes"));
        let place = Place { offset: number(20), stored: number(28), size: number(36) };
        let end = place.offset.checked_add(place.stored)?;
        (end <= from).then_some((BlobId(entry[..20].try_into().expect("it has 20 bytes")), place))
    });
    Ok(entries.collect())
}
