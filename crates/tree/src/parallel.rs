//! Walks with several threads: one task for a directory, and one for each further thousand files of a large one.

use crate::list::{LISTING_BYTES, ListedFile, Listing, Names, list};
use rayon::Scope;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard};

/// Files that one task visits.
const CHUNK: usize = 1024;

/// An operation on a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirOp {
    /// Opening it.
    Open,
    /// Reading its names.
    Read,
}

/// What a parallel walk finds, it gives to one of these; several threads call each method at the same time.
pub trait Visitor: Sync {
    /// What the visitor knows of a directory.
    type Dir: Send + Sync;

    /// Subdirectories of `parent`, which the walk will open.
    fn subdirectories(&self, parent: &Self::Dir, names: &[CString]) -> Vec<Self::Dir>;

    /// An open directory. The walk reads it only if this returns true.
    fn directory(&self, dir: &Self::Dir, fd: &OwnedFd) -> bool;

    /// A directory that cannot be opened, or not be read to its end.
    fn failed(&self, dir: &Self::Dir, op: DirOp, errno: Errno);

    /// Files of a directory. Returns the names of those that are directories after all: some file systems list no types.
    fn files(&self, dir: &Self::Dir, fd: BorrowedFd<'_>, names: &Names, files: &[ListedFile])
    -> Vec<CString>;

    /// Whether the walk shall end early.
    fn should_stop(&self) -> bool {
        false
    }
}

/// A value for each thread of a walk, so that no thread waits for another's lock.
pub struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    /// Makes one for each of `threads` threads.
    pub fn new(threads: usize, make: impl Fn() -> T) -> PerThread<T> {
        PerThread((0..threads).map(|_| Mutex::new(make())).collect())
    }

    /// That of this thread.
    ///
    /// # Panics
    /// Outside a walk, and in one with more threads.
    pub fn own(&self) -> MutexGuard<'_, T> {
        let thread = rayon::current_thread_index().expect("visitors run in the threads of a walk");
        self.0[thread].lock().expect("no thread panics with the lock")
    }

    /// Those of all threads.
    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.0.into_iter().map(|value| value.into_inner().expect("no thread panics with the lock"))
    }
}

/// Walks the tree below the open directory `root` with `threads` threads.
///
/// # Errors
/// If the threads cannot be started.
pub fn walk_parallel<V: Visitor>(root: OwnedFd, dir: V::Dir, threads: usize, visitor: &V) -> io::Result<()> {
    raise_descriptor_limit();
    let buffers = PerThread::new(threads, || Vec::with_capacity(LISTING_BYTES));
    let walk = Walk { visitor, buffers };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    pool.scope(|scope| walk.directory(scope, dir, root));
    Ok(())
}

/// Opens a directory without updating its time of access, where the system permits that, and without waiting for a pipe that has
/// taken its place.
///
/// # Errors
/// If the system refuses it.
pub fn open_dir(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // Only its owner and root may keep the time.
    match openat(parent, name, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => openat(parent, name, flags, Mode::empty()),
        opened => opened,
    }
}

struct Walk<'v, V> {
    visitor: &'v V,
    buffers: PerThread<Vec<u8>>,
}

/// A directory, open for the tasks of its subdirectories and files.
struct Open<D> {
    fd: OwnedFd,
    dir: D,
}

impl<V: Visitor> Walk<'_, V> {
    fn directory<'s>(&'s self, scope: &Scope<'s>, dir: V::Dir, fd: OwnedFd)
    where
        V::Dir: 's,
    {
        if !self.visitor.directory(&dir, &fd) {
            return;
        }
        let mut listing = Listing::default();
        let listed = list(&fd, &mut self.buffers.own(), &mut listing);
        if let Err(errno) = listed {
            self.visitor.failed(&dir, DirOp::Read, errno);
        }
        let Listing { dirs, mut files, names } = listing;
        let (open, names) = (Arc::new(Open { fd, dir }), Arc::new(names));
        self.enter(scope, &open, dirs);
        // Disks are read in the order of inodes.
        files.sort_unstable_by_key(|listed| listed.inode);
        while files.len() > CHUNK {
            let chunk = files.split_off(files.len() - CHUNK);
            let (open, names) = (open.clone(), names.clone());
            scope.spawn(move |scope| self.files(scope, &open, &names, &chunk));
        }
        self.files(scope, &open, &names, &files);
    }

    /// Starts a task for each of these subdirectories.
    fn enter<'s>(&'s self, scope: &Scope<'s>, parent: &Arc<Open<V::Dir>>, names: Vec<CString>)
    where
        V::Dir: 's,
    {
        let dirs = self.visitor.subdirectories(&parent.dir, &names);
        for (dir, name) in dirs.into_iter().zip(names) {
            let parent = parent.clone();
            scope.spawn(move |scope| {
                if self.visitor.should_stop() {
                    return;
                }
                match open_dir(parent.fd.as_fd(), &name) {
                    Ok(fd) => {
                        drop(parent);
                        self.directory(scope, dir, fd);
                    }
                    Err(errno) => self.visitor.failed(&dir, DirOp::Open, errno),
                }
            });
        }
    }

    fn files<'s>(&'s self, scope: &Scope<'s>, open: &Arc<Open<V::Dir>>, names: &Names, files: &[ListedFile])
    where
        V::Dir: 's,
    {
        if files.is_empty() || self.visitor.should_stop() {
            return;
        }
        let dirs = self.visitor.files(&open.dir, open.fd.as_fd(), names, files);
        self.enter(scope, open, dirs);
    }
}

/// A wide tree keeps a descriptor open for each directory whose subdirectories wait. If the limit cannot be raised,
/// directories that cannot be opened are reported.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
