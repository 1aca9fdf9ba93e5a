//! Examines every name of a tree in parallel.

use super::bulk::Bulk;
use super::examine::{Examined, Examiner, Unsupported, examine_dir};
use crate::{Error, Result};
use rustix::io::Errno;
use snapshot::{Entry, Extent, Key};
use std::ffi::{CStr, CString, OsStr};
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use tree::{DirOp, ListedFile, Names, PerThread, Visitor, open_dir, walk_parallel};

/// The result of a walk.
pub struct WalkResult {
    /// All directories; the root is the first.
    pub dirs: Vec<Dir>,
    /// All other entries, one batch per thread.
    pub batches: Vec<FileBatch>,
    pub vanished: u64,
    pub unmapped: u64,
    pub other_fs: u64,
}

/// A directory.
pub struct Dir {
    /// The number of its parent directory.
    pub parent: u32,
    /// Its name in the parent.
    pub name: CString,
    /// `None` if it was deleted or on another file system when it was examined.
    pub entry: Option<Entry>,
}

/// The entries found by one thread, except directories. They are in three large allocations, because many small ones would be
/// requested from the kernel page by page.
#[derive(Default)]
pub struct FileBatch {
    /// Sorted by name within each task.
    pub files: Vec<File>,
    names: Vec<u8>,
    extents: Vec<Extent>,
}

/// An entry of a batch.
pub struct File {
    /// The number of its directory.
    pub dir: u32,
    pub entry: Entry,
    name: Range<usize>,
    extents: Range<usize>,
}

impl FileBatch {
    /// The name of a file, or its hash.
    pub fn name(&self, file: &File) -> &[u8] {
        &self.names[file.name.clone()]
    }

    /// Adds a file of the directory `dir`; its extents start at `first_extent` and are the last in `extents`.
    fn add(&mut self, dir: u32, entry: Entry, name: &CStr, key: Option<&Key>, first_extent: usize) {
        let first = self.names.len();
        match key {
            Some(key) => self.names.extend(key.hash_name(name.to_bytes()).into_bytes()),
            None => self.names.extend(name.to_bytes()),
        }
        let (name, extents) = (first..self.names.len(), first_extent..self.extents.len());
        self.files.push(File { dir, entry, name, extents });
    }

    /// The extents of a file.
    pub fn extents(&self, file: &File) -> &[Extent] {
        &self.extents[file.extents.clone()]
    }
}

/// Walks everything below the open directory `root`, which is at `path` on the file system `device`.
pub fn walk(
    root: &OwnedFd,
    path: &Path,
    device: (u32, u32),
    bulk: Option<Bulk>,
    threads: usize,
    key: Option<&Key>,
) -> Result<WalkResult> {
    let fd = open_dir(root.as_fd(), c".").map_err(Error::io("opening", path))?;
    let dir = Dir { parent: 0, name: CString::default(), entry: None };
    let walk = Walk {
        device,
        bulk,
        key,
        unsupported: Unsupported::default(),
        dirs: Mutex::new(vec![dir]),
        workers: PerThread::new(threads, Worker::default),
        failed: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    walk_parallel(fd, 0, threads, &walk)
        .map_err(|e| Error::cannot("starting the threads of a walk", e.to_string()))?;
    let dirs = walk.dirs.into_inner().expect("no thread panics with the lock");
    if let Some(failure) = walk.failure.into_inner().expect("no thread panics with the lock") {
        return Err(failure.error(path, &dirs));
    }
    let mut walked = WalkResult { dirs, batches: Vec::new(), vanished: 0, unmapped: 0, other_fs: 0 };
    for worker in walk.workers.into_values() {
        walked.batches.push(worker.batch);
        walked.vanished += worker.vanished;
        walked.unmapped += worker.unmapped;
        walked.other_fs += worker.other_fs;
    }
    Ok(walked)
}

/// The state shared by all tasks.
struct Walk<'k> {
    /// The walked file system.
    device: (u32, u32),
    bulk: Option<Bulk>,
    key: Option<&'k Key>,
    unsupported: Unsupported,
    dirs: Mutex<Vec<Dir>>,
    workers: PerThread<Worker>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// The results of one thread.
#[derive(Default)]
struct Worker {
    examiner: Examiner,
    batch: FileBatch,
    vanished: u64,
    unmapped: u64,
    other_fs: u64,
}

/// Why the walk ended early.
struct Failure {
    doing: &'static str,
    dir: u32,
    name: Option<CString>,
    errno: Errno,
}

impl Walk<'_> {
    fn dirs(&self) -> MutexGuard<'_, Vec<Dir>> {
        self.dirs.lock().expect("no thread panics with the lock")
    }

    fn fail(&self, doing: &'static str, dir: u32, name: Option<&CStr>, errno: Errno) {
        self.failed.store(true, Relaxed);
        let mut failure = self.failure.lock().expect("no thread panics with the lock");
        failure.get_or_insert_with(|| Failure { doing, dir, name: name.map(CStr::to_owned), errno });
    }
}

