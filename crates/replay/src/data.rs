//! How files get their bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, fallocate, ftruncate, syncfs};
use rustix::io::{self, Errno, pwrite, retry_on_intr};
use trace::{Content, FileId};

use crate::{Data, Options, contents};

/// After this many bytes written or preallocated all is forced to disk. The kernel would leave data in memory, and
/// freed blocks out of use, for many seconds, in which a replay does what took months: files would be deleted before
/// they had been given blocks, and the blocks of those that had would not be there to be used again.
const SYNC_BYTES: u64 = 32 << 20;

/// How long a creation that finds no space waits, all tries together 630 ms, before it counts as failed: space that
/// was freed may not be there yet, because the file system frees in the background (XFS does) or because another
/// thread is a little behind.
const WAITS_MS: [u64; 6] = [10, 20, 40, 80, 160, 320];

/// How much is made and written at once.
const CHUNK: u64 = 256 << 10;

/// What all writers of a replay share.
pub(crate) struct Ways {
    root: OwnedFd,
    data: Data,
    inline_limit: u64,
    seed: u64,
    written: AtomicU64,
    cannot_preallocate: AtomicBool,
    /// Waiting for space was in vain the last time: the file system is full.
    full: AtomicBool,
}

impl Ways {
    /// Ways for the file system that `root` is on.
    pub fn new(root: OwnedFd, options: &Options) -> Self {
        Self {
            root,
            data: options.data,
            inline_limit: options.inline_limit_bytes,
            seed: options.seed,
            written: AtomicU64::new(0),
            cannot_preallocate: AtomicBool::new(false),
            full: AtomicBool::new(false),
        }
    }

    /// How a file is made whose making may have been left open.
    fn content(&self, asked: Content, size: u64) -> Content {
        match (asked, self.data) {
            (Content::Auto, Data::Write) => Content::Written,
            (Content::Auto, Data::Fallocate) => Content::Preallocated,
            (Content::Auto, Data::Auto) if size <= self.inline_limit => Content::Written,
            (Content::Auto, Data::Auto) if self.cannot_preallocate.load(Relaxed) => Content::Written,
            (Content::Auto, Data::Auto) => Content::Preallocated,
            (asked, _) => asked,
        }
    }

    /// Counts bytes, and forces all to disk when there were enough since that was last done.
    fn count(&self, len: u64) -> io::Result<()> {
        let before = self.written.fetch_add(len, Relaxed);
        match before / SYNC_BYTES == (before + len) / SYNC_BYTES {
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

    /// Gives the new file `fd` its first `size` bytes. If there is no space, all that is freed is brought to disk,
    /// where it becomes space, and it is tried again; no more than once while the file system is known to be full.
    pub fn create(&mut self, fd: BorrowedFd<'_>, file: FileId, size: u64, asked: Content) -> io::Result<()> {
        let mut done = self.try_create(fd, file, size, asked);
        for wait_ms in WAITS_MS {
            if done != Err(Errno::NOSPC) {
                break;
            }
            let was_full = self.ways.full.load(Relaxed);
            if !was_full {
                std::thread::sleep(Duration::from_millis(wait_ms));
            }
            syncfs(&self.ways.root)?;
            done = self.try_create(fd, file, size, asked);
            self.ways
                .full
                .store(done.is_err() && (was_full || wait_ms == WAITS_MS[WAITS_MS.len() - 1]), Relaxed);
            if was_full {
                break;
            }
        }
        done
    }

    fn try_create(&mut self, fd: BorrowedFd<'_>, file: FileId, size: u64, asked: Content) -> io::Result<()> {
        if size == 0 {
            return Ok(());
        }
        match self.ways.content(asked, size) {
            Content::Hole => retry_on_intr(|| ftruncate(fd, size)),
            Content::Written => self.write(fd, file, 0, size),
            Content::Preallocated | Content::Auto => match preallocate(fd, 0, size) {
                Err(Errno::OPNOTSUPP) if asked == Content::Auto && self.ways.data == Data::Auto => {
                    self.ways.cannot_preallocate.store(true, Relaxed);
                    self.write(fd, file, 0, size)
                }
                done => done.and_then(|()| self.ways.count(size)),
            },
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

fn preallocate(fd: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    retry_on_intr(|| fallocate(fd, FallocateFlags::empty(), offset, len))
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
            let mut rest = &self.buffer[..size];
            while !rest.is_empty() {
                let done = retry_on_intr(|| pwrite(fd, rest, offset))?;
                offset += done as u64;
                rest = &rest[done..];
            }
        }
        Ok(())
    }
}
