//! Tests of the file system without FUSE, on disks in memory.

mod crash;
mod directories;
mod links;
mod model;
mod operations;
mod room;

use std::sync::Arc;
use std::time::Duration;

use betree::{MemoryStorage, Options};
use senesce_betreefs::{Attr, Caller, Fs, NewInode, Result, check, mkfs};

/// The smallest image: blocks of 16 KiB, and zones from 64 KiB on.
const SMALL: u64 = 16 << 20;
const ROOT: u64 = senesce_betreefs::ROOT;
const ME: Caller = Caller { uid: 0, gid: 0 };

fn disk(bytes: u64) -> Arc<MemoryStorage> {
    let disk = Arc::new(MemoryStorage::new(bytes));
    mkfs(disk.clone(), (0, 0), "").unwrap();
    disk
}

/// Writes to a full store wait for readers as long as it takes, on a busy machine too.
fn store_options(cache_bytes: usize) -> Options {
    Options { cache_bytes, contiguous_leaves: true, reader_timeout: Duration::from_secs(3600) }
}

fn open(disk: &Arc<MemoryStorage>) -> Fs {
    Fs::open(disk.clone(), store_options(8 << 20)).unwrap()
}

fn assert_clean(disk: &Arc<MemoryStorage>) {
    let found = check(disk.clone()).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
}

fn file(fs: &Fs, dir: u64, name: &[u8]) -> Result<Attr> {
    fs.create(ME, dir, name, NewInode { mode: libc::S_IFREG | 0o644, rdev: 0, target: &[] })
}

fn dir(fs: &Fs, parent: u64, name: &[u8]) -> Result<Attr> {
    fs.create(ME, parent, name, NewInode { mode: libc::S_IFDIR | 0o755, rdev: 0, target: &[] })
}

fn content(fs: &Fs, ino: u64) -> Vec<u8> {
    let mut out = Vec::new();
    fs.read(ino, 0, u32::MAX, &mut out).unwrap();
    out
}

fn names(fs: &Fs, ino: u64) -> Vec<Vec<u8>> {
    let handle = fs.open_dir(ino).unwrap();
    let mut names = Vec::new();
    fs.read_dir(handle, 2, false, |entry| {
        names.push(entry.name.to_vec());
        true
    })
    .unwrap();
    fs.close_dir(handle);
    names
}

/// Bytes that differ between files and offsets.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// The number of an error.
fn errno<T: std::fmt::Debug>(result: Result<T>) -> i32 {
    result.unwrap_err().errno()
}
