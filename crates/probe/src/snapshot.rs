//! Takes a snapshot of a live tree: for each name the attributes that Smith and Seltzer recorded (File System Aging, 1997, §3.1), and what
//! current file systems provide in addition: birth time, extents, names.
//!
//! The tree may change during the walk. The attributes of one file are consistent: they are read from the file, opened once, or from its
//! inode on disk, read once, if the file system supports bulk reads. There is no consistency between files, except that
//! all were read between two recorded times. Files that vanish during the walk are counted and left out.

mod assemble;
mod bulk;
mod examine;
mod identity;
mod walk;

use crate::{Error, Result};
use bulk::Bulk;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat, syncfs};
use rustix::time::{ClockId, clock_gettime};
use snapshot::{Info, Key, Snapshot};
use std::path::Path;

/// Takes a snapshot of the tree below `root`, without other file systems, using `threads` threads. With a `key`, names are stored as
/// hashes. `tool` is recorded as the program that took it.
///
/// Writes back delayed data first, so that it has a location on disk.
///
/// # Errors
/// A directory that cannot be read, for example for lack of permission, because its contents would look deleted. A file that cannot
/// be opened is counted as unmapped instead: only its extents and generation are missing.
pub fn snapshot(root: &Path, tool: &str, threads: usize, key: Option<&Key>) -> Result<Snapshot> {
    take_snapshot(root, tool, threads, key, true)
}

/// Like [`snapshot`], but with system calls only, for tests.
///
/// # Errors
/// As [`snapshot`].
#[doc(hidden)]
pub fn snapshot_by_syscalls(root: &Path, tool: &str, threads: usize, key: Option<&Key>) -> Result<Snapshot> {
    take_snapshot(root, tool, threads, key, false)
}

fn take_snapshot(
    root: &Path,
    tool: &str,
    threads: usize,
    key: Option<&Key>,
    is_bulk_wanted: bool,
) -> Result<Snapshot> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, root, flags, Mode::empty()).map_err(Error::io("opening", root))?;
    let synced_ns = now_ns();
    syncfs(&fd).map_err(Error::io("syncing the file system of", root))?;
    let begun_ns = now_ns();
    let path = root.canonicalize().map_err(Error::io("finding", root))?;
    let mount = disk::mount_holding(&path)?;
    let device = examine::device(&fd).map_err(Error::io("examining", root))?;
    let bulk = mount.as_ref().filter(|_| is_bulk_wanted);
    let bulk = bulk.and_then(|mount| Bulk::of(mount, device, synced_ns));
    let walked = walk::walk(&fd, root, device, bulk, threads, key)?;
    let identity = identity::of(&fd, mount);
    let space = fstatvfs(&fd).map_err(Error::io("reading the space of", root))?;
    let info = Info {
        tool: tool.to_owned(),
        fs: identity.fs,
        fs_id: identity.id,
        block_bytes: space.f_bsize,
        capacity_bytes: space.f_blocks * space.f_frsize,
        used_bytes: space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize,
        begun_ns,
        ended_ns: now_ns(),
        vanished: walked.vanished,
        unmapped: walked.unmapped,
        other_fs: walked.other_fs,
        lacks: Vec::new(),
        key_id: key.map(Key::id),
    };
    Ok(assemble::assemble(info, walked, key))
}

fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
