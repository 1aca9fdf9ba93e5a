//! The FUSE file system with one file, the disk.

use super::control::{Answers, Ask, Fault, Status};
use super::log::Log;
use super::queue::Queue;
use super::store::Store;
use crate::Error;
use crate::request::{RequestKind, SECTOR_BYTES};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request as Caller, WriteFlags,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

/// Name of the file.
pub const FILE: &str = "disk";

/// The longest request: what the kernel's default allows.
const REQUEST_MAX_BYTES: u32 = 1 << 20;

/// Requests that the kernel may have under way; its default of 12 throttles a loop device.
const REQUESTS_MAX: u16 = 1024;

const FILE_INODE: INodeNo = INodeNo(2);

/// Nothing about the file changes but its contents.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

thread_local! {
    /// Room for what does not lie in one piece.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A disk in service.
pub struct Served {
    store: RwLock<Store>,
    size_bytes: u64,
    queue: Queue,
    requests: AtomicU64,
    failures: Mutex<(u64, Option<String>)>,
    open: AtomicU32,
    cut: AtomicBool,
    lying: AtomicBool,
    unreadable: RwLock<Range<u64>>,
}

impl Served {
    /// Takes a store into service.
    pub fn new(store: Store) -> Result<Served, Error> {
        let settings = store.settings();
        let model = store.model()?;
        Ok(Served {
            size_bytes: settings.size_bytes,
            queue: Queue::new(&model, settings.size_bytes, settings.clock),
            store: RwLock::new(store),
            requests: AtomicU64::new(0),
            failures: Mutex::default(),
            open: AtomicU32::new(0),
            cut: AtomicBool::new(false),
            lying: AtomicBool::new(false),
            unreadable: RwLock::new(0..0),
        })
    }

    /// How many threads are to take requests.
    pub fn threads(&self) -> usize {
        self.queue.threads()
    }

    /// Ends the service.
    pub fn close(&self) -> Result<(), Error> {
        self.store_mut(Store::close)
    }

    /// Does one request when its turn comes. `work` answers it too if all is well.
    fn request(
        &self,
        kind: RequestKind,
        at: u64,
        len: u64,
        work: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), Errno> {
        let _turn = self.queue.enter(kind, at, len);
        self.requests.fetch_add(1, Ordering::Relaxed);
        work().map_err(|e| {
            self.failed(kind, at, &e);
            Errno::from(e)
        })
    }

    /// Changes what the disk holds, if its power is on.
    fn change(&self, change: impl FnOnce(&mut Store) -> io::Result<()>) -> io::Result<()> {
        self.store_mut(|store| {
            self.check_power()?;
            change(store)
        })
    }

    /// To be asked with the store in hand, so that nothing reaches it after the cut.
    fn check_power(&self) -> io::Result<()> {
        if self.cut.load(Ordering::Acquire) { Err(io_error()) } else { Ok(()) }
    }

    fn failed(&self, kind: RequestKind, at: u64, error: &io::Error) {
        let mut failures = lock(&self.failures);
        failures.0 += 1;
        failures.1.get_or_insert_with(|| format!("{kind:?} at byte {at}: {error}"));
    }

    fn store_mut<T>(&self, work: impl FnOnce(&mut Store) -> T) -> T {
        work(&mut self.store.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn check_readable(&self, at: u64, len: u64) -> io::Result<()> {
        let bad = self.unreadable.read().unwrap_or_else(PoisonError::into_inner);
        if at < bad.end && bad.start < at + len {
            return Err(io_error());
        }
        Ok(())
    }

    fn fault(&self, fault: Fault) -> io::Result<()> {
        match fault {
            Fault::PowerCut(loss) => self.store_mut(|store| {
                // With the store in hand: no request is half done.
                if self.cut.swap(true, Ordering::AcqRel) { Ok(()) } else { store.power_cut(loss) }
            }),
            Fault::ReadError { at_bytes, len_bytes } => {
                let range = at_bytes..at_bytes.saturating_add(len_bytes);
                *self.unreadable.write().unwrap_or_else(PoisonError::into_inner) = range;
                Ok(())
            }
            Fault::Lie => {
                self.lying.store(true, Ordering::Relaxed);
                Ok(())
            }
            Fault::None => {
                self.lying.store(false, Ordering::Relaxed);
                *self.unreadable.write().unwrap_or_else(PoisonError::into_inner) = 0..0;
                Ok(())
            }
        }
    }

    fn status(&self) -> Status {
        let (failed, first_failure) = lock(&self.failures).clone();
        let (log_requests, log_lost) = self.queue.with_log(|log| (log.requests(), log.lost()));
        Status {
            pid: std::process::id(),
            requests: self.requests.load(Ordering::Relaxed),
            failed,
            first_failure,
            log_requests,
            log_lost,
            clock_ns: self.queue.clock_ns(),
            used_bytes: self.store.read().unwrap_or_else(PoisonError::into_inner).used_bytes(),
            cut: self.cut.load(Ordering::Relaxed),
        }
    }
}

impl Answers for Served {
    fn answer(&self, ask: &Ask) -> Result<Status, String> {
        match ask {
            Ask::Status | Ask::TakeLog => {}
            Ask::Snapshot(name) => self.store_mut(|store| store.snapshot(name)).map_err(|e| why(&e))?,
            Ask::Rollback { open: false, .. } if self.open.load(Ordering::Relaxed) > 0 => {
                return Err(
                    "its disk is in use; unmount what is on it and detach its loop device first".into()
                );
            }
            Ask::Rollback { name, .. } => {
                self.store_mut(|store| store.rollback(name)).map_err(|e| why(&e))?
            }
            Ask::Fault(fault) => self.fault(*fault).map_err(|e| e.to_string())?,
        }
        Ok(self.status())
    }

    fn take_log(&self) -> Log {
        self.queue.with_log(std::mem::take)
    }
}

/// What a caller, which names the store itself, is to be told.
fn why(error: &Error) -> String {
    match error {
        Error::Store { why, .. } => why.clone(),
        other => other.to_string(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn io_error() -> io::Error {
    io::Error::from_raw_os_error(Errno::EIO.code())
}

/// The file system, which shares the disk with the thread that answers callers.
pub struct DiskFs(pub Arc<Served>);

impl DiskFs {
    fn attr(&self, ino: INodeNo) -> FileAttr {
        let file = ino == FILE_INODE;
        let size = if file { self.0.size_bytes } else { 0 };
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

    /// What of a range lies on the disk.
    fn clip(&self, at: u64, len: u64) -> u64 {
        len.min(self.0.size_bytes.saturating_sub(at))
    }
}

impl Filesystem for DiskFs {
    fn init(&mut self, _: &Caller, config: &mut KernelConfig) -> io::Result<()> {
        // What the kernel does not know of these it does without.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(REQUESTS_MAX);
        let _ = config.set_congestion_threshold(REQUESTS_MAX);
        let _ = config.set_max_write(REQUEST_MAX_BYTES);
        let _ = config.set_max_readahead(REQUEST_MAX_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Caller, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == FILE {
            reply.entry(&FOR_EVER, &self.attr(FILE_INODE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Caller, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_EVER, &self.attr(ino));
    }

    fn open(&self, _: &Caller, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        // Nothing of the disk is cached above it but by the file system on it.
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
        self.0.open.fetch_sub(1, Ordering::Relaxed);
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
        let mut answer = |data: &[u8]| reply.take().expect("one answer").data(data);
        let done = self.0.request(RequestKind::Read, at, len, || {
            let store = self.0.store.read().unwrap_or_else(PoisonError::into_inner);
            self.0.check_power()?;
            self.0.check_readable(at, len)?;
            if len == 0 {
                answer(&[]);
            } else {
                SCRATCH.with_borrow_mut(|scratch| answer(store.read(at, len as usize, scratch)));
            }
            Ok(())
        });
        if let (Err(e), Some(reply)) = (done, reply) {
            reply.error(e);
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
        match self.0.request(RequestKind::Write, at, len, || self.0.change(|store| store.write(at, data))) {
            Ok(()) => reply.written(data.len() as u32),
            Err(e) => reply.error(e),
        }
    }

    fn fsync(&self, _: &Caller, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let flush = || {
            self.0.change(|store| if self.0.lying.load(Ordering::Relaxed) { Ok(()) } else { store.flush() })
        };
        match self.0.request(RequestKind::Flush, 0, 0, flush) {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
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
        match self.0.request(RequestKind::Discard, at, len, || self.0.change(|store| store.discard(at, len)))
        {
            Ok(()) => reply.ok(),
            Err(e) => reply.error(e),
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
        // Its block size is what a loop device takes for the smallest discard.
        let block_bytes = 4096;
        reply.statfs(
            self.0.size_bytes / block_bytes,
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
