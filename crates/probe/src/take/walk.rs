//! Walks a tree with several threads: one task a directory, and one for each further thousand names of a large one.
//! Everything is looked up relative to open directories, so paths may be of any length.

use super::look::{Found, Looker, Silent, device, look_at_dir, open_dir};
use crate::{Error, Result};
use rayon::Scope;
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use snapshot::{Entry, Extent, Key};
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

/// Names that one task looks at.
const CHUNK: usize = 1024;

/// Bytes of directory entries read at once.
const LISTING_BYTES: usize = 64 * 1024;

/// What a walk has found.
pub struct Walked {
    /// All directories; the first is the root.
    pub dirs: Vec<Dir>,
    /// What else there is, a part for each thread.
    pub parts: Vec<Part>,
    pub vanished: u64,
    pub unmapped: u64,
    pub other_fs: u64,
}

/// A directory.
pub struct Dir {
    /// The number of the one that it is in.
    pub parent: u32,
    /// Its name there.
    pub name: CString,
    /// Absent if it was gone, or of another file system, when it was looked at.
    pub entry: Option<Entry>,
}

/// What one thread has found, directories apart. All of it lies in three large pieces of memory: many small ones would be
/// asked of the kernel page by page.
#[derive(Default)]
pub struct Part {
    /// Those that were found in one task are in byte order of their names.
    pub files: Vec<File>,
    names: Vec<u8>,
    extents: Vec<Extent>,
}

/// One of them.
pub struct File {
    /// The number of its directory.
    pub dir: u32,
    pub entry: Entry,
    name: Range<usize>,
    extents: Range<usize>,
}

impl Part {
    /// The name of one of its files, or the hash of it.
    pub fn name(&self, file: &File) -> &[u8] {
        &self.names[file.name.clone()]
    }

    /// Its extents.
    pub fn extents(&self, file: &File) -> &[Extent] {
        &self.extents[file.extents.clone()]
    }
}

/// Walks everything below the open directory `root`, which is at `path`.
pub fn walk(root: &OwnedFd, path: &Path, threads: usize, key: Option<&Key>) -> Result<Walked> {
    let examined = device(root).and_then(|device| Ok((device, open_dir(root.as_fd(), c".")?)));
    let (device, fd) = examined.map_err(Error::io("examining", path))?;
    let dir = Dir { parent: 0, name: CString::default(), entry: None };
    let walk = Walk {
        device,
        key,
        silent: Silent::default(),
        dirs: Mutex::new(vec![dir]),
        workers: (0..threads).map(|_| Mutex::new(Worker::new())).collect(),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Error::cannot("starting the threads of a walk", e.to_string()))?;
    pool.scope(|scope| walk.directory(scope, 0, fd));
    let dirs = walk.dirs.into_inner().expect("no thread panics with the lock");
    if let Some(failure) = walk.failure.into_inner().expect("no thread panics with the lock") {
        return Err(failure.error(path, &dirs));
    }
    let mut walked = Walked { dirs, parts: Vec::new(), vanished: 0, unmapped: 0, other_fs: 0 };
    for worker in walk.workers {
        let worker = worker.into_inner().expect("no thread panics with the lock");
        walked.parts.push(worker.part);
        walked.vanished += worker.vanished;
        walked.unmapped += worker.unmapped;
        walked.other_fs += worker.other_fs;
    }
    Ok(walked)
}

/// What all tasks share.
struct Walk<'k> {
    /// The file system that is walked.
    device: (u32, u32),
    key: Option<&'k Key>,
    silent: Silent,
    dirs: Mutex<Vec<Dir>>,
    /// One a thread, so that its lock is never waited for.
    workers: Vec<Mutex<Worker>>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// What a thread has, and what it has found.
struct Worker {
    looker: Looker,
    /// Room for a piece of a directory's listing.
    listing: Vec<u8>,
    part: Part,
    vanished: u64,
    unmapped: u64,
    other_fs: u64,
}

impl Worker {
    fn new() -> Worker {
        Worker {
            looker: Looker::new(),
            listing: Vec::with_capacity(LISTING_BYTES),
            part: Part::default(),
            vanished: 0,
            unmapped: 0,
            other_fs: 0,
        }
    }
}

/// A name as its directory listed it.
struct Listed {
    name: CString,
    file_type: FileType,
    inode: u64,
}

/// Why the walk ended early.
struct Failure {
    doing: &'static str,
    dir: u32,
    name: Option<CString>,
    errno: Errno,
}

