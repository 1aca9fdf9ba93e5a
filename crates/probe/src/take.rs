//! Takes a snapshot of a live tree: per name what Smith and Seltzer recorded (File System Aging, 1997, §3.1), and what
//! file systems tell today: time of birth, extents, names.
//!
//! A tree in use changes while it is walked. What is said of one file is said by the file itself, opened once, or by its
//! inode on disk, read once, where the file system gives facts in bulk; between files nothing
//! is promised but the two times within which all was seen. What vanishes meanwhile is counted and left out.

mod assemble;
mod bulk;
mod identity;
mod look;
mod walk;

use crate::{Error, Result};
use bulk::Bulk;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, openat, syncfs};
use rustix::time::{ClockId, clock_gettime};
use snapshot::{Info, Key, Snapshot};
use std::path::Path;

/// Takes a snapshot of the tree below `root`, of one file system only, with `threads` threads; names as hashes under
/// `key`, if there is one. `tool` is the program to be named as its taker.
///
/// Delayed data is written back first, so that it has a place on disk.
///
/// # Errors
/// A directory that cannot be read, for lack of permission for instance: what it holds would look deleted. Files that cannot
/// be opened are counted as unmapped instead, for all but their extents and generation is known.
pub fn snapshot(root: &Path, tool: &str, threads: usize, key: Option<&Key>) -> Result<Snapshot> {
    take(root, tool, threads, key, true)
}

/// The same by calls for each file alone, for tests.
///
/// # Errors
/// As [`snapshot`].
#[doc(hidden)]
pub fn snapshot_by_calls(root: &Path, tool: &str, threads: usize, key: Option<&Key>) -> Result<Snapshot> {
    take(root, tool, threads, key, false)
}

fn take(
    root: &Path,
    tool: &str,
    threads: usize,
    key: Option<&Key>,
    is_bulk_wanted: bool,
) -> Result<Snapshot> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, root, flags, Mode::empty()).map_err(Error::io("opening", root))?;
    let settled_ns = now_ns();
    syncfs(&fd).map_err(Error::io("syncing the file system of", root))?;
    let begun_ns = now_ns();
    let path = root.canonicalize().map_err(Error::io("finding", root))?;
    let mount = disk::mount_holding(&path)?;
    let device = look::device(&fd).map_err(Error::io("examining", root))?;
    let bulk = mount.as_ref().filter(|_| is_bulk_wanted);
    let bulk = bulk.and_then(|mount| Bulk::of(mount, device, settled_ns));
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
