//! Measures the overhead of FUSE: a file system that passes each request to a directory of another file system, in as few steps as possible,
//! with the settings of betreefs. It is the baseline for measurements of betreefs and does nothing else.
//!
//!     cargo run --release -p senesce-betreefs --example passthrough DIRECTORY MOUNTPOINT

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, SessionACL,
    TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Stat, fstat, openat, statat};

const FOR_EVER: Duration = Duration::from_secs(1 << 30);
const GENERATION: Generation = Generation(0);
const FLAGS: FopenFlags = FopenFlags::FOPEN_KEEP_CACHE
    .union(FopenFlags::FOPEN_NOFLUSH)
    .union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

/// An inode of the underlying file system, by an `O_PATH` handle.
struct Below {
    path: OwnedFd,
    lookups: u64,
}

struct Listing(Vec<(CString, u64, FileType)>);

#[derive(Default)]
struct Passthrough {
    inodes: RwLock<HashMap<u64, Below>>,
    files: RwLock<HashMap<u64, Arc<OwnedFd>>>,
    listings: Mutex<HashMap<u64, Arc<Listing>>>,
    next: Mutex<u64>,
    root: u64,
}

type Result<T> = std::result::Result<T, Errno>;

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

fn time(s: i64, ns: u64) -> SystemTime {
    UNIX_EPOCH + Duration::new(s.max(0) as u64, ns as u32)
}

impl Passthrough {
    fn number(&self, ino: INodeNo) -> u64 {
        if ino == INodeNo::ROOT { self.root } else { ino.0 }
    }

    fn at<T>(&self, ino: INodeNo, f: impl FnOnce(&OwnedFd) -> rustix::io::Result<T>) -> Result<T> {
        let inodes = self.inodes.read().unwrap();
        f(&inodes.get(&self.number(ino)).ok_or(Errno::ENOENT)?.path).map_err(errno)
    }

