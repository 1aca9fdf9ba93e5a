//! Walking a tree in parallel: one task a directory, and one for each further thousand files of a large one.
//! Everything is looked up relative to open directories, so paths of any length and trees that change meanwhile
//! are no trouble.

use super::AgeBy;
use super::tally::Tally;
use rayon::Scope;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Statx, StatxFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Files that one task looks at.
const CHUNK: usize = 1024;

/// Bytes of directory entries read at once.
const ENTRIES_BYTES: usize = 64 * 1024;

/// What all tasks share.
struct Walk {
    age_by: AgeBy,
    now: i64,
    /// The file system that is walked: device numbers of its root.
    device: (u32, u32),
    /// One tally a thread, so that its lock is never waited for.
    tallies: Vec<Mutex<Tally>>,
    /// Inodes of files with several names that were counted.
    linked: Mutex<HashSet<u64>>,
}

/// An open directory, and how it was reached: for messages only.
struct Dir {
    fd: OwnedFd,
    name: CString,
    depth: usize,
    parent: Option<Arc<Dir>>,
}

/// Counts everything below `path`.
pub fn walk(path: &Path, age_by: AgeBy, now: i64, threads: usize) -> Result<Tally, Errno> {
    raise_descriptor_limit();
    let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let root = stat(&fd, c"", AtFlags::EMPTY_PATH)?;
    let walk = Walk {
        age_by,
        now,
        device: (root.stx_dev_major, root.stx_dev_minor),
        tallies: (0..threads).map(|_| Mutex::new(Tally::new())).collect(),
        linked: Mutex::new(HashSet::new()),
    };
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    let root = Arc::new(Dir { fd, name, depth: 0, parent: None });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|_| Errno::AGAIN)?;
    pool.scope(|scope| walk.directory(scope, root));
    let mut sum = Tally::new();
    for tally in walk.tallies {
        sum.add(tally.into_inner().expect("no thread panics with the lock"));
    }
    Ok(sum)
}

impl Walk {
    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        let thread = rayon::current_thread_index().expect("tasks run in the pool");
        self.tallies[thread].lock().expect("no thread panics with the lock")
    }

    /// Counts the directory, and starts tasks for the directories in it.
    fn directory<'s>(&'s self, scope: &Scope<'s>, dir: Arc<Dir>) {
        self.tally().directories += 1;
        let mut buffer = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&dir.fd, buffer.spare_capacity_mut() as &mut [MaybeUninit<u8>]);
        let mut files = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    self.tally().unreadable(dir.path(None), e);
                    break;
                }
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            match entry.file_type() {
                FileType::RegularFile | FileType::Unknown => files.push(name.to_owned()),
                FileType::Directory => self.enter(scope, &dir, name),
                _ => self.tally().other += 1,
            }
            if files.len() == CHUNK {
                let (dir, files) = (dir.clone(), std::mem::take(&mut files));
                scope.spawn(move |scope| self.files(scope, &dir, &files));
            }
        }
        self.files(scope, &dir, &files);
    }

    fn enter<'s>(&'s self, scope: &Scope<'s>, parent: &Arc<Dir>, name: &CStr) {
        let (parent, name) = (parent.clone(), name.to_owned());
        scope.spawn(move |scope| {
            let opened = open_directory(&parent.fd, &name)
                .and_then(|fd| stat(&fd, c"", AtFlags::EMPTY_PATH).map(|stat| (fd, stat)));
            match opened {
                // The directory is there, though what it holds is not known.
                Err(e) => {
                    let mut tally = self.tally();
                    tally.subdirectory(parent.depth);
                    tally.unreadable(parent.path(Some(&name)), e);
                }
                Ok((_, stat)) if (stat.stx_dev_major, stat.stx_dev_minor) != self.device => {
                    self.tally().other_file_systems += 1;
                }
                Ok((fd, _)) => {
                    self.tally().subdirectory(parent.depth);
                    let depth = parent.depth + 1;
                    self.directory(scope, Arc::new(Dir { fd, name, depth, parent: Some(parent) }));
                }
            }
        });
    }

    fn files<'s>(&'s self, scope: &Scope<'s>, dir: &Arc<Dir>, names: &[CString]) {
        for name in names {
            match stat(&dir.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(e) => self.tally().unreadable(dir.path(Some(name)), e),
                Ok(stat) => match FileType::from_raw_mode(stat.stx_mode.into()) {
                    FileType::RegularFile => self.file(dir.depth, &stat),
                    // Some file systems do not tell the type in the directory.
                    FileType::Directory => self.enter(scope, dir, name),
                    _ => self.tally().other += 1,
                },
            }
        }
    }

    fn file(&self, depth: usize, stat: &Statx) {
        if stat.stx_nlink > 1
            && !self.linked.lock().expect("no thread panics with the lock").insert(stat.stx_ino)
        {
            self.tally().hard_links += 1;
            return;
        }
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let since = match self.age_by {
            AgeBy::Birth if has_birth => stat.stx_btime.tv_sec,
            _ => stat.stx_mtime.tv_sec,
        };
        let mut tally = self.tally();
        tally.without_birth += u64::from(self.age_by == AgeBy::Birth && !has_birth);
        // A time in the future is as young as can be.
        tally.file(depth, stat.stx_size, (self.now - since).max(0) as u64);
    }
}

impl Dir {
    fn path(&self, name: Option<&CStr>) -> PathBuf {
        let mut path = match &self.parent {
            Some(parent) => parent.path(Some(&self.name)),
            None => PathBuf::from(OsStr::from_bytes(self.name.to_bytes())),
        };
        path.extend(name.map(|n| OsStr::from_bytes(n.to_bytes())));
        path
    }
}

fn open_directory(parent: &OwnedFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn stat(dir: &OwnedFd, name: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    let wanted = StatxFlags::TYPE
        | StatxFlags::SIZE
        | StatxFlags::NLINK
        | StatxFlags::INO
        | StatxFlags::MTIME
        | StatxFlags::BTIME;
    rustix::fs::statx(dir, name, flags | AtFlags::NO_AUTOMOUNT, wanted)
}

/// Wide trees keep a descriptor open for each directory whose children wait to be walked.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it cannot be raised, directories that then cannot be opened are reported.
    let _ = setrlimit(Resource::Nofile, limit);
}
