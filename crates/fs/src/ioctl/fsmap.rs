//! Free space of ext4 and XFS: `FS_IOC_GETFSMAP` of `<linux/fsmap.h>` lists the owner of every block.

use disk::Extent;
use rustix::ioctl::{Updater, ioctl, opcode};
use std::fs::File;
use std::io;
use std::path::Path;

/// Records per request.
const RECORDS: usize = 1024;

/// `FMR_OWN_FREE`, and the flag that marks a special owner.
const OWNER_FREE: u64 = 1;
const FLAG_SPECIAL_OWNER: u32 = 0x10;
const FLAG_LAST: u32 = 0x20;

/// `struct fsmap`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Record {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

/// `struct fsmap_head` without records; its size is part of the request number.
#[repr(C)]
struct Head {
    in_flags: u32,
    out_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Record; 2],
}

#[repr(C)]
struct Query {
    head: Head,
    records: [Record; RECORDS],
}

/// The free extents of the file system that contains `root`, by address. Covers only the device that it is mounted from, not further
/// ones. Writes back delayed data first.
pub fn free_extents(root: &Path) -> io::Result<Vec<Extent>> {
    let root = File::open(root)?;
    rustix::fs::syncfs(&root)?;
    let device = number(rustix::fs::fstat(&root)?.st_dev);
    let last = Record {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Record::default()
    };
    let head = Head {
        in_flags: 0,
        out_flags: 0,
        count: RECORDS as u32,
        entries: 0,
        reserved: [0; 6],
        keys: [Record::default(), last],
    };
    let mut query = Box::new(Query { head, records: [Record::default(); RECORDS] });
    let mut free: Vec<Extent> = Vec::new();
    loop {
        const GETFSMAP: u32 = opcode::read_write::<Head>(b'X', 59);
        // SAFETY: the kernel fills in no more records than `count` says, and that many follow the head.
        unsafe { ioctl(&root, Updater::<GETFSMAP, Query>::new(&mut query)) }?;
        let records = &query.records[..(query.head.entries as usize).min(RECORDS)];
        let is_free =
            |r: &&Record| r.flags & FLAG_SPECIAL_OWNER != 0 && r.owner == OWNER_FREE && r.device == device;
        for record in records.iter().filter(is_free) {
            push(&mut free, Extent { start_bytes: record.physical, len_bytes: record.length });
        }
        match records.last() {
            Some(last) if last.flags & FLAG_LAST == 0 => query.head.keys[0] = *last,
            _ => return Ok(free),
        }
    }
}

/// A device number as this request encodes it: the kernel's `new_encode_dev`.
fn number(dev: u64) -> u32 {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// Merges an extent that was split between two answers.
fn push(free: &mut Vec<Extent>, extent: Extent) {
    match free.last_mut() {
        Some(last) if last.end_bytes() == extent.start_bytes => last.len_bytes += extent.len_bytes,
        _ => free.push(extent),
    }
}
