//! The table of files: 28 bytes each, found by number, with compactly encoded layouts.

use crate::layout::{Extent, Layout};
use crate::packed::Packed;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// The record of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    id: [u32; 2],
    size_low: u32,
    size_high: u8,
    place: LayoutStorage,
    /// The day of its last change.
    pub day: u16,
    /// The directory of a file; for a directory, its number of entries.
    pub owner: u32,
    /// Its inode.
    pub inode: u32,
    /// The layout, according to `place`.
    map: u32,
}

/// How the layout of a file is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum LayoutStorage {
    /// The file has no blocks.
    #[default]
    Nowhere,
    /// The file has one extent, at `map` on disk.
    One,
    /// `map` is a handle of the packed layout.
    Packed,
    /// The record is unused; `map` is the next unused record.
    Unused,
}

impl Record {
    /// The file number.
    pub fn id(&self) -> u64 {
        u64::from(self.id[0]) | u64::from(self.id[1]) << 32
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.size_low) | u64::from(self.size_high) << 32
    }

    fn set_size(&mut self, size: u64) {
        (self.size_low, self.size_high) = (size as u32, (size >> 32) as u8);
    }
}

fn halves(id: u64) -> [u32; 2] {
    [id as u32, (id >> 32) as u32]
}

/// The largest size that a record can hold.
pub(crate) const LARGEST_SIZE: u64 = (1 << 40) - 1;

const NONE: u32 = u32::MAX;

/// Numbers may be consecutive or random; all bits of the hash are used.
fn hash_of(id: u64) -> u64 {
    let hash = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 32
}

/// Files or directories by number.
#[derive(Clone)]
pub(crate) struct Files {
    records: Vec<Record>,
    /// Slots by number, five bytes per entry. At most seven eighths of the entries are used, half of that after growing.
    index: HashTable<u32>,
    unused: u32,
    packed: Packed,
    /// Logarithm of the unit size: a shift is cheaper than a division.
    unit_shift: u32,
}

impl Files {
    /// An empty table for a file system with this unit size.
    pub fn new(unit_bytes: u64) -> Files {
        Files {
            records: Vec::new(),
            index: HashTable::new(),
            unused: NONE,
            packed: Packed::default(),
            unit_shift: unit_bytes.ilog2(),
        }
    }

    /// Number of files.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The record of a file.
    #[inline]
    pub fn get(&self, slot: u32) -> &Record {
        &self.records[slot as usize]
    }

