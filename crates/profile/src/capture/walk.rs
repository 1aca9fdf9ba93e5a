//! Counts a tree in parallel.

use super::AgeBy;
use super::tally::Tally;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Statx, StatxFlags};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use tree::{DirOp, ListedFile, Names, PerThread, Visitor, walk_parallel};

struct Count {
    age_by: AgeBy,
    now: i64,
    /// Device numbers of the root: the only file system that is walked.
    device: (u32, u32),
    tallies: PerThread<Tally>,
    /// Inodes of files with several names that were counted.
    linked: Mutex<HashSet<u64>>,
}

/// A directory. The names up to the root form its path for messages.
struct Dir {
    name: CString,
    depth: usize,
    parent: Option<Arc<Dir>>,
}

/// Counts everything below `path`.
pub fn walk(path: &Path, age_by: AgeBy, now: i64, threads: usize) -> io::Result<Tally> {
    let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let count = Count {
        age_by,
        now,
        device: device(&fd)?,
        tallies: PerThread::new(threads, Tally::new),
        linked: Mutex::new(HashSet::new()),
    };
    let name = CString::new(path.as_os_str().as_bytes())?;
    walk_parallel(fd, Arc::new(Dir { name, depth: 0, parent: None }), threads, &count)?;
    let mut sum = Tally::new();
    count.tallies.into_values().for_each(|tally| sum.add(tally));
    Ok(sum)
}

impl Visitor for Count {
    type Dir = Arc<Dir>;

    fn subdirectories(&self, parent: &Arc<Dir>, names: &[CString]) -> Vec<Arc<Dir>> {
        let depth = parent.depth + 1;
        let dir = |name: &CString| Arc::new(Dir { name: name.clone(), depth, parent: Some(parent.clone()) });
        names.iter().map(dir).collect()
    }

    fn directory(&self, dir: &Arc<Dir>, fd: &OwnedFd) -> bool {
        match device(fd) {
            Err(errno) => self.failed(dir, DirOp::Open, errno),
            Ok(device) if device != self.device => self.tally().other_file_systems += 1,
            Ok(_) => {
                let mut tally = self.tally();
                tally.directories += 1;
                tally.subdirectory_of(dir.parent.as_deref().map(|parent| parent.depth));
                return true;
            }
        }
        false
    }

    fn failed(&self, dir: &Arc<Dir>, op: DirOp, errno: Errno) {
        let mut tally = self.tally();
        // The directory exists, but its contents are unknown.
        if op == DirOp::Open {
            tally.subdirectory_of(dir.parent.as_deref().map(|parent| parent.depth));
        }
        tally.unreadable(dir.path(None), errno);
    }

    fn files(&self, dir: &Arc<Dir>, fd: BorrowedFd<'_>, names: &Names, files: &[ListedFile]) -> Vec<CString> {
        let mut dirs = Vec::new();
        for listed in files {
            if !matches!(listed.file_type, FileType::RegularFile | FileType::Unknown) {
                self.tally().other += 1;
                continue;
            }
            let name = names.of(listed);
            match stat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(errno) => self.tally().unreadable(dir.path(Some(name)), errno),
                Ok(stat) => match FileType::from_raw_mode(stat.stx_mode.into()) {
                    FileType::RegularFile => self.file(dir.depth, &stat),
                    FileType::Directory => dirs.push(name.to_owned()),
                    _ => self.tally().other += 1,
                },
            }
        }
        dirs
    }
}

impl Count {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tallies.own()
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
        // A time in the future counts as age 0.
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

fn device(dir: &OwnedFd) -> Result<(u32, u32), Errno> {
    let stat = stat(dir.as_fd(), c"", AtFlags::EMPTY_PATH)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor))
}

fn stat(dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    let wanted = StatxFlags::TYPE
        | StatxFlags::SIZE
        | StatxFlags::NLINK
        | StatxFlags::INO
        | StatxFlags::MTIME
        | StatxFlags::BTIME;
    rustix::fs::statx(dir, name, flags | AtFlags::NO_AUTOMOUNT, wanted)
}
