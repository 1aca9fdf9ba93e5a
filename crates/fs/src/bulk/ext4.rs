//! Reads ext4 inodes from the inode tables. The kernel keeps the tables in the page cache of the block device, which a reader of the
//! device shares, and applies every inode change there at once; only for data that is not yet written back (delayed allocation) does it have
//! newer state. So the tables match the system calls unless the inode changed recently. An inode that is being changed does not match its checksum.
//!
//! The structures are described in the kernel's documentation (`Documentation/filesystems/ext4`).

mod checksum;
mod inode;
mod superblock;
#[cfg(test)]
mod tests;
mod tree;

use super::{BulkReader, InodeVisitor};
use inode::Inode;
use rustix::fs::{major, minor};
use snapshot::{Entry, Extent, Kind};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use superblock::Layout;

/// Largest gap in blocks between two wanted inodes that one read covers.
const GAP_BLOCKS: u64 = 4;

/// Maximum bytes per read.
const READ_BYTES: u64 = 64 << 10;

/// How far a timestamp may precede the change: file systems without sub-second timestamps truncate them.
const CLOCK_STEP_NS: i64 = 2_000_000_000;

/// The inode tables of an ext4 file system on a readable device.
pub struct InodeTables {
    device: File,
    layout: Layout,
    /// Inodes changed after this time may have newer state in memory.
    synced_ns: i64,
}

impl InodeTables {
    /// Opens the file system on the device with this number; `None` if the device is not readable or has unsupported features.
    pub fn open(devno: (u32, u32), synced_ns: i64) -> Option<InodeTables> {
        let (major_number, minor_number) = devno;
        let about = std::fs::read_to_string(format!("/sys/dev/block/{major_number}:{minor_number}/uevent"));
        let about = about.ok()?;
        let name = about.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
        let device = File::open(Path::new("/dev").join(name)).ok()?;
        let number = device.metadata().ok()?.rdev();
        let layout = Layout::read(&device)?;
        ((major(number), minor(number)) == devno).then_some(InodeTables { device, layout, synced_ns })
    }

    /// Parses the bytes of an inode; `None` if they are torn or the inode may have newer state in memory.
    fn facts(&self, number: u64, bytes: &[u8], extents: &mut Vec<Extent>) -> Option<Entry> {
        let inode = Inode::read(&self.layout, number, bytes)?;
        let entry = inode.entry(&self.layout)?;
        if entry.changed_ns >= self.synced_ns.saturating_sub(CLOCK_STEP_NS) {
            return None;
        }
        extents.clear();
        if entry.kind == Kind::File && entry.allocated > 0 {
            let mut read = |place: u64, block: &mut [u8]| self.device.read_exact_at(block, place).ok();
            tree::extents(&inode, &self.layout, &mut read, extents)?;
        }
        Some(entry)
    }
}

impl BulkReader for InodeTables {
    fn read(&self, numbers: &[u64], each: &mut InodeVisitor<'_>) {
        let (mut buffer, mut extents) = (Vec::new(), Vec::new());
        let (len, block) = (self.layout.inode_bytes, self.layout.block_bytes);
        let mut from = 0;
        while let Some(first) = numbers.get(from) {
            let Some(start) = self.layout.place(*first) else {
                each(from, None);
                from += 1;
                continue;
            };
            let start = start - start % block;
            let mut end = start;
            let near = numbers[from..].iter().map_while(|number| {
                let place = self.layout.place(*number)?;
                let is_near =
                    place >= start && place < end + GAP_BLOCKS * block && place < start + READ_BYTES;
                end = end.max(place - place % block + block);
                is_near.then_some(place)
            });
            let places: Vec<u64> = near.collect();
            let end = places.iter().max().map_or(start, |last| last - last % block + block);
            buffer.resize((end - start) as usize, 0);
            let is_read = self.device.read_exact_at(&mut buffer, start).is_ok();
            for (index, place) in (from..).zip(&places) {
                let at = (place - start) as usize;
                let inode = &mut buffer[at..at + len];
                let mut facts = None;
                if is_read {
                    facts = self.facts(numbers[index], inode, &mut extents);
                }
                each(index, facts.map(|entry| (entry, &*extents)));
            }
            from += places.len();
        }
    }
}
