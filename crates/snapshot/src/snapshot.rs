//! A snapshot in memory.

use crate::{Attribute, Entry, Extent, Kind};
use std::ops::Range;

/// The place of the root directory among the entries.
pub const ROOT: u32 = 0;

/// The metadata of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// The program that took the snapshot, with its version.
    pub tool: String,
    /// The kind of file system, as mount calls it.
    pub fs: String,
    /// The identifier of the file system, if it has one.
    pub fs_id: Option<String>,
    /// Block size of the file system in bytes.
    pub block_bytes: u64,
    /// Capacity of the file system in bytes.
    pub capacity_bytes: u64,
    /// Used bytes of the file system.
    pub used_bytes: u64,
    /// Start time of the snapshot, in nanoseconds since 1970.
    pub begun_ns: i64,
    /// End time of the snapshot, in nanoseconds since 1970.
    pub ended_ns: i64,
    /// Names that vanished, or became another file, before they were examined.
    pub vanished: u64,
    /// Files whose extents could not be read.
    pub unmapped: u64,
    /// Files and directories of other file systems below the root, which are left out.
    pub other_fs: u64,
    /// Attributes that the source lacks, for all entries or for some.
    pub lacks: Vec<Attribute>,
    /// The identifier of the key, if names are keyed hashes.
    pub key_id: Option<String>,
}

/// The metadata of a file system at a moment. Entries are in scan order: depth-first, the names of a
/// directory in byte order, a directory before its contents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    info: Info,
    entries: Vec<Entry>,
    names: Vec<u8>,
    /// Where the name of each entry ends.
    name_ends: Vec<u64>,
    extents: Vec<Extent>,
    /// Where the extents of each entry end.
    extent_ends: Vec<u64>,
}

impl Snapshot {
    /// The metadata of the snapshot.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// All entries; the first is the root.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The name of the entry at `place` in its directory, or its keyed hash; empty for the root.
    pub fn name(&self, place: u32) -> &[u8] {
        let range = range(&self.name_ends, place);
        &self.names[range]
    }

    /// The concatenated names of the entries at `places`.
    pub(crate) fn names_of(&self, places: Range<usize>) -> &[u8] {
        let start = range(&self.name_ends, places.start as u32).start;
        &self.names[start..places.last().map_or(start, |last| self.name_ends[last] as usize)]
    }

    /// The extents of the entry at `place`, by offset in the file. A file with several names has them at the
    /// first.
    pub fn extents(&self, place: u32) -> &[Extent] {
        let range = range(&self.extent_ends, place);
        &self.extents[range]
    }

    /// The path of the entry at `place` below the root, with `/` between names; empty for the root.
    pub fn path(&self, place: u32) -> Vec<u8> {
        let mut places = Vec::new();
        let mut at = place;
        while at != ROOT {
            places.push(at);
            at = self.entries[at as usize].parent;
        }
        let names: Vec<&[u8]> = places.iter().rev().map(|place| self.name(*place)).collect();
        names.join(&b'/')
    }
}

fn range(ends: &[u64], place: u32) -> Range<usize> {
    let place = place as usize;
    let start = place.checked_sub(1).map_or(0, |before| ends[before]);
    start as usize..ends[place] as usize
}

/// Builds a snapshot, entry by entry in scan order.
pub struct SnapshotBuilder {
    snapshot: Snapshot,
}

impl SnapshotBuilder {
    /// Starts with the root directory.
    pub fn new(info: Info, root: Entry) -> SnapshotBuilder {
        assert!(
            root.kind == Kind::Dir && root.parent == ROOT,
            "the root must be a directory and its own parent"
        );
        let snapshot = Snapshot {
            info,
            entries: vec![root],
            names: Vec::new(),
            name_ends: vec![0],
            extents: Vec::new(),
            extent_ends: vec![0],
        };
        SnapshotBuilder { snapshot }
    }

    /// Adds an entry, whose parent directory must exist, and returns its place.
    ///
    /// # Panics
    /// If the parent directory does not exist.
    pub fn add(&mut self, entry: Entry, name: &[u8], extents: &[Extent]) -> u32 {
        let snapshot = &mut self.snapshot;
        let parent = snapshot.entries.get(entry.parent as usize);
        assert!(
            parent.is_some_and(|parent| parent.kind == Kind::Dir),
            "the parent directory must come first"
        );
        let place = u32::try_from(snapshot.entries.len()).expect("places fit 32 bits");
        snapshot.entries.push(entry);
        snapshot.names.extend_from_slice(name);
        snapshot.name_ends.push(snapshot.names.len() as u64);
        snapshot.extents.extend_from_slice(extents);
        snapshot.extent_ends.push(snapshot.extents.len() as u64);
        place
    }

    /// The number of entries so far.
    pub(crate) fn len(&self) -> usize {
        self.snapshot.entries.len()
    }

    /// The metadata, to be completed after all entries have been added.
    pub fn info(&mut self) -> &mut Info {
        &mut self.snapshot.info
    }

    /// Returns the snapshot.
    pub fn finish(self) -> Snapshot {
        self.snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(parent: u32, kind: Kind, inode: u64) -> Entry {
        Entry {
            parent,
            kind,
            inode,
            generation: None,
            links: 1,
            size: 0,
            allocated: 0,
            changed_ns: 0,
            modified_ns: 0,
            born_ns: None,
        }
    }

    #[test]
    fn entries_have_their_paths_and_extents() {
        let extent = Extent { logical: 0, physical: 8192, len: 4096 };
        let mut builder = SnapshotBuilder::new(Info::default(), entry(ROOT, Kind::Dir, 2));
        let a = builder.add(entry(ROOT, Kind::Dir, 3), b"a", &[]);
        let b = builder.add(entry(a, Kind::File, 4), b"b\n", &[extent]);
        let c = builder.add(entry(ROOT, Kind::File, 5), b"c", &[]);
        let snapshot = builder.finish();
        let paths: Vec<Vec<u8>> = [ROOT, a, b, c].iter().map(|place| snapshot.path(*place)).collect();
        assert_eq!(paths, [b"".to_vec(), b"a".to_vec(), b"a/b\n".to_vec(), b"c".to_vec()]);
        assert_eq!((snapshot.extents(b), snapshot.extents(c)), (&[extent][..], &[][..]));
    }
}
