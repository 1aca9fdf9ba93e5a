//! Parses the items of the Btrfs chunk tree and free-space tree: the formats of `<linux/btrfs_tree.h>`.

use disk::Extent;

/// `BTRFS_CHUNK_ITEM_KEY`, `BTRFS_FREE_SPACE_EXTENT_KEY` and `BTRFS_FREE_SPACE_BITMAP_KEY`.
pub const CHUNK: u8 = 228;
const FREE_EXTENT: u8 = 199;
const FREE_BITMAP: u8 = 200;

/// `BTRFS_FIRST_CHUNK_TREE_OBJECTID`: the object ID of all chunks.
const CHUNK_OBJECT: u64 = 256;

/// `BTRFS_BLOCK_GROUP_DATA`.
const DATA: u64 = 1;

/// The key of an item; the fields are in order of significance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    pub objectid: u64,
    pub kind: u8,
    pub offset: u64,
}

/// The key range of all chunks.
pub const CHUNKS: (Key, Key) = (
    Key { objectid: CHUNK_OBJECT, kind: CHUNK, offset: 0 },
    Key { objectid: CHUNK_OBJECT, kind: CHUNK, offset: u64::MAX },
);

/// The range of all keys.
pub const ALL: (Key, Key) =
    (Key { objectid: 0, kind: 0, offset: 0 }, Key { objectid: u64::MAX, kind: u8::MAX, offset: u64::MAX });

impl Key {
    /// The smallest key above this one.
    pub fn next(self) -> Option<Key> {
        let Key { objectid, kind, offset } = self;
        match (offset.checked_add(1), kind.checked_add(1)) {
            (Some(offset), _) => Some(Key { objectid, kind, offset }),
            (None, Some(kind)) => Some(Key { objectid, kind, offset: 0 }),
            (None, None) => Some(Key { objectid: objectid.checked_add(1)?, kind: 0, offset: 0 }),
        }
    }
}

/// A tree item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item<'a> {
    pub key: Key,
    pub data: &'a [u8],
}

/// Splits the answer of a tree search into items; each has a header of 32 bytes.
pub fn items(mut answer: &[u8], count: u32) -> Result<Vec<Item<'_>>, &'static str> {
    const CUT: &str = "an item is truncated";
    let mut items = Vec::new();
    for _ in 0..count {
        let (header, rest) = answer.split_at_checked(32).ok_or(CUT)?;
        let kind = u8::try_from(u32_at(header, 24)).map_err(|_| "an item has no type")?;
        let key = Key { objectid: u64_at(header, 8), kind, offset: u64_at(header, 16) };
        let (data, rest) = rest.split_at_checked(u32_at(header, 28) as usize).ok_or(CUT)?;
        items.push(Item { key, data });
        answer = rest;
    }
    Ok(items)
}

/// The range of a chunk, if it is a data chunk.
pub fn data_chunk(item: &Item) -> Result<Option<Extent>, &'static str> {
    if item.key.kind != CHUNK {
        return Ok(None);
    }
    if item.data.len() < 32 {
        return Err("a chunk is truncated");
    }
    let is_data = u64_at(item.data, 24) & DATA != 0;
    let chunk = extent(item.key.offset, u64_at(item.data, 0))?;
    Ok(is_data.then_some(chunk))
}

/// Collects free extents from the items of the free-space tree.
pub struct FreeSpace {
    /// The data chunks, sorted by address.
    chunks: Vec<Extent>,
    sector_bytes: u64,
    free: Vec<Extent>,
}

impl FreeSpace {
    /// Creates a collector for `chunks`, which are sorted and disjoint; a bitmap bit stands for `sector_bytes`.
    pub fn new(chunks: Vec<Extent>, sector_bytes: u64) -> FreeSpace {
        FreeSpace { chunks, sector_bytes, free: Vec::new() }
    }

    /// Adds the next item of the tree.
    pub fn add(&mut self, item: &Item) -> Result<(), &'static str> {
        let Key { objectid: start_bytes, kind, offset: len_bytes } = item.key;
        if !matches!(kind, FREE_EXTENT | FREE_BITMAP) || !self.is_data(start_bytes) {
            return Ok(());
        }
        let range = extent(start_bytes, len_bytes)?;
        if kind == FREE_EXTENT {
            self.push(range);
            return Ok(());
        }
        if item.data.len() as u64 != (len_bytes / self.sector_bytes).div_ceil(8) {
            return Err("a bitmap has the wrong length");
        }
        let bits = item.data.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        for (start_bytes, free) in
            (start_bytes..range.end_bytes()).step_by(self.sector_bytes as usize).zip(bits)
        {
            if free {
                self.push(Extent { start_bytes, len_bytes: self.sector_bytes });
            }
        }
        Ok(())
    }

    /// The free extents.
    pub fn extents(self) -> Vec<Extent> {
        self.free
    }

    fn is_data(&self, address: u64) -> bool {
        let at = self.chunks.partition_point(|chunk| chunk.start_bytes <= address);
        at > 0 && address < self.chunks[at - 1].end_bytes()
    }

    /// Merges adjacent extents, but not across block groups.
    fn push(&mut self, extent: Extent) {
        let begins_group = self.chunks.binary_search_by_key(&extent.start_bytes, |c| c.start_bytes).is_ok();
        match self.free.last_mut() {
            Some(last) if last.end_bytes() == extent.start_bytes && !begins_group => {
                last.len_bytes += extent.len_bytes;
            }
            _ => self.free.push(extent),
        }
    }
}

