//! The data file of a store: chunks with reference counts, one reference per map or unflushed write. A chunk without references is free at
//! once; its space is released later, a little at a time, because that can take a file system long.
//!
//! Reads go through a memory mapping, so that the server passes bytes from the page cache to the kernel without copying them. Writes use
//! `pwrite`, which reports a full backing store as an error; a mapping would raise a signal. For the same reason a chunk has all its space
//! allocated, and its pages are populated, before it is read.
//!
//! On a file system without `fallocate`, as the files of the host are in a virtual machine, space is allocated by writing zeros, and free
//! chunks keep theirs.

use super::CHUNK_BYTES;
use super::map::HOLE;
use crate::error::{Error, IoContext};
use memmap2::{Advice, Mmap, MmapOptions};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The data file grows by this fraction of the disk to make room for chunks changed after a snapshot.
const GROW_SHARE: usize = 8;

/// The data file grows by at least this number of chunks.
const GROW_MIN: usize = 1024;

/// The maximum number of adjacent chunks released at a time: 64 MiB.
const RECLAIM_MAX: u32 = 1024;

/// The data file.
#[derive(Debug)]
pub struct Chunks {
    file: File,
    mapping: Mmap,
    /// Reference count of chunk `n`, at index `n - 1`.
    users: Vec<u16>,
    /// Free chunks that may still have space allocated, with stale contents.
    reclaimable: BTreeSet<u32>,
    /// The number of chunks of the disk itself.
    parts: usize,
    /// The index at which the search for a free chunk beyond those starts.
    cursor: usize,
    /// Whether the file system can allocate and release space.
    has_fallocate: bool,
}

impl Chunks {
    /// Creates the data file of a disk of `parts` parts; it takes no space yet.
    pub fn create(path: &Path, parts: usize) -> Result<(), Error> {
        let file = File::create_new(path).context("creating", path)?;
        file.set_len((parts * CHUNK_BYTES) as u64).context("sizing", path)
    }

    /// Restores the length that a disk of `parts` parts needs after a system crash. The parts of the file that snapshots use were synced
    /// before the crash.
    pub fn repair(path: &Path, parts: usize) -> Result<(), Error> {
        let file = File::options().write(true).open(path).context("opening", path)?;
        let len = file.metadata().context("checking", path)?.len() as usize;
        let whole = len.next_multiple_of(CHUNK_BYTES).max(parts * CHUNK_BYTES);
        file.set_len(whole as u64).context("sizing", path)
    }

    /// Opens the data file with the maps that use it, and frees the chunks that no map uses.
    pub fn open(path: &Path, parts: usize, maps: &[&[u32]]) -> Result<Chunks, Error> {
        let file = File::options().read(true).write(true).open(path).context("opening", path)?;
        let len = file.metadata().context("checking", path)?.len() as usize;
        let wrong = |why: String| Error::Store { dir: path.parent().unwrap_or(path).to_owned(), why };
        if len < parts * CHUNK_BYTES || !len.is_multiple_of(CHUNK_BYTES) {
            return Err(wrong(format!(
                "its data has {len} bytes, which does not fit a disk of this size; create a new disk"
            )));
        }
        let users = vec![0; len / CHUNK_BYTES];
        let mapping = map(&file, len).context("mapping", path)?;
        let reclaimable = BTreeSet::new();
        let has_fallocate = has_fallocate(&file).context("allocating space of", path)?;
        let mut chunks = Chunks { file, mapping, users, reclaimable, parts, cursor: parts, has_fallocate };
        for chunk in maps.iter().copied().flatten().filter(|chunk| **chunk != HOLE) {
            let Some(users) = chunks.users.get_mut(*chunk as usize - 1) else {
                return Err(wrong(format!(
                    "a map names chunk {chunk}, which does not exist; create a new disk"
                )));
            };
            *users += 1;
        }
        chunks.punch_unused().context("freeing unused chunks of", path)?;
        Ok(chunks)
    }

    /// Another handle of the data file.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Finds a free chunk and gives it one reference. Part `n` of the disk gets chunk `n + 1` if possible, so that sequential reads are
    /// sequential in the mapping.
    pub fn allocate(&mut self, part: usize) -> io::Result<u32> {
        // Prefers a chunk that still has its space allocated.
        let reclaimable =
            || self.reclaimable.range(self.parts as u32 + 1..).next().map(|chunk| *chunk as usize - 1);
        let index = match self.users[part] {
            0 => part,
            _ => reclaimable().map_or_else(|| self.beyond(), Ok)?,
        };
        self.users[index] = 1;
        Ok(index as u32 + 1)
    }

    /// Finds a free chunk beyond the preferred chunks of the parts.
    fn beyond(&mut self) -> io::Result<usize> {
        let free = |users: &u16| *users == 0;
        let found = self.users[self.cursor..].iter().position(free).map(|i| self.cursor + i);
        let found = found.or_else(|| self.users[self.parts..].iter().position(free).map(|i| self.parts + i));
        let index = match found {
            Some(index) => index,
            None => {
                let index = self.users.len();
                let chunks = index + GROW_MIN.max(self.parts / GROW_SHARE);
                self.file.set_len((chunks * CHUNK_BYTES) as u64)?;
                self.mapping = map(&self.file, chunks * CHUNK_BYTES)?;
                self.users.resize(chunks, 0);
                index
            }
        };
        self.cursor = index + 1;
        Ok(index)
    }

