//! ext4, by its inode tables. The kernel keeps them in the cache of its block device, which a reader of the device sees too,
//! and puts every change of an inode there at once; only of file data that are not written back is more known than that.
//! So what is read there is what a call would tell, unless the inode has changed lately. An inode that is just being changed
//! does not match its checksum.
//!
//! The structures are described in the kernel's documentation (`Documentation/filesystems/ext4`).

mod checksum;
mod inode;
mod superblock;
#[cfg(test)]
mod tests;
mod tree;

use super::{Bulk, Each};
use inode::Inode;
use rustix::fs::{major, minor};
use snapshot::{Entry, Extent, Kind};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use superblock::Layout;

/// Blocks between two wanted inodes that are read along rather than begin another read.
const GAP_BLOCKS: u64 = 4;

/// Bytes read at once at most.
const READ_BYTES: u64 = 64 << 10;

/// How far the time of a change may lie before the change: file systems that keep no fractions cut them off.
const CLOCK_STEP_NS: i64 = 2_000_000_000;

/// A file system whose device can be read.
pub struct Ext4 {
    device: File,
    layout: Layout,
    /// Inodes that changed since may have more in memory.
    settled_ns: i64,
}

impl Ext4 {
    /// The one on the device of that number; none if it may not be read, or has features that are not known here.
    pub fn open(devno: (u32, u32), settled_ns: i64) -> Option<Ext4> {
        let (major_number, minor_number) = devno;
        let about = std::fs::read_to_string(format!("/sys/dev/block/{major_number}:{minor_number}/uevent"));
        let about = about.ok()?;
        let name = about.lines().find_map(|line| line.strip_prefix("DEVNAME="))?;
        let device = File::open(Path::new("/dev").join(name)).ok()?;
        let number = device.metadata().ok()?.rdev();
        let layout = Layout::read(&device)?;
        ((major(number), minor(number)) == devno).then_some(Ext4 { device, layout, settled_ns })
    }

    /// What the bytes of an inode say; none if they are torn, or calls know more.
    fn facts(&self, number: u64, bytes: &[u8], extents: &mut Vec<Extent>) -> Option<Entry> {
        let inode = Inode::read(&self.layout, number, bytes)?;
        let entry = inode.entry(&self.layout)?;
        if entry.changed_ns >= self.settled_ns.saturating_sub(CLOCK_STEP_NS) {
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

impl Bulk for Ext4 {
    fn read(&self, numbers: &[u64], each: &mut Each<'_>) {
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
