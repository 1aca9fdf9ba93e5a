//! The location of Btrfs chunks on the device: the format of `struct btrfs_chunk` of `<linux/btrfs_tree.h>`.

use super::free_space_tree::{CHUNK, Item, extent, u64_at};
use crate::AddressMap;
use disk::Extent;

/// The chunk type bits of the uses (data, system, metadata), and of two copies on one device. In chunks with these bits only, each stripe
/// holds the whole chunk.
const USES: u64 = 0b111;
const DUP: u64 = 1 << 5;

/// Size of the head before the stripes, and of a stripe.
const HEAD_BYTES: usize = 48;
const STRIPE_BYTES: usize = 32;

/// The start of a device, which Btrfs does not use.
const RESERVED_BYTES: u64 = 1 << 20;

/// The superblock offsets, and the bytes of a chunk that are left out at each.
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
const SUPERBLOCK_BYTES: u64 = 64 << 10;

/// A chunk whose copies are each contiguous, all on one device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// Its location in the logical address space.
    pub logical: Extent,
    /// The device number.
    device: u64,
    /// The offset of each copy on the device.
    copies: Vec<u64>,
}

/// Parses an item of the chunk tree; `None` if the chunk is striped or on several devices.
pub fn parse(item: &Item) -> Result<Option<Chunk>, &'static str> {
    const CUT: &str = "a chunk is truncated";
    if item.key.kind != CHUNK {
        return Err("the chunk tree contains an item that is not a chunk");
    }
    let (head, stripes) = item.data.split_at_checked(HEAD_BYTES).ok_or(CUT)?;
    let logical = extent(item.key.offset, u64_at(head, 0))?;
    let count = usize::from(u16::from_le_bytes([head[44], head[45]]));
    if stripes.len() != count * STRIPE_BYTES {
        return Err(CUT);
    }
    let stripes: Vec<_> = stripes.chunks_exact(STRIPE_BYTES).map(|s| (u64_at(s, 0), u64_at(s, 8))).collect();
    let one_device = stripes.windows(2).all(|pair| pair[0].0 == pair[1].0);
    let Some((device, _)) = stripes.first().copied().filter(|_| one_device) else { return Ok(None) };
    if u64_at(head, 24) & !(USES | DUP) != 0 {
        return Ok(None);
    }
    let copies: Vec<u64> = stripes.into_iter().map(|(_, start)| start).collect();
    copies.iter().try_for_each(|start| extent(*start, logical.len_bytes).map(drop))?;
    Ok(Some(Chunk { logical, device, copies }))
}

/// Where the chunks lie on their device.
pub fn address_map(chunks: &[Chunk]) -> AddressMap {
    AddressMap::new(chunks.iter().flat_map(|chunk| chunk.copies.iter().map(|&start| (chunk.logical, start))))
}

/// Whether all chunks are on the same device.
pub fn on_one_device(chunks: &[Chunk]) -> bool {
    chunks.windows(2).all(|pair| pair[0].device == pair[1].device)
}

/// The extents of a device of `size_bytes` outside all chunks, and the device extents of `free`, which has logical addresses.
pub fn unused_extents(chunks: &[Chunk], free: &[Extent], size_bytes: u64) -> Vec<Extent> {
    let mut unused = Vec::new();
    let mut copies: Vec<Extent> = chunks
        .iter()
        .flat_map(|chunk| chunk.copies.iter().map(|start| Extent { start_bytes: *start, ..chunk.logical }))
        .collect();
    copies.sort_unstable_by_key(|copy| copy.start_bytes);
    let mut at = RESERVED_BYTES;
    for copy in copies {
        push(&mut unused, at, copy.start_bytes);
        at = at.max(copy.end_bytes());
    }
    push(&mut unused, at, size_bytes);
    for extent in free {
        let before = chunks.partition_point(|chunk| chunk.logical.start_bytes <= extent.start_bytes);
        let Some(chunk) = before.checked_sub(1).map(|n| &chunks[n]) else { continue };
        if extent.end_bytes() > chunk.logical.end_bytes() {
            continue;
        }
        for copy in &chunk.copies {
            let start = copy + (extent.start_bytes - chunk.logical.start_bytes);
            push(&mut unused, start, start + extent.len_bytes);
        }
    }
    unused
}

/// Adds the range from `start` to `end` without superblocks.
fn push(unused: &mut Vec<Extent>, mut start: u64, end: u64) {
    for superblock in SUPERBLOCKS {
        if superblock < end && start < superblock + SUPERBLOCK_BYTES {
            if start < superblock {
                unused.push(Extent { start_bytes: start, len_bytes: superblock - start });
            }
            start = superblock + SUPERBLOCK_BYTES;
        }
    }
    if start < end {
        unused.push(Extent { start_bytes: start, len_bytes: end - start });
    }
}

