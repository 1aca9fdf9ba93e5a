//! The data file of a store: chunks, counted by how many maps and unflushed writes need each. What nothing needs is
//! free at once; its space is given back afterwards, a little at a time, for that can take a file system long.
//!
//! Reads go through a mapping, so that bytes travel from the page cache to the kernel without a copy of ours.
//! Writes go through `pwrite`, which says when the backing store is full; through a mapping that would be a signal.
//! For the same reason a chunk has all its space before anything is read from it, and its pages are asked for before.

use super::CHUNK_BYTES;
use super::map::HOLE;
use crate::error::{Error, IoContext};
use memmap2::{Advice, Mmap, MmapOptions};
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The data file grows by this share of the disk, for chunks that were changed after a snapshot.
const GROW_SHARE: usize = 8;

/// And by at least so many chunks.
const GROW_LEAST: usize = 1024;

/// So many chunks in a row are given back at a time: 64 MiB.
const TIDY_MOST: u32 = 1024;

/// The data file.
#[derive(Debug)]
pub struct Chunks {
    file: File,
    mapping: Mmap,
    /// Users of chunk `n`, at `n - 1`.
    users: Vec<u16>,
    /// Chunks without users that may still have space, and what they held in it.
    untidy: BTreeSet<u32>,
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

    /// Makes a data file that a crash of the machine has left as long as that of a disk of so many parts must be. What
    /// snapshots need of it was there before it.
    pub fn mend(path: &Path, parts: usize) -> Result<(), Error> {
        let file = File::options().write(true).open(path).context("opening", path)?;
        let len = file.metadata().context("checking", path)?.len() as usize;
        let whole = len.next_multiple_of(CHUNK_BYTES).max(parts * CHUNK_BYTES);
        file.set_len(whole as u64).context("sizing", path)
    }

    /// Opens the data file with the maps that use it, and frees what none of them does.
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
        let untidy = BTreeSet::new();
        let mut chunks = Chunks { file, mapping, users, untidy, parts, cursor: parts };
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

    /// Another handle of the file.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Finds a free chunk and gives it one user. Part `n` of the disk gets chunk `n + 1` if it can, so that what is
    /// read in sequence is mapped in sequence.
    pub fn take(&mut self, part: usize) -> io::Result<u32> {
        // One that has its space still is better than one that has to be given some.
        let untidy = || self.untidy.range(self.parts as u32 + 1..).next().map(|chunk| *chunk as usize - 1);
        let index = match self.users[part] {
            0 => part,
            _ => untidy().map_or_else(|| self.beyond(), Ok)?,
        };
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
    pub fn reserve(&mut self, chunk: u32) -> io::Result<()> {
        let range = bytes_of(chunk);
        if self.untidy.remove(&chunk) {
            self.punch(chunk, 1)?;
        }
        Ok(fallocate(&self.file, FallocateFlags::KEEP_SIZE, range.start as u64, CHUNK_BYTES as u64)?)
    }

    /// Writes into a chunk, which has its space, or all of one.
    pub fn write(&mut self, chunk: u32, at: usize, data: &[u8]) -> io::Result<()> {
        debug_assert!(at + data.len() <= CHUNK_BYTES);
        self.untidy.remove(&chunk);
        self.file.write_all_at(data, (bytes_of(chunk).start + at) as u64)
    }

    /// Copies all of a chunk into another.
    pub fn copy(&mut self, from: u32, to: u32) -> io::Result<()> {
        self.untidy.remove(&to);
        let data = self.read(from, 0, CHUNK_BYTES)?;
        self.file.write_all_at(data, bytes_of(to).start as u64)
    }

    /// What is in `len` bytes from `at` in `chunk` on; they may go on in the chunks that follow it in the file.
    pub fn read(&self, chunk: u32, at: usize, len: usize) -> io::Result<&[u8]> {
        let start = bytes_of(chunk).start + at;
        // What cannot be read is to be an error here, and not a signal, or an answer that does not arrive, later.
        match self.mapping.advise_range(Advice::PopulateRead, start, len) {
            // Linux before 5.14 does not know it.
            Err(e) if e.raw_os_error() != Some(libc::EINVAL) => Err(io::Error::from_raw_os_error(libc::EIO)),
            _ => Ok(&self.mapping[start..start + len]),
        }
    }

    /// Whether more than one map needs the chunk, so that it must not change.
    pub fn shared(&self, chunk: u32) -> bool {
        self.users[chunk as usize - 1] > 1
    }

    /// One user more for each chunk of a map.
    pub fn share(&mut self, map: &[u32]) {
        map.iter().filter(|chunk| **chunk != HOLE).for_each(|chunk| self.users[*chunk as usize - 1] += 1);
    }

    /// One user less for each of these; those that had one only are free.
    pub fn release(&mut self, chunks: impl IntoIterator<Item = u32>) {
        for chunk in chunks.into_iter().filter(|chunk| *chunk != HOLE) {
            let users = &mut self.users[chunk as usize - 1];
            *users -= 1;
            if *users == 0 {
                self.untidy.insert(chunk);
            }
        }
    }

    /// Gives the space of some free chunks back, neighbours together; false if there are none.
    pub fn tidy(&mut self) -> io::Result<bool> {
        let Some(first) = self.untidy.first().copied() else { return Ok(false) };
        let in_row = (first..).zip(&self.untidy).take_while(|(row, chunk)| row == *chunk);
        let count = in_row.take(TIDY_MOST as usize).count() as u32;
        self.punch(first, count)?;
        self.untidy = self.untidy.split_off(&(first + count));
        Ok(true)
    }

    /// Gives the space of all free chunks back; false if there are none.
    pub fn tidy_all(&mut self) -> io::Result<bool> {
        let any = self.tidy()?;
        while self.tidy()? {}
        Ok(any)
    }

    /// Gives the space of all chunks without users back.
    fn punch_unused(&self) -> io::Result<()> {
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

    /// Gives the space of so many chunks from this one on back.
    fn punch(&self, first: u32, count: u32) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let len = u64::from(count) * CHUNK_BYTES as u64;
        Ok(fallocate(&self.file, flags, bytes_of(first).start as u64, len)?)
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
