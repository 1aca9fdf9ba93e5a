//! Feeds valid, damaged and arbitrary bytes to the parsers of ext4 structures.

use super::checksum;
use super::inode::Inode;
use super::superblock::{Layout, u16_at};
use super::tree;
use proptest::prelude::*;
use snapshot::Extent;
use std::io;
use std::os::unix::fs::FileExt;

const BLOCK: usize = 1024;

/// An in-memory device.
struct Device(Vec<u8>);

impl FileExt for Device {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        unreachable!("nothing is written")
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// A supported superblock: 64 blocks with 16 inodes of 256 bytes in one group.
fn device() -> Vec<u8> {
    let mut bytes = vec![0; 64 * BLOCK];
    let numbers: [(usize, u32); 9] = [
        (0x0, 16),
        (0x4, 64),
        (0x14, 1),
        (0x20, 8192),
        (0x28, 16),
        (0x38, 0xef53),
        (0x4c, 1),
        (0x58, 256),
        (0x60, 0x42),
    ];
    for (at, number) in numbers {
        put(&mut bytes, 1024 + at, &number.to_le_bytes());
    }
    put(&mut bytes, 1024 + 0x64, &0x408_u32.to_le_bytes());
    // The inode table of the only group.
    put(&mut bytes, 2 * BLOCK + 0x8, &4_u32.to_le_bytes());
    bytes
}

fn layout() -> Layout {
    Layout::read(&Device(device())).unwrap()
}

/// Sets the checksum of an inode.
fn inode(layout: &Layout, mut bytes: Vec<u8>) -> Vec<u8> {
    let number = 12_u32;
    put(&mut bytes, 0x7c, &[0; 2]);
    put(&mut bytes, 0x82, &[0; 2]);
    let sum = checksum::update(layout.seed, &number.to_le_bytes());
    let sum = checksum::update(sum, &bytes[0x64..0x68]);
    let sum = checksum::update(sum, &bytes).to_le_bytes();
    put(&mut bytes, 0x7c, &sum[..2]);
    put(&mut bytes, 0x82, &sum[2..]);
    bytes
}

fn file(layout: &Layout, map: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    let numbers: [(usize, u32); 4] = [(0, 0x81a4), (0x1a, 1), (0x20, 0x8_0000), (0x80, 32)];
    numbers.into_iter().for_each(|(at, number)| put(&mut bytes, at, &number.to_le_bytes()));
    put(&mut bytes, 0x28, map);
    inode(layout, bytes)
}

/// An extent tree node: a header, then its entries.
fn node(depth: u16, len: usize, entries: &[[u8; 12]]) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let most = (len / 12 - 1) as u16;
    for (place, number) in [0xf30a, entries.len() as u16, most, depth].into_iter().enumerate() {
        put(&mut bytes, 2 * place, &number.to_le_bytes());
    }
    put(&mut bytes, 12, &entries.concat());
    bytes
}

/// Sets the checksum of a node, if it fits.
fn seal(node: &mut [u8], seed: u32) {
    let tail = (usize::from(u16_at(node, 4)) + 1) * 12;
    if tail + 4 <= node.len() {
        let sum = checksum::update(seed, &node[..tail]).to_le_bytes();
        put(node, tail, &sum);
    }
}

fn leaf(logical: u32, len: u16, physical: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    put(&mut bytes, 0, &logical.to_le_bytes());
    put(&mut bytes, 4, &len.to_le_bytes());
    put(&mut bytes, 8, &physical.to_le_bytes());
    bytes
}

fn index(logical: u32, block: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    put(&mut bytes, 0, &logical.to_le_bytes());
    put(&mut bytes, 4, &block.to_le_bytes());
    bytes
}

/// The extents of a file with this map; `blocks` are the device blocks with its nodes.
fn extents(map: &[u8], blocks: &mut [Vec<u8>]) -> Option<Vec<Extent>> {
    let layout = layout();
    let bytes = file(&layout, map);
    let inode = Inode::read(&layout, 12, &bytes).unwrap();
    blocks.iter_mut().for_each(|block| seal(block, inode.seed));
    let mut read = |place: u64, node: &mut [u8]| {
        node.copy_from_slice(blocks.get(place as usize / BLOCK)?);
        Some(())
    };
    let mut extents = Vec::new();
    tree::extents(&inode, &layout, &mut read, &mut extents).map(|()| extents)
}

#[test]
fn descriptors_locate_inodes() {
    let layout = layout();
    let places: Vec<_> = [0, 1, 5, 16, 17].into_iter().map(|number| layout.place(number)).collect();
    assert_eq!(places, [None, Some(4096), Some(5120), Some(4096 + 15 * 256), None]);
}

#[test]
fn unsupported_features_are_rejected() {
    // Compression, meta_bg, bigalloc, and missing checksums.
    for (at, features) in [(0x60, 0x43_u32), (0x60, 0x52), (0x64, 0x608), (0x64, 0x8)] {
        let mut bytes = device();
        put(&mut bytes, 1024 + at, &features.to_le_bytes());
        assert!(Layout::read(&Device(bytes)).is_none(), "{features:#x}");
    }
}