#[cfg(test)]
mod tests {
    use super::super::free_space_tree::Key;
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn item(kind: u64, len: u64, stripes: &[(u64, u64)]) -> Vec<u8> {
        let mut data = vec![0; HEAD_BYTES];
        data[..8].copy_from_slice(&len.to_le_bytes());
        data[24..32].copy_from_slice(&kind.to_le_bytes());
        data[44..46].copy_from_slice(&(stripes.len() as u16).to_le_bytes());
        for (device, start) in stripes {
            data.extend(device.to_le_bytes());
            data.extend(start.to_le_bytes());
            data.extend([0; 16]);
        }
        data
    }

    fn chunk(logical: u64, data: &[u8]) -> Result<Option<Chunk>, &'static str> {
        parse(&Item { key: Key { objectid: 256, kind: CHUNK, offset: logical }, data })
    }

    #[test]
    fn copies_are_supported_and_stripes_are_not() {
        let dup = chunk(4 * MIB, &item(DUP | 4, 2 * MIB, &[(1, 8 * MIB), (1, 16 * MIB)])).unwrap().unwrap();
        assert_eq!(dup.copies, [8 * MIB, 16 * MIB]);
        for (kind, stripes) in [(1 << 3, [(1, 0), (1, MIB)]), (DUP, [(1, 0), (2, MIB)])] {
            assert_eq!(chunk(0, &item(kind, MIB, &stripes)), Ok(None));
        }
        assert_eq!(chunk(0, &item(1, MIB, &[])), Ok(None));
        let other = chunk(8 * MIB, &item(1, MIB, &[(2, 8 * MIB)])).unwrap().unwrap();
        assert!(on_one_device(&[dup.clone(), dup.clone()]) && !on_one_device(&[dup, other]));
    }

    #[test]
    fn superblocks_are_not_unused() {
        let single = chunk(0, &item(1, 32 * MIB, &[(1, 50 * MIB)])).unwrap().unwrap();
        let extent = |start_bytes, end: u64| Extent { start_bytes, len_bytes: end - start_bytes };
        let unused = unused_extents(&[single], &[extent(MIB, 30 * MIB)], 100 * MIB);
        let mirror = 64 * MIB;
        assert_eq!(
            unused,
            [
                extent(MIB, 50 * MIB),
                extent(82 * MIB, 100 * MIB),
                extent(51 * MIB, mirror),
                extent(mirror + SUPERBLOCK_BYTES, 80 * MIB)
            ]
        );
    }

    proptest! {
        #[test]
        fn arbitrary_item_does_not_panic(data in prop::collection::vec(any::<u8>(), 0..200), logical: u64) {
            let _ = chunk(logical, &data);
        }

        /// A byte is unused exactly if it is outside all chunks or free in its chunk, in each copy alike.
        #[test]
        fn unused_excludes_used_space(
            chunks in prop::collection::vec((1u64..4, 1u64..3, 0u64..3), 1..6),
            free in prop::collection::vec((0u64..20, 1u64..4), 0..6),
        ) {
            let (mut logical, mut physical, mut made) = (0, 2, Vec::new());
            for (len, copies, gap) in chunks {
                let starts: Vec<_> = (0..copies).map(|n| (1, (physical + gap + n * len) * MIB)).collect();
                made.push(chunk(logical * MIB, &item(1, len * MIB, &starts)).unwrap().unwrap());
                logical += len;
                physical += gap + copies * len;
            }
            let extent = |start: u64, len: u64| Extent { start_bytes: start * MIB, len_bytes: len * MIB };
            let free: Vec<Extent> = free.into_iter().map(|(start, len)| extent(start, len)).collect();
            let unused = unused_extents(&made, &free, 64 * MIB);
            for mib in 0..64u64 {
                let at = mib * MIB + MIB / 2;
                let found = unused.iter().any(|e| e.start_bytes <= at && at < e.end_bytes());
                let source = made.iter().find_map(|chunk| {
                    let start = chunk.copies.iter().find(|s| **s <= at && at < **s + chunk.logical.len_bytes)?;
                    Some((chunk, chunk.logical.start_bytes + (at - start)))
                });
                let expected = match source {
                    None => mib > 0,
                    Some((chunk, address)) => free.iter().any(|e| {
                        e.start_bytes <= address && address < e.end_bytes()
                            && chunk.logical.start_bytes <= e.start_bytes && e.end_bytes() <= chunk.logical.end_bytes()
                    }),
                };
                prop_assert_eq!(found, expected, "MiB {}", mib);
            }
        }
    }
}
