//! The FUSE file system with a single file, the disk.

use super::served::Served;
use crate::request::{RequestKind, SECTOR_BYTES};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request as Caller, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// Name of the file.
pub const FILE: &str = "disk";

/// The longest request: the default limit of the kernel.
const REQUEST_MAX_BYTES: u32 = 1 << 20;

/// The maximum number of background requests of the kernel; the default of 12 throttles a loop device.
const REQUESTS_MAX: u16 = 1024;

const FILE_INODE: INodeNo = INodeNo(2);

/// Only the contents of the file change, never its attributes.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The file system, which shares the disk with the control threads.
pub struct DiskFs {
    disk: Arc<Served>,
    /// One buffer per thread for ranges that are not contiguous in the data file.
    scratch: Mutex<Vec<Vec<u8>>>,
}

impl DiskFs {
    /// Creates the file system of a disk. All buffers for requests are allocated here.
    pub fn new(disk: Arc<Served>) -> DiskFs {
        // Nonzero, because pages of zeros would be allocated only when touched.
        let scratch = vec![vec![1; REQUEST_MAX_BYTES as usize]; disk.threads()];
        DiskFs { disk, scratch: Mutex::new(scratch) }
    }

    /// Reads a range and passes it to `answer`.
    fn answer(&self, at: u64, len: u64, answer: impl FnOnce(&[u8])) -> io::Result<()> {
        let store = self.disk.readable(at, len)?;
        if len == 0 {
            answer(&[]);
            return Ok(());
        }
        let free = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = free().pop().unwrap_or_default();
        let done = store.read(at, len as usize, &mut scratch).map(answer);
        free().push(scratch);
        done
    }

    fn attr(&self, ino: INodeNo) -> FileAttr {
        let file = ino == FILE_INODE;
        let size = if file { self.disk.size_bytes() } else { 0 };
        FileAttr {
            ino,
            size,
            blocks: size / SECTOR_BYTES,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if file { FileType::RegularFile } else { FileType::Directory },
            perm: if file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// The length of the part of a range that is on the disk.
    fn clip(&self, at: u64, len: u64) -> u64 {
        len.min(self.disk.size_bytes().saturating_sub(at))
    }
}

impl Filesystem for DiskFs {
    fn init(&mut self, _: &Caller, config: &mut KernelConfig) -> io::Result<()> {
        // Features unknown to the kernel are not essential.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_MAX);
        let _ = config.set_max_write(REQUEST_MAX_BYTES);
        let _ = config.set_max_readahead(REQUEST_MAX_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Caller, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE {
            reply.entry(&FOREVER, &self.attr(FILE_INODE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Caller, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attr(ino));
    }

    fn open(&self, _: &Caller, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.disk.opened();
        // Only the file system on the disk caches its contents.
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn release(
        &self,
        _: &Caller,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.disk.released();
        reply.ok();
    }

    fn read(
        &self,
        _: &Caller,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        len: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let len = self.clip(at, len.into());
        let mut reply = Some(reply);
        let done = self.disk.request(RequestKind::Read, at, len, || {
            self.answer(at, len, |data| reply.take().expect("one answer").data(data))
        });
        if let (Err(e), Some(reply)) = (done, reply) {
            reply.error(e.into());
        }
    }

    fn write(
        &self,
        _: &Caller,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let len = data.len() as u64;
        if self.clip(at, len) < len {
            return reply.error(Errno::ENOSPC);
        }
        match self
            .disk
            .request(RequestKind::Write, at, len, || self.disk.change(|store| store.write(at, data)))
        {
            Ok(()) => reply.written(data.len() as u32),
            Err(e) => reply.error(e.into()),
        }
    }

    fn fsync(&self, _: &Caller, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.disk.request(RequestKind::Flush, 0, 0, || self.disk.flush()) {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e.into()),
        }
    }

    fn fallocate(
        &self,
        _: &Caller,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let len = self.clip(at, len);
        match self
            .disk
            .request(RequestKind::Discard, at, len, || self.disk.change(|store| store.discard(at, len)))
        {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e.into()),
        }
    }

    fn readdir(&self, _: &Caller, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (FILE_INODE, FileType::RegularFile, FILE),
        ];
        for (next, (ino, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(ino, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Caller, _: INodeNo, reply: ReplyStatfs) {
        // A loop device uses this block size as its discard granularity.
        let block_bytes = 4096;
        reply.statfs(
            self.disk.size_bytes() / block_bytes,
            0,
            0,
            1,
            0,
            block_bytes as u32,
            255,
            block_bytes as u32,
        );
    }
}
