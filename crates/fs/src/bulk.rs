//! What a file system's own structures on disk say of files, many at a time: of a mounted file system too, where its device
//! can be read through the cache that the kernel keeps these structures in.

mod ext4;

use disk::MountPoint;
use snapshot::{Entry, Extent};

/// Is given the place of an inode among those that were asked for, and its entry and extents.
pub type Each<'e> = dyn FnMut(usize, Option<(Entry, &[Extent])>) + 'e;

/// Tells facts of files in bulk.
pub trait Bulk: Send + Sync {
    /// Calls `each` for each of the inodes `numbers`, which ascend: with its place among them, and with what the system's calls would
    /// tell of it, extents included; or with nothing where they must be asked, for it is in use or not understood.
    fn read(&self, numbers: &[u64], each: &mut Each<'_>);
}

/// That of a mounted file system; none where there is none, or not for us. What was changed before `settled_ns`, by the
/// clock of the system, has been written back.
pub fn bulk(mount: &MountPoint, settled_ns: i64) -> Option<Box<dyn Bulk>> {
    match &*mount.kind {
        // The driver of ext4 serves ext3 as well. That of ext2 keeps changed inodes to itself for a while, as all do that are
        // mounted lazytime.
        "ext4" | "ext3" if mount.options.split(',').all(|option| option != "lazytime") => {
            ext4::Ext4::open(mount.devno, settled_ns).map(|ext4| Box::new(ext4) as Box<dyn Bulk>)
        }
        _ => None,
    }
}
