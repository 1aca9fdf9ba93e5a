//! The FUSE server: each kernel request is one call of [`Fs`] and one reply.

mod checkpoint;
mod convert;

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, CopyFileRangeFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, IoctlFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyIoctl, ReplyLseek, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use parking_lot::Mutex;

use crate::attr::SetAttr;
use crate::create::NewInode;
use crate::error::{Error, Result};
use crate::fs::{Caller, Fs};
use crate::rename::Rename;
use crate::xattr::SetXattr;
pub use checkpoint::checkpoint;
use convert::{attr, file_type, nothing, time};

/// The longest read or write request of the kernel.
pub(crate) const REQUEST_MAX_BYTES: u32 = 1 << 20;
/// The kernel's read-ahead, if the kernel accepts the setting.
pub(crate) const READ_AHEAD_BYTES: u32 = 1 << 20;
/// Background requests of the kernel: read-ahead and write-back.
const BACKGROUND_MAX: u16 = 64;
/// Cache lifetime: only the kernel changes the file system, so its caches never expire.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);
const GENERATION: Generation = Generation(0);
const FILE_FLAGS: FopenFlags = FopenFlags::FOPEN_KEEP_CACHE
    .union(FopenFlags::FOPEN_NOFLUSH)
    .union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

/// The FUSE session of a file system.
pub(crate) struct Served {
    pub fs: Arc<Fs>,
    /// The name of the file system in messages.
    pub name: String,
    said: AtomicBool,
    /// Read buffers: the last used one is taken first, since it is still in the processor's cache.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Served {
    pub fn new(fs: Arc<Fs>, name: String) -> Self {
        Self { fs, name, said: AtomicBool::new(false), buffers: Mutex::default() }
    }

    fn with_buffer(&self, f: impl FnOnce(&mut Vec<u8>)) {
        let mut buffer = self.buffers.lock().pop().unwrap_or_default();
        buffer.clear();
        f(&mut buffer);
        self.buffers.lock().push(buffer);
    }

    /// The error number for the caller. A disk error is logged once.
    fn errno(&self, error: &Error) -> Errno {
        if error.is_disk_error() && !self.said.swap(true, Relaxed) {
            // Without a terminal the message may be lost.
            let _ = writeln!(io::stderr(), "{}: {error}", self.name);
        }
        Errno::from_i32(error.errno())
    }