pub fn extent(start_bytes: u64, len_bytes: u64) -> Result<Extent, &'static str> {
    start_bytes.checked_add(len_bytes).ok_or("an extent has no end")?;
    Ok(Extent { start_bytes, len_bytes })
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECTOR: u64 = 4096;

    fn encode(items: &[(Key, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, data) in items {
            bytes.extend([0; 8]);
            bytes.extend(key.objectid.to_le_bytes());
            bytes.extend(key.offset.to_le_bytes());
            bytes.extend(u32::from(key.kind).to_le_bytes());
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(data);
        }
        bytes
    }

    proptest! {
        #[test]
        fn items_round_trip(items in prop::collection::vec(
            ((any::<u64>(), any::<u8>(), any::<u64>()), prop::collection::vec(any::<u8>(), 0..50)), 0..10)) {
            let items: Vec<_> = items
                .into_iter()
                .map(|((objectid, kind, offset), data)| (Key { objectid, kind, offset }, data))
                .collect();
            let bytes = encode(&items);
            let read = super::items(&bytes, items.len() as u32).unwrap();
            let expected: Vec<_> = items.iter().map(|(key, data)| Item { key: *key, data }).collect();
            prop_assert_eq!(read, expected);
            prop_assert!(super::items(&bytes, items.len() as u32 + 1).is_err());
        }

        #[test]
        fn arbitrary_answer_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 195u8..230,
                objectid: u64, offset: u64) {
            let _ = items(&bytes, 3);
            let item = Item { key: Key { objectid, kind, offset }, data: &bytes };
            let _ = data_chunk(&item);
            let everything = Extent { start_bytes: 0, len_bytes: u64::MAX };
            let _ = FreeSpace::new(vec![everything], SECTOR).add(&item);
        }

        /// Bitmaps and extents of the same block group yield the same free space.
        #[test]
        fn bitmaps_and_extents_agree(bits in prop::collection::vec(any::<bool>(), 1..300)) {
            let start = 1 << 30;
            let group = Extent { start_bytes: start, len_bytes: bits.len() as u64 * SECTOR };
            let mut by_bitmap = FreeSpace::new(vec![group], SECTOR);
            for (i, part) in bits.chunks(64).enumerate() {
                let bytes: Vec<u8> =
                    part.chunks(8).map(|b| b.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect();
                let objectid = start + i as u64 * 64 * SECTOR;
                let key = Key { objectid, kind: FREE_BITMAP, offset: part.len() as u64 * SECTOR };
                by_bitmap.add(&Item { key, data: &bytes }).unwrap();
            }
            let mut by_extent = FreeSpace::new(vec![group], SECTOR);
            let mut at = start;
            for run in bits.chunk_by(|a, b| a == b) {
                let len = run.len() as u64 * SECTOR;
                if run[0] {
                    let key = Key { objectid: at, kind: FREE_EXTENT, offset: len };
                    by_extent.add(&Item { key, data: &[] }).unwrap();
                }
                at += len;
            }
            prop_assert_eq!(by_bitmap.extents(), by_extent.extents());
        }

        #[test]
        fn next_key_is_greater(objectid: u64, kind: u8, offset in prop_oneof![any::<u64>(), Just(u64::MAX)]) {
            let key = Key { objectid, kind, offset };
            prop_assert!(key.next().is_none_or(|next| next > key));
        }
    }

    #[test]
    fn metadata_groups_are_skipped_and_groups_do_not_merge() {
        let group = |start_bytes| Extent { start_bytes, len_bytes: SECTOR };
        let mut free = FreeSpace::new(vec![group(0), group(SECTOR)], SECTOR);
        for objectid in [0, SECTOR, 2 * SECTOR] {
            let key = Key { objectid, kind: FREE_EXTENT, offset: SECTOR };
            free.add(&Item { key, data: &[] }).unwrap();
        }
        assert_eq!(free.extents(), [group(0), group(SECTOR)]);
    }
}
