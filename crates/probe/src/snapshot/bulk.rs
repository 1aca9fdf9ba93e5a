//! Bulk inode reads, if the file system supports them.

use disk::MountPoint;
use rustix::fs::FileType;
use snapshot::{Entry, Extent, Kind};
use std::collections::HashSet;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tree::ListedFile;

/// Reads the metadata of many files of the walked file system at once.
pub struct Bulk {
    facts: Box<dyn fs::BulkReader>,
    /// Names of all mount points: the inode of such a name may be hidden by a mount.
    mounted_on: HashSet<Vec<u8>>,
}

impl Bulk {
    /// The bulk reader of the file system with number `device`, mounted by `mount`, if its type supports bulk reads.
    /// All changes before `synced_ns` have been written back.
    pub fn of(mount: &MountPoint, device: (u32, u32), synced_ns: i64) -> Option<Bulk> {
        // If several file systems are mounted on one directory, `mount` may be another one.
        let facts = fs::bulk_reader(mount, synced_ns).filter(|_| mount.devno == device)?;
        let mounts = disk::mount_points("self").ok()?;
        let name = |dir: &Path| dir.file_name().map(|name| name.as_bytes().to_vec());
        Some(Bulk { facts, mounted_on: mounts.iter().filter_map(|mount| name(&mount.dir)).collect() })
    }

    /// Calls `each` for each of `listed`, whose inodes are in ascending order, with its index, and its metadata or `None` if it must be read
    /// by system calls. `name` returns the name of an entry.
    pub fn read<'n>(
        &self,
        listed: &[ListedFile],
        name: impl Fn(&ListedFile) -> &'n CStr,
        mut each: impl FnMut(usize, Option<(Entry, &[Extent])>),
    ) {
        let inodes: Vec<u64> = listed.iter().map(|listed| listed.inode).collect();
        self.facts.read(&inodes, &mut |index, facts| {
            let listed = &listed[index];
            let is_same = |entry: &Entry| Some(entry.kind) == kind(listed.file_type);
            let facts = facts.filter(|(entry, _)| is_same(entry));
            each(index, facts.filter(|_| !self.mounted_on.contains(name(listed).to_bytes())));
        });
    }
}

/// Converts the type of a directory entry; `None` for directories and unknown types.
fn kind(file_type: FileType) -> Option<Kind> {
    match file_type {
        FileType::RegularFile => Some(Kind::File),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Directory | FileType::Unknown => None,
        _ => Some(Kind::Special),
    }
}