/// Identifies a directory by its index in the list of directories.
impl Visitor for Walk<'_> {
    type Dir = u32;

    fn subdirectories(&self, &parent: &u32, names: &[CString]) -> Vec<u32> {
        let mut dirs = self.dirs();
        let first = dirs.len() as u32;
        dirs.extend(names.iter().map(|name| Dir { parent, name: name.clone(), entry: None }));
        (first..dirs.len() as u32).collect()
    }

    fn directory(&self, &number: &u32, fd: &OwnedFd) -> bool {
        // Only the root may be a mount point.
        let device = (number != 0).then_some(self.device);
        match examine_dir(fd, device, &self.unsupported) {
            Ok(Some(entry)) => {
                self.dirs()[number as usize].entry = Some(entry);
                return true;
            }
            Ok(None) => self.workers.own().other_fs += 1,
            Err(errno) => self.fail("examining directory", number, None, errno),
        }
        false
    }

    fn failed(&self, &number: &u32, op: DirOp, errno: Errno) {
        match (op, errno) {
            // Deleted in the meantime, or no longer a directory.
            (DirOp::Open, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::STALE) => {
                self.workers.own().vanished += 1;
            }
            (DirOp::Read, Errno::NOENT) if number != 0 => {
                self.dirs()[number as usize].entry = None;
                self.workers.own().vanished += 1;
            }
            (DirOp::Open, errno) => self.fail("opening directory", number, None, errno),
            (DirOp::Read, errno) => self.fail("reading directory", number, None, errno),
        }
    }

    /// Examines the files in bulk if possible, otherwise by system calls.
    fn files(&self, &number: &u32, fd: BorrowedFd<'_>, names: &Names, listed: &[ListedFile]) -> Vec<CString> {
        let mut dirs = Vec::new();
        let mut locked = self.workers.own();
        let Worker { examiner, batch, vanished, unmapped, other_fs } = &mut *locked;
        let first_file = batch.files.len();
        let mut by_syscalls = Vec::new();
        match &self.bulk {
            Some(bulk) => bulk.read(
                listed,
                |listed| names.of(listed),
                |index, facts| match facts {
                    Some((entry, extents)) => {
                        let start = batch.extents.len();
                        batch.extents.extend_from_slice(extents);
                        batch.add(number, entry, names.of(&listed[index]), self.key, start);
                    }
                    None => by_syscalls.push(&listed[index]),
                },
            ),
            None => by_syscalls.extend(listed),
        }
        for listed in by_syscalls {
            let name = names.of(listed);
            let start = batch.extents.len();
            let extents = &mut batch.extents;
            match examiner.examine(fd, name, listed.file_type, self.device, &self.unsupported, extents) {
                Ok(Examined::File { entry, mapped }) => {
                    *unmapped += u64::from(!mapped);
                    *vanished += u64::from(is_another(listed.inode, entry.inode));
                    batch.add(number, entry, name, self.key, start);
                }
                Ok(Examined::Dir) => dirs.push(name.to_owned()),
                Ok(Examined::OtherFs) => *other_fs += 1,
                Ok(Examined::Gone) => *vanished += 1,
                Err(errno) => self.fail("examining", number, Some(name), errno),
            }
        }
        let FileBatch { files, names, .. } = batch;
        files[first_file..].sort_unstable_by(|a, b| names[a.name.clone()].cmp(&names[b.name.clone()]));
        dirs
    }

    fn should_stop(&self) -> bool {
        self.failed.load(Relaxed)
    }
}

/// Whether a name refers to another file than when it was listed. File systems in user space may list no inode number.
fn is_another(listed: u64, found: u64) -> bool {
    listed != found && !matches!(listed, 0 | 0xffff_ffff)
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
                "permission denied, so its contents would look deleted; run as root, or choose a tree that \
                 you can read",
            ),
            Errno::MFILE | Errno::NFILE => Error::cannot(
                format!("{} {}", self.doing, path.display()),
                "too many open files; raise the limit (ulimit -n), or use fewer --threads",
            ),
            errno => Error::io(self.doing, &path)(errno),
        }
    }
}