    /// Allocates the space of a chunk, filled with zeros.
    pub fn reserve(&mut self, chunk: u32) -> io::Result<()> {
        let range = bytes_of(chunk);
        let stale = self.reclaimable.remove(&chunk);
        if !self.has_fallocate {
            return self.file.write_all_at(&[0; CHUNK_BYTES], range.start as u64);
        }
        if stale {
            self.punch(chunk, 1)?;
        }
        Ok(fallocate(&self.file, FallocateFlags::KEEP_SIZE, range.start as u64, CHUNK_BYTES as u64)?)
    }

    /// Writes into a chunk with allocated space, or writes a complete chunk.
    pub fn write(&mut self, chunk: u32, at: usize, data: &[u8]) -> io::Result<()> {
        debug_assert!(at + data.len() <= CHUNK_BYTES);
        self.reclaimable.remove(&chunk);
        self.file.write_all_at(data, (bytes_of(chunk).start + at) as u64)
    }

    /// Copies a complete chunk into another.
    pub fn copy(&mut self, from: u32, to: u32) -> io::Result<()> {
        self.reclaimable.remove(&to);
        let data = self.read(from, 0, CHUNK_BYTES)?;
        self.file.write_all_at(data, bytes_of(to).start as u64)
    }

    /// Reads `len` bytes at offset `at` of `chunk`; the range may extend into the chunks that follow it in the file.
    pub fn read(&self, chunk: u32, at: usize, len: usize) -> io::Result<&[u8]> {
        let start = bytes_of(chunk).start + at;
        // A read error must be reported here, not as a signal or a missing response later.
        match self.mapping.advise_range(Advice::PopulateRead, start, len) {
            // Linux before 5.14 does not support it.
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => Err(io::Error::from_raw_os_error(libc::EIO)),
            _ => Ok(&self.mapping[start..start + len]),
        }
    }

    /// Whether the chunk has several references and therefore must not change.
    pub fn shared(&self, chunk: u32) -> bool {
        self.users[chunk as usize - 1] > 1
    }

    /// Adds a reference to each chunk of a map.
    pub fn share(&mut self, map: &[u32]) {
        map.iter().filter(|chunk| **chunk != HOLE).for_each(|chunk| self.users[*chunk as usize - 1] += 1);
    }

    /// Drops a reference of each of these chunks; a chunk without references is free.
    pub fn release(&mut self, chunks: impl IntoIterator<Item = u32>) {
        for chunk in chunks.into_iter().filter(|chunk| *chunk != HOLE) {
            let users = &mut self.users[chunk as usize - 1];
            *users -= 1;
            if *users == 0 {
                self.reclaimable.insert(chunk);
            }
        }
    }

    /// Releases the space of a run of adjacent free chunks; false if there are none.
    pub fn reclaim(&mut self) -> io::Result<bool> {
        let Some(first) = self.reclaimable.first().copied().filter(|_| self.has_fallocate) else {
            return Ok(false);
        };
        let in_row = (first..).zip(&self.reclaimable).take_while(|(row, chunk)| row == *chunk);
        let count = in_row.take(RECLAIM_MAX as usize).count() as u32;
        self.punch(first, count)?;
        self.reclaimable = self.reclaimable.split_off(&(first + count));
        Ok(true)
    }

    /// Releases the space of all free chunks; false if there are none.
    pub fn reclaim_all(&mut self) -> io::Result<bool> {
        let any = self.reclaim()?;
        while self.reclaim()? {}
        Ok(any)
    }

    /// Releases the space of all chunks without references.
    fn punch_unused(&self) -> io::Result<()> {
        if !self.has_fallocate {
            return Ok(());
        }
        let mut first = 1;
        for run in self.users.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
            let count = run.len() as u32;
            if run[0] == 0 {
                self.punch(first, count)?;
            }
            first += count;
        }
        Ok(())
    }

    /// Releases the space of `count` chunks from `first` on.
    fn punch(&self, first: u32, count: u32) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let len = u64::from(count) * CHUNK_BYTES as u64;
        Ok(fallocate(&self.file, flags, bytes_of(first).start as u64, len)?)
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        (self.users.iter().filter(|users| **users > 0).count() * CHUNK_BYTES) as u64
    }

    /// Syncs the data file to the host's disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Whether the file system of `file` can allocate and release space.
fn has_fallocate(file: &File) -> io::Result<bool> {
    // Releases what is behind the end, where nothing is.
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, flags, file.metadata()?.len(), CHUNK_BYTES as u64) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

fn bytes_of(chunk: u32) -> Range<usize> {
    let start = (chunk as usize - 1) * CHUNK_BYTES;
    start..start + CHUNK_BYTES
}

fn map(file: &File, len: usize) -> io::Result<Mmap> {
    // SAFETY: the store is locked, so no other senesce process writes to or truncates the file; this process writes only while it has
    // exclusive access to the store, when no slice of the mapping is borrowed.
    let mapping = unsafe { MmapOptions::new().len(len).map(file) }?;
    // The server locks its memory, but a disk may be larger than memory.
    mapping.unlock()?;
    Ok(mapping)
}