#[test]
fn torn_inode_is_rejected() {
    let layout = layout();
    let whole = file(&layout, &[0; 60]);
    assert!(Inode::read(&layout, 12, &whole).is_some());
    assert!(Inode::read(&layout, 13, &whole).is_none());
    for at in 0..whole.len() {
        let mut torn = whole.clone();
        torn[at] ^= 1;
        assert!(Inode::read(&layout, 12, &torn).is_none(), "{at}");
    }
}

#[test]
fn adjacent_extents_merge_and_holes_are_skipped() {
    let size = BLOCK as u64;
    let found = |logical, physical, len| Extent {
        logical: logical * size,
        physical: physical * size,
        len: len * size,
    };
    // Two adjacent extents, one of them unwritten; behind a hole, one at the end of the device.
    let leaves = node(0, BLOCK, &[leaf(0, 2, 10), leaf(2, 0x8003, 12), leaf(9, 4, 60)]);
    let map = node(1, 60, &[index(0, 1)]);
    let expected = vec![found(0, 10, 5), found(9, 60, 4)];
    assert_eq!(extents(&map, &mut [vec![0; BLOCK], leaves]), Some(expected));
    // Past the end of the device; descending; empty; without a physical block.
    for wrong in [leaf(9, 5, 60), leaf(1, 1, 20), leaf(9, 0, 20), leaf(9, 1, 0)] {
        let map = node(0, 60, &[leaf(0, 2, 10), wrong]);
        assert_eq!(extents(&map, &mut []), None);
    }
}

#[test]
fn cyclic_tree_terminates() {
    // Each node is full and all its entries lead to the same node: one block per depth, behind the first.
    let full = |depth: u16| match depth {
        0 => node(0, BLOCK, &[leaf(0, 1, 10)]),
        _ => node(depth, BLOCK, &[index(0, depth.into()); 84]),
    };
    let mut blocks = vec![vec![0; BLOCK]];
    blocks.extend((0..5).map(full));
    assert_eq!(extents(&node(5, 60, &[index(0, 5); 4]), &mut blocks), None);
    assert!(extents(&node(1, 60, &[index(0, 1)]), &mut blocks).is_some());
    let mut same = vec![vec![0; BLOCK], node(1, BLOCK, &[index(0, 1)])];
    assert_eq!(extents(&node(2, 60, &[index(0, 1)]), &mut same), None);
}

proptest! {
    #[test]
    fn arbitrary_inode_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 256), extra in 0_u16..140) {
        let layout = layout();
        let mut bytes = bytes;
        put(&mut bytes, 0x80, &extra.to_le_bytes());
        let sealed = inode(&layout, bytes.clone());
        for (bytes, len) in [(&bytes, 256), (&sealed, 256), (&sealed, 128)] {
            if let Some(inode) = Inode::read(&layout, 12, &bytes[..len]) {
                inode.entry(&layout);
            }
        }
    }

    #[test]
    fn arbitrary_superblock_does_not_panic(patches in prop::collection::vec((0..1024_usize, any::<u8>()), 1..8), number: u64) {
        let mut bytes = device();
        patches.iter().for_each(|(at, byte)| bytes[1024 + at] = *byte);
        if let Some(layout) = Layout::read(&Device(bytes)) {
            layout.place(number);
            layout.place(number % 64);
        }
    }

    #[test]
    fn arbitrary_tree_does_not_panic(
        depth in 0_u16..7,
        root in prop::collection::vec((0_u32..40, 0_u32..8), 0..4),
        nodes in prop::collection::vec((0_u16..6, prop::collection::vec((0_u32..40, 0_u32..70), 0..84)), 8),
        patches in prop::collection::vec((0..8_usize, 0..BLOCK, any::<u8>()), 0..4),
    ) {
        let entries = |depth: u16, pairs: &[(u32, u32)]| -> Vec<[u8; 12]> {
            let entry = |(logical, to): &(u32, u32)| match depth {
                0 => leaf(*logical, (*to % 4) as u16, *to),
                _ => index(*logical, *to % 8),
            };
            pairs.iter().map(entry).collect()
        };
        let make = |(depth, pairs): &(u16, Vec<_>)| node(*depth, BLOCK, &entries(*depth, pairs));
        let mut blocks: Vec<_> = nodes.iter().map(make).collect();
        patches.iter().for_each(|(block, at, byte)| blocks[*block][*at] = *byte);
        if let Some(extents) = extents(&node(depth, 60, &entries(depth, &root)), &mut blocks) {
            prop_assert!(extents.windows(2).all(|two| two[0].logical_end() <= two[1].logical));
        }
    }

    #[test]
    fn extents_round_trip(lens in prop::collection::vec((0_u32..3, 1_u16..4, 1_u32..60), 1..60)) {
        let (mut next, mut leaves, mut blocks) = (0, Vec::new(), 0);
        for (hole, len, physical) in lens {
            leaves.push(leaf(next + hole, len, physical));
            next += hole + u32::from(len);
            blocks += u64::from(len);
        }
        let found = extents(&node(1, 60, &[index(0, 1)]), &mut [vec![0; BLOCK], node(0, BLOCK, &leaves)]).unwrap();
        prop_assert_eq!(found.iter().map(|extent| extent.len).sum::<u64>(), blocks * BLOCK as u64);
        prop_assert_eq!(found.last().unwrap().logical_end(), u64::from(next) * BLOCK as u64);
    }
}
