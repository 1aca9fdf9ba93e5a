//! How files get their bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fstatvfs, ftruncate, syncfs};
use rustix::io::{self, Errno, pwrite, retry_on_intr};
use trace::{Content, FileId};

use crate::allocate::{allocate_as_written, preallocate};
use crate::{Data, Options, contents};

/// How long a creation that finds no space waits, all tries together 630 ms, before it counts as failed: space that
/// was freed may not be there yet, because the file system frees in the background (XFS does) or because another
/// thread is a little behind.
const WAITS_MS: [u64; 6] = [10, 20, 40, 80, 160, 320];

/// How much is made and written at once.
const CHUNK: u64 = 256 << 10;

/// How a file gets its first bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It has no bytes, and is not opened in a special way.
    Empty,
    /// It has a size and no blocks.
    Hole,
    /// Bytes are written.
    Written,
    /// Blocks are preallocated.
    Preallocated,
    /// Blocks are preallocated where that can be done, else bytes are written.
    PreallocatedOrWritten,
    /// Blocks are allocated as if for writing, see [`allocate_as_written`], or else as above.
    AsWritten,
}

impl Way {
    /// What a file must be opened with besides.
    pub fn open_flags(self) -> OFlags {
        if self == Way::AsWritten { OFlags::DIRECT } else { OFlags::empty() }
    }
}

/// What all writers of a replay share.
pub(crate) struct Ways {
    root: OwnedFd,
    data: Data,
    inline_limit: u64,
    grouped_limit: u64,
    block: u64,
    seed: u64,
    write_back_bytes: u64,
    written: AtomicU64,
    cannot_preallocate: AtomicBool,
    cannot_allocate_as_written: AtomicBool,
    /// Waiting for space was in vain the last time: the file system is full.
    full: AtomicBool,
}

impl Ways {
    /// Ways for the file system that `root` is on.
    pub fn new(root: OwnedFd, options: &Options) -> Self {
        Self {
            block: fstatvfs(&root).map_or(4096, |numbers| numbers.f_bsize),
            root,
            data: options.data,
            inline_limit: options.inline_limit_bytes,
            grouped_limit: options.grouped_limit_bytes,
            seed: options.seed,
            write_back_bytes: options.write_back_bytes.max(1),
            written: AtomicU64::new(0),
            cannot_preallocate: AtomicBool::new(false),
            cannot_allocate_as_written: AtomicBool::new(false),
            full: AtomicBool::new(false),
        }
    }

    /// How a file is made.
    fn way(&self, asked: Content, size: u64) -> Way {
        match (asked, self.data) {
            (Content::Symlink, _) => Way::Empty,
            _ if size == 0 => Way::Empty,
            (Content::Hole, _) => Way::Hole,
            (Content::Written, _) | (Content::Auto, Data::Write) => Way::Written,
            (Content::Preallocated, _) | (Content::Auto, Data::Fallocate) => Way::Preallocated,
            (Content::Auto, Data::Auto) if size <= self.inline_limit => Way::Written,
            (Content::Auto, Data::Auto) if self.cannot_preallocate.load(Relaxed) => Way::Written,
            (Content::Auto, Data::Auto) if size > self.grouped_limit => Way::PreallocatedOrWritten,
            (Content::Auto, Data::Auto) if self.cannot_allocate_as_written.load(Relaxed) => {
                Way::PreallocatedOrWritten
            }
            (Content::Auto, Data::Auto) => Way::AsWritten,
        }
    }

    /// Counts bytes, and forces all to disk when there were enough since that was last done.
    fn count(&self, len: u64) -> io::Result<()> {
        let before = self.written.fetch_add(len, Relaxed);
        match before / self.write_back_bytes == (before + len) / self.write_back_bytes {
            true => Ok(()),
            false => syncfs(&self.root),
        }
    }
}

/// Gives files their bytes, for one thread.
pub(crate) struct Writer {
    ways: Arc<Ways>,
    filler: Filler,
}

impl Writer {
    pub fn new(ways: Arc<Ways>) -> Self {
        Self { ways, filler: Filler::default() }
    }

    /// How to make a file of that size.
    pub fn way(&self, size: u64, asked: Content) -> Way {
        self.ways.way(asked, size)
    }