    fn empty(&self, result: Result<()>, reply: ReplyEmpty) {
        match result {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn entry(&self, result: Result<crate::Attr>, reply: ReplyEntry) {
        match result {
            Ok(found) => reply.entry(&FOR_EVER, &attr(&found), GENERATION),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn answer_xattr(&self, result: Result<Vec<u8>>, size: u32, reply: ReplyXattr) {
        match result {
            Ok(value) if size == 0 => reply.size(value.len() as u32),
            Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
            Ok(value) => reply.data(&value),
            Err(error) => reply.error(self.errno(&error)),
        }
    }
}

fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid() }
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // The kernel ignores flags that it does not support.
        for capability in [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
        ] {
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_write(REQUEST_MAX_BYTES);
        if let Err(most) = config.set_max_readahead(READ_AHEAD_BYTES) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.set_max_background(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.fs.lookup(parent.0, name.as_bytes()) {
            // A negative entry: the kernel caches missing names as well.
            Err(Error::Errno(libc::ENOENT)) => reply.entry(&FOR_EVER, &nothing(), GENERATION),
            result => self.entry(result, reply),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, nlookup: u64) {
        self.fs.forget(ino.0, nlookup);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.fs.attr(ino.0) {
            Ok(found) => reply.attr(&FOR_EVER, &attr(&found)),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = SetAttr {
            mode,
            uid,
            gid,
            size,
            atime: atime.map(time),
            mtime: mtime.map(time),
            ctime: ctime.map(Into::into),
        };
        match self.fs.set_attr(caller(request), ino.0, &set) {
            Ok(found) => reply.attr(&FOR_EVER, &attr(&found)),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.fs.read_link(ino.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let new = NewInode { mode, rdev, target: &[] };
        self.entry(self.fs.create(caller(request), parent.0, name.as_bytes(), new), reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let new = NewInode { mode: libc::S_IFDIR | mode & 0o7777, rdev: 0, target: &[] };
        self.entry(self.fs.create(caller(request), parent.0, name.as_bytes(), new), reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let new = NewInode { mode: libc::S_IFLNK | 0o777, rdev: 0, target: target.as_os_str().as_bytes() };
        self.entry(self.fs.create(caller(request), parent.0, name.as_bytes(), new), reply);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let new = NewInode { mode: libc::S_IFREG | mode & 0o7777, rdev: 0, target: &[] };
        let made = self
            .fs
            .create(caller(request), parent.0, name.as_bytes(), new)
            .and_then(|made| self.fs.open_file(made.ino).map(|()| made));
        match made {
            Ok(made) => reply.created(&FOR_EVER, &attr(&made), GENERATION, FileHandle(0), FILE_FLAGS),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.empty(self.fs.unlink(parent.0, name.as_bytes()), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.empty(self.fs.rmdir(parent.0, name.as_bytes()), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let how = match flags {
            flags if flags.is_empty() => Rename::Replace,
            RenameFlags::RENAME_NOREPLACE => Rename::NoReplace,
            RenameFlags::RENAME_EXCHANGE => Rename::Exchange,
            _ => return reply.error(Errno::EINVAL),
        };
        let (from, to) = ((parent.0, name.as_bytes()), (newparent.0, newname.as_bytes()));
        self.empty(self.fs.rename(from, to, how), reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        self.entry(self.fs.link(ino.0, newparent.0, newname.as_bytes()), reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.fs.open_file(ino.0) {
            Ok(()) => reply.opened(FileHandle(0), FILE_FLAGS),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.with_buffer(|buffer| match self.fs.read(ino.0, offset, size, buffer) {
            Ok(()) => reply.data(buffer),
            Err(error) => reply.error(self.errno(&error)),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let unprivileged = flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        match self.fs.write(ino.0, offset, data, unprivileged) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // `write` has already reported all errors.
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.empty(self.fs.release(ino.0), reply);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.empty(self.fs.sync(), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.fs.open_dir(ino.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let read = self.fs.read_dir(handle.0, offset, false, |entry| {
            !reply.add(INodeNo(entry.ino), entry.offset, file_type(entry.kind), OsStr::from_bytes(entry.name))
        });
        match read {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let read = self.fs.read_dir(handle.0, offset, true, |entry| {
            // With inode number 0, the kernel takes the name only.
            let (ino, found) = match &entry.attr {
                Some(found) => (INodeNo(entry.ino), attr(found)),
                None => (INodeNo(0), convert::known_only_by_name(entry.ino, entry.kind)),
            };
            !reply.add(ino, entry.offset, OsStr::from_bytes(entry.name), &FOR_EVER, &found, GENERATION)
        });
        match read {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.fs.close_dir(handle.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.empty(self.fs.sync(), reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const UNIT: u64 = 4096;
        let space = match self.fs.statfs() {
            Ok(space) => space,
            Err(error) => return reply.error(self.errno(&error)),
        };
        // There is no inode table: the limit is the free space.
        let (files, free) = (space.total_bytes / UNIT, space.available_bytes / UNIT);
        reply.statfs(
            space.total_bytes / UNIT,
            space.available_bytes / UNIT,
            space.available_bytes / UNIT,
            files,
            free,
            UNIT as u32,
            crate::NAME_MAX as u32,
            UNIT as u32,
        );
    }

    fn setxattr(
        &self,
        _: &Request,
        ino: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let how = match flags {
            libc::XATTR_CREATE => SetXattr::Create,
            libc::XATTR_REPLACE => SetXattr::Replace,
            _ => SetXattr::Any,
        };
        self.empty(self.fs.set_xattr(ino.0, name.as_bytes(), value, how), reply);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        self.answer_xattr(self.fs.xattr(ino.0, name.as_bytes()), size, reply);
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.answer_xattr(self.fs.xattrs(ino.0), size, reply);
    }

    fn removexattr(&self, _: &Request, ino: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.empty(self.fs.remove_xattr(ino.0, name.as_bytes()), reply);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.empty(self.fs.fallocate(ino.0, offset, length, mode), reply);
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        command: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        if command != checkpoint::COMMAND {
            return reply.error(Errno::ENOTTY);
        }
        match self.fs.checkpoint() {
            Ok(()) => reply.ioctl(0, &[]),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn lseek(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let hole = match whence {
            libc::SEEK_DATA => false,
            libc::SEEK_HOLE => true,
            _ => return reply.error(Errno::EINVAL),
        };
        let Ok(offset) = u64::try_from(offset) else { return reply.error(Errno::ENXIO) };
        match self.fs.seek(ino.0, offset, hole) {
            Ok(at) => reply.offset(at as i64),
            Err(error) => reply.error(self.errno(&error)),
        }
    }

    fn copy_file_range(
        &self,
        _: &Request,
        from: INodeNo,
        _: FileHandle,
        from_offset: u64,
        to: INodeNo,
        _: FileHandle,
        to_offset: u64,
        len: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        self.with_buffer(|buffer| {
            let len = len.min(REQUEST_MAX_BYTES.into()) as u32;
            let copied = self
                .fs
                .read(from.0, from_offset, len, buffer)
                .and_then(|()| self.fs.write(to.0, to_offset, buffer, true));
            match copied {
                Ok(()) => reply.written(buffer.len() as u32),
                Err(error) => reply.error(self.errno(&error)),
            }
        });
    }
}
