//! Facts in bulk, where the file system gives them.

use disk::MountPoint;
use rustix::fs::FileType;
use snapshot::{Entry, Extent, Kind};
use std::collections::HashSet;
use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use tree::Listed;

/// Tells facts of files of the file system that is walked.
pub struct Bulk {
    facts: Box<dyn fs::Bulk>,
    /// Names on which something is mounted somewhere: their inodes are those of what it hides.
    mounted_on: HashSet<Vec<u8>>,
}

impl Bulk {
    /// That of the file system at `root`, which `mount` holds and whose number is `device`, if it gives facts in bulk.
    /// Changes before `settled_ns` have been written back.
    pub fn of(mount: &MountPoint, device: (u32, u32), settled_ns: i64) -> Option<Bulk> {
        // Of several mounts on one directory another may be meant.
        let facts = fs::bulk(mount, settled_ns).filter(|_| mount.devno == device)?;
        let mounts = disk::mount_points("self").ok()?;
        let name = |dir: &Path| dir.file_name().map(|name| name.as_bytes().to_vec());
        Some(Bulk { facts, mounted_on: mounts.iter().filter_map(|mount| name(&mount.dir)).collect() })
    }

    /// Calls `each` for each of `listed`, whose inodes ascend: with its place among them, and the facts of it unless calls must
    /// tell them. A name's is given by `name`.
    pub fn read<'n>(
        &self,
        listed: &[Listed],
        name: impl Fn(&Listed) -> &'n CStr,
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

/// What directories call the kinds; none of a directory, and where they do not tell.
fn kind(file_type: FileType) -> Option<Kind> {
    match file_type {
        FileType::RegularFile => Some(Kind::File),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Directory | FileType::Unknown => None,
        _ => Some(Kind::Special),
    }
}
