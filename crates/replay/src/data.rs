//! How files get their bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fstatvfs, ftruncate};
use rustix::io::{self, Errno, pwrite, retry_on_intr};
use trace::{Content, FileId};

use crate::allocate::{allocate_as_written, preallocate};
use crate::room::Room;
use crate::{Data, Options, contents};

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
    room: Room,
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

impl Ways {
    /// Ways for the file system that `root` is on.
    pub fn new(root: OwnedFd, options: &Options) -> Self {
        Self {
            block: fstatvfs(&root).map_or(4096, |numbers| numbers.f_bsize),
            room: Room::of(root, Duration::from_millis(options.space_wait_ms)),
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
            false => self.room.sync(),
        }
    }

    /// Gives a new file its first bytes, once.
    fn create(
        &self,
        filler: &mut Filler,
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
                Some(bytes) => write_all(fd, bytes, 0).and_then(|()| self.count(size)),
                None => self.write(filler, fd, file, 0, size),
            },
            Way::Preallocated => preallocate(fd, 0, size).and_then(|()| self.count(size)),
            Way::PreallocatedOrWritten => match preallocate(fd, 0, size) {
                Err(Errno::OPNOTSUPP) => {
                    self.cannot_preallocate.store(true, Relaxed);
                    self.write(filler, fd, file, 0, size)
                }
                done => done.and_then(|()| self.count(size)),
            },
            Way::AsWritten if allocate_as_written(fd, size, self.block)? => self.count(size),
            Way::AsWritten => {
                self.cannot_allocate_as_written.store(true, Relaxed);
                self.create(filler, fd, file, size, Way::PreallocatedOrWritten, given)
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

    /// The space that it writes to.
    pub fn room(&self) -> &Room {
        &self.ways.room
    }

    /// Gives the new file `fd`, opened with [`Way::open_flags`], its first `size` bytes: what is `given`, if that is known,
    /// else made up.
    pub fn create(
        &mut self,
        fd: BorrowedFd<'_>,
        file: FileId,
        size: u64,
        way: Way,
        given: Option<&[u8]>,
    ) -> io::Result<()> {
        let Self { ways, filler } = self;
        ways.room.find(|| ways.create(filler, fd, file, size, way, given))
    }

    /// Gives an existing file `len` bytes at `offset`.
    pub fn update(&mut self, fd: BorrowedFd<'_>, file: FileId, offset: u64, len: u64) -> io::Result<()> {
        let Self { ways, filler } = self;
        ways.room.find(|| match ways.data {
            _ if len == 0 => Ok(()),
            Data::Fallocate => preallocate(fd, offset, len).and_then(|()| ways.count(len)),
            Data::Auto | Data::Write => ways.write(filler, fd, file, offset, len),
        })
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
