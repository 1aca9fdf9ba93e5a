//! A snapshot in memory.

use crate::{Entry, Extent, Fact, Kind};
use std::ops::Range;

/// The place of the root directory among the entries.
pub const ROOT: u32 = 0;

/// What a snapshot says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// The program that took it, with its version.
    pub tool: String,
    /// The kind of file system, as mount calls it.
    pub fs: String,
    /// What tells the file system from others, where it has such an identifier.
    pub fs_id: Option<String>,
    /// Its block size in bytes.
    pub block_bytes: u64,
    /// What it can hold in bytes.
    pub capacity_bytes: u64,
    /// Bytes of it that were taken.
    pub used_bytes: u64,
    /// When taking it began, in nanoseconds since 1970 …
    pub begun_ns: i64,
    /// … and ended.
    pub ended_ns: i64,
    /// Names that were gone, or had become another file, before they could be looked at.
    pub vanished: u64,
    /// Files whose extents could not be had.
    pub unmapped: u64,
    /// Files and directories of other file systems below the root, which were left out.
    pub other_fs: u64,
    /// Facts that its source does not carry, for all entries or for some.
    pub lacks: Vec<Fact>,
    /// What tells one key from another, if names are keyed hashes.
    pub key_id: Option<String>,
}

/// What a file system held at a moment. Entries are in scan order: depth-first, the names of a directory in byte order, a
/// directory before what it holds.
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
    /// What it says about itself.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// All entries; the first is the root.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The name of the entry at `place` in its directory, or the keyed hash of it; empty for the root.
    pub fn name(&self, place: u32) -> &[u8] {
        let range = range(&self.name_ends, place);
        &self.names[range]
    }

    /// The names of the entries at `places`, one behind the other.
    pub(crate) fn names_of(&self, places: Range<usize>) -> &[u8] {
        let start = range(&self.name_ends, places.start as u32).start;
        &self.names[start..places.last().map_or(start, |last| self.name_ends[last] as usize)]
    }

    /// The extents of the entry at `place`, in order of their place in the file. A file with several names has them at the
    /// first.
    pub fn extents(&self, place: u32) -> &[Extent] {
        let range = range(&self.extent_ends, place);
        &self.extents[range]
    }

    /// The path of the entry at `place` below the root, names separated by `/`; empty for the root.
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

/// Puts a snapshot together, entry by entry in scan order.
pub struct SnapshotBuilder {
    snapshot: Snapshot,
}

impl SnapshotBuilder {
    /// Begins with the root directory.
    pub fn new(info: Info, root: Entry) -> SnapshotBuilder {
        assert!(root.kind == Kind::Dir && root.parent == ROOT, "the root is a directory, and its own parent");
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

    /// Adds an entry, whose directory is there already, and gives its place.
    ///
    /// # Panics
    /// If its directory is not there.
    pub fn add(&mut self, entry: Entry, name: &[u8], extents: &[Extent]) -> u32 {
        let snapshot = &mut self.snapshot;
        let parent = snapshot.entries.get(entry.parent as usize);
        assert!(parent.is_some_and(|parent| parent.kind == Kind::Dir), "its directory comes first");
        let place = u32::try_from(snapshot.entries.len())
            .expect("four thousand million names are not held in memory");
        snapshot.entries.push(entry);
        snapshot.names.extend_from_slice(name);
        snapshot.name_ends.push(snapshot.names.len() as u64);
        snapshot.extents.extend_from_slice(extents);
        snapshot.extent_ends.push(snapshot.extents.len() as u64);
        place
    }

    /// How many entries there are so far.
    pub(crate) fn len(&self) -> usize {
        self.snapshot.entries.len()
    }

    /// What it says about itself, to be completed once all entries are there.
    pub fn info(&mut self) -> &mut Info {
        &mut self.snapshot.info
    }

    /// The whole.
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
    fn paths_and_extents_are_those_of_their_entries() {
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
