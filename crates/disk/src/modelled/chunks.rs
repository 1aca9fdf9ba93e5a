//! The data file of a store: chunks, counted by how many maps and unflushed writes need each. What nothing needs
//! takes no space.
//!
//! Reads go through a mapping, so that bytes travel from the page cache to the kernel without a copy of ours.
//! Writes go through `pwrite`, which says when the backing store is full; through a mapping that would be a signal.
//! For the same reason a chunk has all its space before anything is read from it.

use super::CHUNK_BYTES;
use super::map::HOLE;
use crate::error::{Error, IoContext};
use memmap2::{Mmap, MmapOptions};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The data file grows by this share of the disk, for chunks that were changed after a snapshot.
const GROW_SHARE: usize = 8;

/// And by at least so many chunks.
const GROW_LEAST: usize = 1024;

/// The data file.
#[derive(Debug)]
pub struct Chunks {
    file: File,
    mapping: Mmap,
    /// Users of chunk `n`, at `n - 1`.
    users: Vec<u16>,
    /// How many chunks the disk itself has.
    parts: usize,
    /// Where the search for a free chunk beyond those begins.
    cursor: usize,
}

impl Chunks {
    /// Makes the data file of a disk of so many parts; it takes no space yet.
    pub fn create(path: &Path, parts: usize) -> Result<(), Error> {
        let file = File::create_new(path).context("creating", path)?;
        file.set_len((parts * CHUNK_BYTES) as u64).context("sizing", path)
    }

    /// Opens the data file with the maps that use it, and frees what none of them does.
    pub fn open(path: &Path, parts: usize, maps: &[&[u32]]) -> Result<Chunks, Error> {
        let file = File::options().read(true).write(true).open(path).context("opening", path)?;
        let len = file.metadata().context("looking at", path)?.len() as usize;
        let wrong = |why: String| Error::Store { dir: path.parent().unwrap_or(path).to_owned(), why };
        if len < parts * CHUNK_BYTES || !len.is_multiple_of(CHUNK_BYTES) {
            return Err(wrong(format!(
                "its data has {len} bytes, which fits no disk of this size; make a new disk"
            )));
        }
        let users = vec![0; len / CHUNK_BYTES];
        let mapping = map(&file, len).context("mapping", path)?;
        let mut chunks = Chunks { file, mapping, users, parts, cursor: parts };
        for chunk in maps.iter().copied().flatten().filter(|chunk| **chunk != HOLE) {
            let Some(users) = chunks.users.get_mut(*chunk as usize - 1) else {
                return Err(wrong(format!("a map names chunk {chunk}, which is not there; make a new disk")));
            };
            *users += 1;
        }
        let free = (1..=chunks.users.len() as u32).filter(|chunk| chunks.users[*chunk as usize - 1] == 0);
        punch_all(&chunks.file, free).context("freeing unused chunks of", path)?;
        Ok(chunks)
    }

    /// Finds a free chunk and gives it one user. Part `n` of the disk gets chunk `n + 1` if it can, so that what is
    /// read in sequence is mapped in sequence.
    pub fn take(&mut self, part: usize) -> io::Result<u32> {
        let index = if self.users[part] == 0 { part } else { self.beyond()? };
        self.users[index] = 1;
        Ok(index as u32 + 1)
    }

    /// A free chunk beyond those that parts of the disk come to first.
    fn beyond(&mut self) -> io::Result<usize> {
        let free = |users: &u16| *users == 0;
        let found = self.users[self.cursor..].iter().position(free).map(|i| self.cursor + i);
        let found = found.or_else(|| self.users[self.parts..].iter().position(free).map(|i| self.parts + i));
        let index = match found {
            Some(index) => index,
            None => {
                let index = self.users.len();
                let chunks = index + GROW_LEAST.max(self.parts / GROW_SHARE);
                self.file.set_len((chunks * CHUNK_BYTES) as u64)?;
                self.mapping = map(&self.file, chunks * CHUNK_BYTES)?;
                self.users.resize(chunks, 0);
                index
            }
        };
        self.cursor = index + 1;
        Ok(index)
    }

    /// Gives all of a chunk its space, as zeros.
    pub fn reserve(&self, chunk: u32) -> io::Result<()> {
        let range = bytes_of(chunk);
        Ok(fallocate(&self.file, FallocateFlags::KEEP_SIZE, range.start as u64, CHUNK_BYTES as u64)?)
    }

    /// Writes into a chunk.
    pub fn write(&self, chunk: u32, at: usize, data: &[u8]) -> io::Result<()> {
        debug_assert!(at + data.len() <= CHUNK_BYTES);
        self.file.write_all_at(data, (bytes_of(chunk).start + at) as u64)
    }

    /// What is in `len` bytes from `at` in `chunk` on; they may go on in the chunks that follow it in the file.
    pub fn read(&self, chunk: u32, at: usize, len: usize) -> &[u8] {
        let start = bytes_of(chunk).start + at;
        &self.mapping[start..start + len]
    }

    /// Whether more than one map needs the chunk, so that it must not change.
    pub fn shared(&self, chunk: u32) -> bool {
        self.users[chunk as usize - 1] > 1
    }

    /// One user more for each chunk of a map.
    pub fn share(&mut self, map: &[u32]) {
        map.iter().filter(|chunk| **chunk != HOLE).for_each(|chunk| self.users[*chunk as usize - 1] += 1);
    }

    /// One user less for each of these; those that had one only are freed.
    pub fn release(&mut self, chunks: impl IntoIterator<Item = u32>) -> io::Result<()> {
        let users = &mut self.users;
        let unused = chunks.into_iter().filter(|chunk| *chunk != HOLE).filter(|chunk| {
            let users = &mut users[*chunk as usize - 1];
            *users -= 1;
            *users == 0
        });
        punch_all(&self.file, unused)
    }

    /// Bytes that are in use.
    pub fn used_bytes(&self) -> u64 {
        (self.users.iter().filter(|users| **users > 0).count() * CHUNK_BYTES) as u64
    }

    /// Forces all to the machine's disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn bytes_of(chunk: u32) -> Range<usize> {
    let start = (chunk as usize - 1) * CHUNK_BYTES;
    start..start + CHUNK_BYTES
}

fn map(file: &File, len: usize) -> io::Result<Mmap> {
    // SAFETY: the store is locked, so no other process of ours writes to or shortens the file; this one writes only
    // while it has the store for itself, when no slice of the mapping is lent.
    let mapping = unsafe { MmapOptions::new().len(len).map(file) }?;
    // The server locks its memory, but a disk may be larger than that.
    mapping.unlock()?;
    Ok(mapping)
}

/// Gives the space of chunks back, neighbours together.
fn punch_all(file: &File, chunks: impl Iterator<Item = u32>) -> io::Result<()> {
    let punch = |run: Range<usize>| -> io::Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(file, flags, run.start as u64, run.len() as u64)?)
    };
    let mut run = 0..0;
    for chunk in chunks {
        let next = bytes_of(chunk);
        if next.start == run.end {
            run.end = next.end;
        } else {
            punch(std::mem::replace(&mut run, next))?;
        }
    }
    punch(run)
}