    /// The record of a file, mutable.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Record {
        &mut self.records[slot as usize]
    }

    /// The slots of all files.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        let used = |&slot: &u32| self.records[slot as usize].place != LayoutStorage::Unused;
        (0..self.records.len() as u32).filter(used)
    }

    /// The slot of file `id`.
    #[inline]
    pub fn find(&self, id: u64) -> Option<u32> {
        self.index.find(hash_of(id), |&slot| self.get(slot).id() == id).copied()
    }

    /// The slot of file `id`. Fastest if no file was removed and numbers were assigned consecutively from 0: then the number is the
    /// slot.
    #[inline]
    pub fn find_in_order(&self, id: u64) -> Option<u32> {
        match self.records.get(id as usize) {
            Some(record) if record.id() == id && record.place != LayoutStorage::Unused => Some(id as u32),
            _ => self.find(id),
        }
    }

    /// Adds a file and returns its slot; none if the number exists.
    pub fn add(&mut self, id: u64, owner: u32, inode: u32, day: u16) -> Option<u32> {
        let records = &self.records;
        let entry = self.index.entry(
            hash_of(id),
            |&slot| records[slot as usize].id() == id,
            |&slot| hash_of(records[slot as usize].id()),
        );
        let Entry::Vacant(place) = entry else { return None };
        let record = Record { id: halves(id), owner, inode, day, ..Record::default() };
        let slot = match self.unused {
            NONE => {
                if self.records.len() == self.records.capacity() {
                    self.records.reserve_exact((self.records.len() / 8).max(64));
                }
                self.records.push(record);
                self.records.len() as u32 - 1
            }
            slot => {
                self.unused = self.records[slot as usize].map;
                self.records[slot as usize] = record;
                slot
            }
        };
        place.insert(slot);
        Some(slot)
    }

    /// Removes the number of a file from the index, and returns its slot.
    pub fn unname(&mut self, id: u64) -> Option<u32> {
        let records = &self.records;
        let found = self.index.find_entry(hash_of(id), |&slot| records[slot as usize].id() == id);
        found.ok().map(|entry| entry.remove().0)
    }

    /// Changes the number of a file to an unused one.
    pub fn rename(&mut self, slot: u32, to: u64) {
        self.unname(self.get(slot).id());
        self.records[slot as usize].id = halves(to);
        let records = &self.records;
        self.index.insert_unique(hash_of(to), slot, |&slot| hash_of(records[slot as usize].id()));
    }

    /// Removes a file.
    pub fn remove(&mut self, slot: u32) {
        self.unname(self.get(slot).id());
        self.remove_unnamed(slot);
    }

    /// Removes a file whose number was already removed from the index.
    pub fn remove_unnamed(&mut self, slot: u32) {
        self.forget_layout(slot);
        let record = &mut self.records[slot as usize];
        (record.place, record.map) = (LayoutStorage::Unused, self.unused);
        self.unused = slot;
    }

    fn forget_layout(&mut self, slot: u32) {
        let record = &self.records[slot as usize];
        if record.place == LayoutStorage::Packed {
            self.packed.forget(record.map);
        }
    }

    /// Reads the layout of a file; `near` is a place close to its blocks, the same as when it was stored.
    #[inline]
    pub fn read(&self, slot: u32, near: u32, layout: &mut Layout) {
        let record = &self.records[slot as usize];
        layout.inode = record.inode;
        layout.size = record.size();
        layout.extents.clear();
        layout.indirect.clear();
        match record.place {
            LayoutStorage::One => {
                let len = self.units(layout.size) as u32;
                layout.extents.push(Extent { logical: 0, start: record.map, len });
            }
            LayoutStorage::Packed => self.packed.get(record.map, near, layout),
            LayoutStorage::Nowhere | LayoutStorage::Unused => {}
        }
    }

    /// Stores the layout and size of a file.
    #[inline]
    pub fn keep(&mut self, slot: u32, near: u32, layout: &Layout) {
        self.forget_layout(slot);
        let whole = self.units(layout.size);
        let (place, map) = match &layout.extents[..] {
            [] if layout.indirect.is_empty() => (LayoutStorage::Nowhere, 0),
            [extent]
                if extent.logical == 0 && u64::from(extent.len) == whole && layout.indirect.is_empty() =>
            {
                (LayoutStorage::One, extent.start)
            }
            _ => (LayoutStorage::Packed, self.packed.put(layout, near)),
        };
        let record = &mut self.records[slot as usize];
        (record.place, record.map) = (place, map);
        record.set_size(layout.size);
    }

    /// Number of units of this many bytes.
    fn units(&self, bytes: u64) -> u64 {
        (bytes + (1 << self.unit_shift) - 1) >> self.unit_shift
    }

    pub fn heap_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + self.index.allocation_size()
            + self.packed.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn record_has_28_bytes() {
        assert_eq!(size_of::<Record>(), 28);
    }

    proptest! {
        /// Results equal those of a map of the standard library.
        #[test]
        fn matches_a_map(steps in prop::collection::vec((0u8..4, 0u64..200, 0u64..200), 0..600)) {
            let (mut files, mut map) = (Files::new(1024), HashMap::new());
            for (kind, id, to) in steps {
                match kind {
                    0 | 1 if !map.contains_key(&id) => { map.insert(id, files.add(id, to as u32, 0, 0).unwrap()); }
                    2 => if let Some(slot) = map.remove(&id) { files.remove(slot) },
                    3 if map.contains_key(&id) && !map.contains_key(&to) => {
                        let slot = map.remove(&id).unwrap();
                        map.insert(to, slot);
                        files.rename(slot, to);
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(files.len(), map.len());
            for id in 0..200 {
                prop_assert_eq!(files.find(id), map.get(&id).copied());
                prop_assert_eq!(files.find_in_order(id), map.get(&id).copied());
            }
            let mut slots: Vec<u32> = map.into_values().collect();
            slots.sort_unstable();
            prop_assert_eq!(files.slots().collect::<Vec<_>>(), slots);
        }
    }
}
