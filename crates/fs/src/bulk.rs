//! Bulk inode reads: parses the on-disk structures of a file system, many inodes at a time. This works on a mounted file system whose
//! device can be read through the page cache in which the kernel keeps these structures.

mod ext4;

use disk::MountPoint;
use snapshot::{Entry, Extent};

/// Receives the index of an inode among the requested ones, and its entry and extents.
pub type InodeVisitor<'e> = dyn FnMut(usize, Option<(Entry, &[Extent])>) + 'e;

/// Reads the metadata of many files at once.
pub trait BulkReader: Send + Sync {
    /// Calls `each` for each of the inodes `numbers`, which are in ascending order, with its index, and with the entry and extents that
    /// system calls would return; or with `None` if the caller must use system calls, because the inode is in use or its format is unsupported.
    fn read(&self, numbers: &[u64], each: &mut InodeVisitor<'_>);
}

/// The bulk reader of a mounted file system; `None` if the type is unsupported or the device cannot be opened. All changes before
/// `synced_ns`, by the system clock, have been written back.
pub fn bulk_reader(mount: &MountPoint, synced_ns: i64) -> Option<Box<dyn BulkReader>> {
    match &*mount.kind {
        // The ext4 driver serves ext3 as well. The ext2 driver keeps changed inodes in memory for a while, as does any file system
        // mounted with lazytime.
        "ext4" | "ext3" if mount.options.split(',').all(|option| option != "lazytime") => {
            ext4::Ext4::open(mount.devno, synced_ns).map(|ext4| Box::new(ext4) as Box<dyn BulkReader>)
        }
        _ => None,
    }
}