    /// Gives the new file `fd`, opened with [`Way::open_flags`], its first `size` bytes. If there is no space, all that
    /// is freed is brought to disk, where it becomes space, and it is tried again; no more than once while the file
    /// system is known to be full.
    ///
    /// What is written is `given`, if that is known, else made up.
    pub fn create(
        &mut self,
        fd: BorrowedFd<'_>,
        file: FileId,
        size: u64,
        way: Way,
        given: Option<&[u8]>,
    ) -> io::Result<()> {
        let mut done = self.try_create(fd, file, size, way, given);
        for wait_ms in WAITS_MS {
            if done != Err(Errno::NOSPC) {
                break;
            }
            let was_full = self.ways.full.load(Relaxed);
            if !was_full {
                std::thread::sleep(Duration::from_millis(wait_ms));
            }
            syncfs(&self.ways.root)?;
            done = self.try_create(fd, file, size, way, given);
            self.ways
                .full
                .store(done.is_err() && (was_full || wait_ms == WAITS_MS[WAITS_MS.len() - 1]), Relaxed);
            if was_full {
                break;
            }
        }
        done
    }

    fn try_create(
        &mut self,
        fd: BorrowedFd<'_>,
        file: FileId,
        size: u64,
        way: Way,
        given: Option<&[u8]>,
    ) -> io::Result<()> {
        match way {
            Way::Empty => Ok(()),
            Way::Hole => retry_on_intr(|| ftruncate(fd, size)),
            Way::Written => match given {
                Some(bytes) => write_all(fd, bytes, 0).and_then(|()| self.ways.count(size)),
                None => self.write(fd, file, 0, size),
            },
            Way::Preallocated => preallocate(fd, 0, size).and_then(|()| self.ways.count(size)),
            Way::PreallocatedOrWritten => match preallocate(fd, 0, size) {
                Err(Errno::OPNOTSUPP) => {
                    self.ways.cannot_preallocate.store(true, Relaxed);
                    self.write(fd, file, 0, size)
                }
                done => done.and_then(|()| self.ways.count(size)),
            },
            Way::AsWritten if allocate_as_written(fd, size, self.ways.block)? => self.ways.count(size),
            Way::AsWritten => {
                self.ways.cannot_allocate_as_written.store(true, Relaxed);
                self.try_create(fd, file, size, Way::PreallocatedOrWritten, given)
            }
        }
    }

    /// Gives an existing file `len` bytes at `offset`.
    pub fn update(&mut self, fd: BorrowedFd<'_>, file: FileId, offset: u64, len: u64) -> io::Result<()> {
        match self.ways.data {
            _ if len == 0 => Ok(()),
            Data::Fallocate => preallocate(fd, offset, len).and_then(|()| self.ways.count(len)),
            Data::Auto | Data::Write => self.write(fd, file, offset, len),
        }
    }

    fn write(&mut self, fd: BorrowedFd<'_>, file: FileId, offset: u64, len: u64) -> io::Result<()> {
        self.filler.fill(self.ways.seed, fd, file, offset, len)?;
        self.ways.count(len)
    }
}

fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let done = retry_on_intr(|| pwrite(fd, bytes, offset))?;
        offset += done as u64;
        bytes = &bytes[done..];
    }
    Ok(())
}

/// Writes [`contents`], out of a buffer that is used again and again.
#[derive(Default)]
pub(crate) struct Filler {
    buffer: Vec<u8>,
}

impl Filler {
    /// Writes what `file` holds in the `len` bytes from `offset` on.
    pub fn fill(
        &mut self,
        seed: u64,
        fd: BorrowedFd<'_>,
        file: FileId,
        mut offset: u64,
        len: u64,
    ) -> io::Result<()> {
        let end = offset.checked_add(len).ok_or(Errno::FBIG)?;
        while offset < end {
            let size = (end - offset).min(CHUNK) as usize;
            if self.buffer.len() < size {
                self.buffer.resize(size, 0);
            }
            contents(seed, file, offset, &mut self.buffer[..size]);
            write_all(fd, &self.buffer[..size], offset)?;
            offset += size as u64;
        }
        Ok(())
    }
}
