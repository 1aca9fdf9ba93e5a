//! Writes or allocates the data of files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fstatvfs, ftruncate};
use rustix::io::{self, Errno, pwrite, retry_on_intr};
use trace::{Content, FileId};

use crate::allocate::{allocate_as_written, preallocate};
use crate::free_space::FreeSpace;
use crate::{Data, Options, contents};

/// Bytes generated and written per system call.
const CHUNK: u64 = 256 << 10;

/// How a new file gets its data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// No data; opened without special flags.
    Empty,
    /// A size without blocks.
    Hole,
    /// Data is written.
    Written,
    /// Blocks are preallocated.
    Preallocated,
    /// Blocks are preallocated if supported, otherwise data is written.
    PreallocatedOrWritten,
    /// Blocks are allocated as for a write, see [`allocate_as_written`], or otherwise as in `PreallocatedOrWritten`.
    AsWritten,
}

impl Strategy {
    /// Additional open flags.
    pub fn open_flags(self) -> OFlags {
        if self == Strategy::AsWritten { OFlags::DIRECT } else { OFlags::empty() }
    }
}

/// State shared by all writers of a replay.
pub(crate) struct SharedWriter {
    space: FreeSpace,
    data: Data,
    inline_limit: u64,
    grouped_limit: u64,
    block: u64,
    seed: u64,
    write_back_bytes: u64,
    written: AtomicU64,
    cannot_preallocate: AtomicBool,
    cannot_allocate_as_written: AtomicBool,
}

impl SharedWriter {
    /// Creates the state for the file system of `root`.
    pub fn new(root: OwnedFd, options: &Options) -> Self {
        Self {
            block: fstatvfs(&root).map_or(4096, |numbers| numbers.f_bsize),
            space: FreeSpace::of(root, Duration::from_millis(options.space_wait_ms)),
            data: options.data,
            inline_limit: options.inline_limit_bytes,
            grouped_limit: options.grouped_limit_bytes,
            seed: options.seed,
            write_back_bytes: options.write_back_bytes.max(1),
            written: AtomicU64::new(0),
            cannot_preallocate: AtomicBool::new(false),
            cannot_allocate_as_written: AtomicBool::new(false),
        }
    }

    /// The strategy for a new file.
    fn strategy(&self, asked: Content, size: u64) -> Strategy {
        match (asked, self.data) {
            (Content::Symlink, _) => Strategy::Empty,
            _ if size == 0 => Strategy::Empty,
            (Content::Hole, _) => Strategy::Hole,
            (Content::Written, _) | (Content::Auto, Data::Write) => Strategy::Written,
            (Content::Preallocated, _) | (Content::Auto, Data::Fallocate) => Strategy::Preallocated,
            (Content::Auto, Data::Auto) if size <= self.inline_limit => Strategy::Written,
            (Content::Auto, Data::Auto) if self.cannot_preallocate.load(Relaxed) => Strategy::Written,
            (Content::Auto, Data::Auto) if size > self.grouped_limit => Strategy::PreallocatedOrWritten,
            (Content::Auto, Data::Auto) if self.cannot_allocate_as_written.load(Relaxed) => {
                Strategy::PreallocatedOrWritten
            }
            (Content::Auto, Data::Auto) => Strategy::AsWritten,
        }
    }

    /// Counts bytes, and syncs once every `write_back_bytes`.
    fn count(&self, len: u64) -> io::Result<()> {
        let before = self.written.fetch_add(len, Relaxed);
        match before / self.write_back_bytes == (before + len) / self.write_back_bytes {
            true => Ok(()),
            false => self.space.sync(),
        }
    }

    /// Writes or allocates the data of a new file, without retry.
    fn create(
        &self,
        filler: &mut Filler,
        fd: BorrowedFd<'_>,
        file: FileId,
        size: u64,
        strategy: Strategy,
        given: Option<&[u8]>,
    ) -> io::Result<()> {
        match strategy {
            Strategy::Empty => Ok(()),
            Strategy::Hole => retry_on_intr(|| ftruncate(fd, size)),
            Strategy::Written => match given {
                Some(bytes) => write_all(fd, bytes, 0).and_then(|()| self.count(size)),
                None => self.write(filler, fd, file, 0, size),
            },
            Strategy::Preallocated => preallocate(fd, 0, size).and_then(|()| self.count(size)),
            Strategy::PreallocatedOrWritten => match preallocate(fd, 0, size) {
                Err(Errno::OPNOTSUPP) => {
                    self.cannot_preallocate.store(true, Relaxed);
                    self.write(filler, fd, file, 0, size)
                }
                done => done.and_then(|()| self.count(size)),
            },
            Strategy::AsWritten if allocate_as_written(fd, size, self.block)? => self.count(size),
            Strategy::AsWritten => {
                self.cannot_allocate_as_written.store(true, Relaxed);
                self.create(filler, fd, file, size, Strategy::PreallocatedOrWritten, given)
            }
        }
    }

    fn write(
        &self,
        filler: &mut Filler,
        fd: BorrowedFd<'_>,
        file: FileId,
        offset: u64,
        len: u64,
    ) -> io::Result<()> {
        filler.fill(self.seed, fd, file, offset, len)?;
        self.count(len)
    }
}

/// Writes the data of files; one per thread.
pub(crate) struct Writer {
    shared: Arc<SharedWriter>,
    filler: Filler,
}

impl Writer {
    pub fn new(shared: Arc<SharedWriter>) -> Self {
        Self { shared, filler: Filler::default() }
    }

    /// The strategy for a new file of this size.
    pub fn strategy(&self, size: u64, asked: Content) -> Strategy {
        self.shared.strategy(asked, size)
    }

    /// The space of the file system.
    pub fn space(&self) -> &FreeSpace {
        &self.shared.space
    }

    /// Gives the new file `fd`, opened with [`Strategy::open_flags`], its first `size` bytes: `given` if known, else generated
    /// contents.
    pub fn create(
        &mut self,
        fd: BorrowedFd<'_>,
        file: FileId,
        size: u64,
        strategy: Strategy,
        given: Option<&[u8]>,
    ) -> io::Result<()> {
        let Self { shared, filler } = self;
        shared.space.retry(|| shared.create(filler, fd, file, size, strategy, given))
    }

    /// Writes or allocates `len` bytes at `offset` of an existing file.
    pub fn update(&mut self, fd: BorrowedFd<'_>, file: FileId, offset: u64, len: u64) -> io::Result<()> {
        let Self { shared, filler } = self;
        shared.space.retry(|| match shared.data {
            _ if len == 0 => Ok(()),
            Data::Fallocate => preallocate(fd, offset, len).and_then(|()| shared.count(len)),
            Data::Auto | Data::Write => shared.write(filler, fd, file, offset, len),
        })
    }

    /// Writes `len` bytes at `offset` of an existing file.
    pub fn write(&mut self, fd: BorrowedFd<'_>, file: FileId, offset: u64, len: u64) -> io::Result<()> {
        let Self { shared, filler } = self;
        shared.space.retry(|| shared.write(filler, fd, file, offset, len))
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

/// Writes [`contents`], with a reused buffer.
#[derive(Default)]
pub(crate) struct Filler {
    buffer: Vec<u8>,
}

impl Filler {
    /// Writes the contents of `file` in the range of `len` bytes from `offset`.
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
