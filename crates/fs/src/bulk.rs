//! Bulk inode reads: parses the on-disk structures of a file system, many inodes at a time. This works on a mounted file system whose
//! device can be read through the page cache in which the kernel keeps these structures.

pub mod ext4;

use crate::kinds;
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
    kinds().iter().find_map(|kind| kind.bulk_reader(mount, synced_ns))
}