impl<'k> Walk<'k> {
    fn worker(&self) -> MutexGuard<'_, Worker> {
        let thread = rayon::current_thread_index().expect("tasks run in the pool");
        self.workers[thread].lock().expect("no thread panics with the lock")
    }

    fn dirs(&self) -> MutexGuard<'_, Vec<Dir>> {
        self.dirs.lock().expect("no thread panics with the lock")
    }

    fn fail(&self, doing: &'static str, dir: u32, name: Option<&CStr>, errno: Errno) {
        self.failed.store(true, Relaxed);
        let mut failure = self.failure.lock().expect("no thread panics with the lock");
        failure.get_or_insert_with(|| Failure { doing, dir, name: name.map(CStr::to_owned), errno });
    }

    /// Walks the open directory `fd`, which has that number.
    fn directory<'s>(&'s self, scope: &Scope<'s>, number: u32, fd: OwnedFd) {
        // Only the root may be the root of a mount.
        let device = (number != 0).then_some(self.device);
        match look_at_dir(&fd, device, &self.silent) {
            Ok(Some(entry)) => self.dirs()[number as usize].entry = Some(entry),
            Ok(None) => return self.worker().other_fs += 1,
            Err(errno) => return self.fail("examining directory", number, None, errno),
        }
        let listed = list(&fd, &mut self.worker().listing);
        let listed = match listed {
            Ok(listed) => listed,
            // Removed meanwhile.
            Err(Errno::NOENT) if number != 0 => {
                self.dirs()[number as usize].entry = None;
                return self.worker().vanished += 1;
            }
            Err(errno) => return self.fail("reading directory", number, None, errno),
        };
        let (dirs, mut files): (Vec<Listed>, Vec<Listed>) =
            listed.into_iter().partition(|listed| listed.file_type == FileType::Directory);
        let fd = Arc::new(fd);
        self.enter(scope, number, &fd, dirs.into_iter().map(|dir| dir.name).collect());
        // Disks are read in the order of inodes.
        files.sort_unstable_by_key(|listed| listed.inode);
        while files.len() > CHUNK {
            let chunk = files.split_off(files.len() - CHUNK);
            let fd = fd.clone();
            scope.spawn(move |scope| self.files(scope, number, &fd, chunk));
        }
        self.files(scope, number, &fd, files);
    }

    /// Starts a task for each of these directories in the directory with that number.
    fn enter<'s>(&'s self, scope: &Scope<'s>, parent: u32, fd: &Arc<OwnedFd>, names: Vec<CString>) {
        let first = {
            let mut dirs = self.dirs();
            let first = dirs.len() as u32;
            dirs.extend(names.iter().map(|name| Dir { parent, name: name.clone(), entry: None }));
            first
        };
        for (number, name) in (first..).zip(names) {
            let above = fd.clone();
            scope.spawn(move |scope| {
                if self.failed.load(Relaxed) {
                    return;
                }
                match open_dir(above.as_fd(), &name) {
                    Ok(fd) => {
                        drop(above);
                        self.directory(scope, number, fd);
                    }
                    // Gone, or no directory any more.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE) => {
                        self.worker().vanished += 1;
                    }
                    Err(errno) => self.fail("opening directory", number, None, errno),
                }
            });
        }
    }

    /// Looks at names in the directory with that number.
    fn files<'s>(&'s self, scope: &Scope<'s>, number: u32, fd: &Arc<OwnedFd>, listed: Vec<Listed>) {
        if listed.is_empty() || self.failed.load(Relaxed) {
            return;
        }
        let mut dirs = Vec::new();
        let mut locked = self.worker();
        let worker = &mut *locked;
        let part = &mut worker.part;
        let first_file = part.files.len();
        for Listed { name, file_type, inode } in listed {
            let start = part.extents.len();
            let found = worker.looker.look(
                fd.as_fd(),
                &name,
                file_type,
                self.device,
                &self.silent,
                &mut part.extents,
            );
            match found {
                Ok(Found::File { entry, mapped }) => {
                    worker.unmapped += u64::from(!mapped);
                    worker.vanished += u64::from(is_another(inode, entry.inode));
                    let first = part.names.len();
                    match self.key {
                        Some(key) => part.names.extend(key.name(name.to_bytes()).into_bytes()),
                        None => part.names.extend(name.to_bytes()),
                    }
                    part.files.push(File {
                        dir: number,
                        entry,
                        name: first..part.names.len(),
                        extents: start..part.extents.len(),
                    });
                }
                Ok(Found::Dir) => dirs.push(name),
                Ok(Found::OtherFs) => worker.other_fs += 1,
                Ok(Found::Gone) => worker.vanished += 1,
                Err(errno) => self.fail("examining", number, Some(&name), errno),
            }
        }
        let Part { files, names, .. } = part;
        files[first_file..].sort_unstable_by(|a, b| names[a.name.clone()].cmp(&names[b.name.clone()]));
        drop(locked);
        self.enter(scope, number, fd, dirs);
    }
}

/// Whether a name stands for another file than it did when it was listed. File systems in user space may list none.
fn is_another(listed: u64, found: u64) -> bool {
    listed != found && !matches!(listed, 0 | 0xffff_ffff)
}

/// What a directory lists, read piece by piece into the spare room of `buffer`.
fn list(fd: &OwnedFd, buffer: &mut Vec<u8>) -> std::result::Result<Vec<Listed>, Errno> {
    let mut entries = RawDir::new(fd, buffer.spare_capacity_mut() as &mut [MaybeUninit<u8>]);
    let mut listed = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            listed.push(Listed { name: name.to_owned(), file_type: entry.file_type(), inode: entry.ino() });
        }
    }
    Ok(listed)
}

impl Failure {
    fn error(self, root: &Path, dirs: &[Dir]) -> Error {
        let mut names = Vec::from_iter(self.name.as_deref());
        let mut dir = self.dir as usize;
        while dir != 0 {
            names.push(&dirs[dir].name);
            dir = dirs[dir].parent as usize;
        }
        let mut path = root.to_path_buf();
        path.extend(names.iter().rev().map(|name| PathBuf::from(OsStr::from_bytes(name.to_bytes()))));
        match self.errno {
            Errno::ACCESS | Errno::PERM => Error::cannot(
                format!("{} {}", self.doing, path.display()),
                "permission denied, and without it what it holds would look deleted; run as root, or take a tree \
                 that you may read",
            ),
            Errno::MFILE | Errno::NFILE => Error::cannot(
                format!("{} {}", self.doing, path.display()),
                "too many files are open; raise the limit (ulimit -n), or take it with fewer --threads",
            ),
            errno => Error::io(self.doing, &path)(errno),
        }
    }
}