    fn attr(&self, stat: &Stat) -> FileAttr {
        FileAttr {
            ino: if stat.st_ino == self.root { INodeNo::ROOT } else { INodeNo(stat.st_ino) },
            size: stat.st_size as u64,
            blocks: stat.st_blocks as u64,
            atime: time(stat.st_atime, stat.st_atime_nsec),
            mtime: time(stat.st_mtime, stat.st_mtime_nsec),
            ctime: time(stat.st_ctime, stat.st_ctime_nsec),
            crtime: UNIX_EPOCH,
            kind: kind(stat.st_mode),
            perm: (stat.st_mode & 0o7777) as u16,
            nlink: stat.st_nlink as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    fn find(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr> {
        let path = self.at(parent, |dir| {
            openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        })?;
        let stat = fstat(&path).map_err(errno)?;
        let mut inodes = self.inodes.write().unwrap();
        inodes.entry(stat.st_ino).or_insert(Below { path, lookups: 0 }).lookups += 1;
        Ok(self.attr(&stat))
    }

    fn keep(&self, file: OwnedFd) -> FileHandle {
        let handle = self.handle();
        self.files.write().unwrap().insert(handle, Arc::new(file));
        FileHandle(handle)
    }

    fn handle(&self) -> u64 {
        let mut next = self.next.lock().unwrap();
        *next += 1;
        *next
    }

    fn file(&self, handle: FileHandle) -> Result<Arc<OwnedFd>> {
        self.files.read().unwrap().get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    fn reopen(&self, ino: INodeNo, flags: OFlags) -> Result<OwnedFd> {
        use std::os::fd::AsRawFd;
        self.at(ino, |path| {
            openat(CWD, format!("/proc/self/fd/{}", path.as_raw_fd()), flags | OFlags::CLOEXEC, Mode::empty())
        })
    }
}

fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        _ => FileType::RegularFile,
    }
}

fn done(result: Result<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Passthrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for capability in [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
        ] {
            let _ = config.add_capabilities(capability);
        }
        let _ = config.set_max_write(1 << 20);
        if let Err(most) = config.set_max_readahead(1 << 20) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.find(parent, name) {
            Ok(attr) => reply.entry(&FOR_EVER, &attr, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, n: u64) {
        let mut inodes = self.inodes.write().unwrap();
        let Some(below) = inodes.get_mut(&ino.0) else { return };
        below.lookups = below.lookups.saturating_sub(n);
        if below.lookups == 0 && ino.0 != self.root {
            inodes.remove(&ino.0);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.at(ino, |path| fstat(path)) {
            Ok(stat) => reply.attr(&FOR_EVER, &self.attr(&stat)),
            Err(error) => reply.error(error),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = match size {
            Some(size) => self
                .reopen(ino, OFlags::WRONLY)
                .and_then(|file| rustix::fs::ftruncate(file, size).map_err(errno)),
            None => Ok(()),
        };
        match set.and_then(|()| self.at(ino, |path| fstat(path))) {
            Ok(stat) => reply.attr(&FOR_EVER, &self.attr(&stat)),
            Err(error) => reply.error(error),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let made = self.at(parent, |dir| rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(mode)));
        match made.and_then(|()| self.find(parent, name)) {
            Ok(attr) => reply.entry(&FOR_EVER, &attr, GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = self
            .at(parent, |dir| openat(dir, name, flags, Mode::from_raw_mode(mode & 0o7777)))
            .and_then(|file| self.find(parent, name).map(|attr| (file, attr)));
        match made {
            Ok((file, attr)) => reply.created(&FOR_EVER, &attr, GENERATION, self.keep(file), FLAGS),
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.at(parent, |dir| rustix::fs::unlinkat(dir, name, AtFlags::empty())), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.at(parent, |dir| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)), reply);
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let writes = flags.0 & libc::O_ACCMODE != libc::O_RDONLY;
        match self.reopen(ino, if writes { OFlags::RDWR } else { OFlags::RDONLY }) {
            Ok(file) => reply.opened(self.keep(file), FLAGS),
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        thread_local! {
            static BUFFER: std::cell::RefCell<Vec<u8>> = std::cell::RefCell::new(vec![0; 1 << 20]);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let part = &mut buffer[..size as usize];
            let read = self
                .file(handle)
                .and_then(|file| rustix::io::pread(&*file, &mut *part, offset).map_err(errno));
            match read {
                Ok(n) => reply.data(&part[..n]),
                Err(error) => reply.error(error),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.file(handle).and_then(|file| rustix::io::pwrite(&*file, data, offset).map_err(errno)) {
            Ok(n) => reply.written(n as u32),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.files.write().unwrap().remove(&handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        done(self.file(handle).and_then(|file| rustix::fs::fsync(&*file).map_err(errno)), reply);
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let listed = self.reopen(ino, OFlags::RDONLY | OFlags::DIRECTORY).and_then(|dir| {
            let entries = Dir::read_from(dir.as_fd()).map_err(errno)?;
            let entry = |entry: rustix::fs::DirEntry| {
                (entry.file_name().to_owned(), entry.ino(), kind(entry.file_type().as_raw_mode()))
            };
            entries.map(|found| found.map(entry).map_err(errno)).collect::<Result<Vec<_>>>()
        });
        match listed {
            Ok(listed) => {
                let handle = self.handle();
                self.listings.lock().unwrap().insert(handle, Arc::new(Listing(listed)));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listing = self.listings.lock().unwrap().get(&handle.0).cloned();
        let Some(listing) = listing else { return reply.error(Errno::EBADF) };
        for (i, (name, ino, kind)) in listing.0.iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(*ino), i as u64 + 1, *kind, OsStr::from_bytes(name.to_bytes())) {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        dir: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let listing = self.listings.lock().unwrap().get(&handle.0).cloned();
        let Some(listing) = listing else { return reply.error(Errno::EBADF) };
        for (i, (name, ..)) in listing.0.iter().enumerate().skip(offset as usize) {
            let name = OsStr::from_bytes(name.to_bytes());
            let dots = name == "." || name == "..";
            let found = if dots {
                self.at(dir, |dir| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)).map(|stat| self.attr(&stat))
            } else {
                self.find(dir, name)
            };
            let Ok(attr) = found else { continue };
            let ino = if dots { INodeNo(0) } else { attr.ino };
            if reply.add(ino, i as u64 + 1, name, &FOR_EVER, &attr, GENERATION) {
                if !dots {
                    self.inodes.write().unwrap().entry(attr.ino.0).and_modify(|below| below.lookups -= 1);
                }
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.listings.lock().unwrap().remove(&handle.0);
        reply.ok();
    }
}

fn main() {
    let mut args = std::env::args_os().skip(1);
    let (Some(below), Some(dir)) = (args.next(), args.next()) else {
        return eprintln!("passthrough DIRECTORY MOUNTPOINT");
    };
    let path = openat(CWD, Path::new(&below), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .expect("the directory exists");
    let root = fstat(&path).expect("the directory is open").st_ino;
    let mut fs = Passthrough { root, ..Passthrough::default() };
    fs.inodes.get_mut().unwrap().insert(root, Below { path, lookups: 1 });
    let mut config = Config::default();
    config.n_threads = Some(4);
    config.clone_fd = true;
    config.acl = SessionACL::All;
    config.mount_options = vec![MountOption::FSName("passthrough".into()), MountOption::DefaultPermissions];
    fuser::mount(fs, Path::new(&dir), &config).expect("the mount succeeds");
}
