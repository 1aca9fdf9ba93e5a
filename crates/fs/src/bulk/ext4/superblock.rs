//! The superblock and the group descriptors, which locate the inodes.

use super::checksum;
use std::os::unix::fs::FileExt;

const SUPERBLOCK_PLACE: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;
const MAGIC: u16 = 0xef53;
const LINUX: u32 = 0;

/// Required feature: a checksum of each inode.
const METADATA_CSUM: u32 = 0x400;
/// Supported incompatible features: all that do not affect inodes or that [`Inode`](super::inode::Inode) handles: filetype,
/// recover, extents, 64bit, mmp, flex_bg, ea_inode, csum_seed, large_dir, inline_data, encrypt, casefold. Unsupported: compression,
/// journal_dev, meta_bg, dirdata.
const KNOWN_INCOMPAT: u32 =
    0x2 | 0x4 | 0x40 | BITS64 | 0x100 | 0x200 | 0x400 | CSUM_SEED | 0x4000 | 0x8000 | 0x1_0000 | 0x2_0000;
const BITS64: u32 = 0x80;
const CSUM_SEED: u32 = 0x2000;
/// Supported features of those that only matter to writers: sparse_super, large_file, btree_dir, huge_file, gdt_csum, dir_nlink,
/// extra_isize, quota, metadata_csum, readonly, project, verity, orphan_present. Unsupported: bigalloc, replica, shared_blocks.
const KNOWN_RO_COMPAT: u32 = 0x1
    | 0x2
    | 0x4
    | HUGE_FILE
    | 0x10
    | 0x20
    | 0x40
    | 0x100
    | METADATA_CSUM
    | 0x1000
    | 0x2000
    | 0x8000
    | 0x1_0000;
const HUGE_FILE: u32 = 0x8;

/// Upper limit of the group descriptors' size without the feature meta_bg.
const MOST_DESCRIPTORS_BYTES: u64 = 256 << 20;

/// The location of the inodes.
pub struct Layout {
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Size of an inode on disk in bytes.
    pub inode_bytes: usize,
    /// Whether block counts of inodes have 48 bits.
    pub has_huge_files: bool,
    /// The checksum seed.
    pub seed: u32,
    inodes: u64,
    inodes_per_group: u64,
    /// The first block of each group's inode table.
    tables: Vec<u64>,
}

impl Layout {
    /// Reads the layout from a device; `None` if it is not ext4 or has unsupported features.
    pub fn read(device: &impl FileExt) -> Option<Layout> {
        let mut bytes = [0; SUPERBLOCK_BYTES];
        device.read_exact_at(&mut bytes, SUPERBLOCK_PLACE).ok()?;
        let (mut layout, groups) = Layout::parse(&bytes)?;
        let mut descriptors = vec![0; groups.count * groups.descriptor_bytes];
        device.read_exact_at(&mut descriptors, groups.place).ok()?;
        layout.tables = descriptors.chunks_exact(groups.descriptor_bytes).map(table).collect();
        let table_blocks = (layout.inodes_per_group * layout.inode_bytes as u64).div_ceil(layout.block_bytes);
        let most = layout.blocks.checked_sub(table_blocks)?;
        layout.tables.iter().all(|table| *table <= most).then_some(layout)
    }

    /// The byte offset of an inode on the device; `None` if the number is out of range.
    pub fn place(&self, number: u64) -> Option<u64> {
        let index = number.checked_sub(1).filter(|_| number <= self.inodes)?;
        let table = self.tables.get((index / self.inodes_per_group) as usize)?;
        Some(table * self.block_bytes + index % self.inodes_per_group * self.inode_bytes as u64)
    }

    fn parse(bytes: &[u8; SUPERBLOCK_BYTES]) -> Option<(Layout, Groups)> {
        let incompat = u32_at(bytes, 0x60);
        let ro_compat = u32_at(bytes, 0x64);
        let known = u16_at(bytes, 0x38) == MAGIC
            && u32_at(bytes, 0x48) == LINUX
            && u32_at(bytes, 0x4c) >= 1
            && incompat & !KNOWN_INCOMPAT == 0
            && ro_compat & !KNOWN_RO_COMPAT == 0
            && ro_compat & METADATA_CSUM != 0;
        let log_block = u32_at(bytes, 0x18);
        let inode_bytes = u16_at(bytes, 0x58);
        if !known || log_block > 6 || !inode_bytes.is_power_of_two() {
            return None;
        }
        let block_bytes = 1024 << log_block;
        if !(128..=block_bytes).contains(&inode_bytes.into()) {
            return None;
        }
        let has_64_bits = incompat & BITS64 != 0;
        let descriptor_bytes = if has_64_bits { u16_at(bytes, 0xfe).into() } else { 32 };
        if !usize::is_power_of_two(descriptor_bytes) || !(32..=1024).contains(&descriptor_bytes) {
            return None;
        }
        let high = if has_64_bits { u32_at(bytes, 0x150) } else { 0 };
        let blocks = u64::from(high) << 32 | u64::from(u32_at(bytes, 0x4));
        // So that no offset on the device overflows.
        blocks.checked_mul(block_bytes).filter(|bytes| *bytes < 1 << 62)?;
        let inodes = u32_at(bytes, 0x0);
        let inodes_per_group = u32_at(bytes, 0x28);
        let count = inodes.checked_div(inodes_per_group)? as usize;
        if count as u64 * descriptor_bytes as u64 > MOST_DESCRIPTORS_BYTES {
            return None;
        }
        let seed = match incompat & CSUM_SEED {
            0 => checksum::update(!0, &bytes[0x68..0x78]),
            _ => u32_at(bytes, 0x270),
        };
        let layout = Layout {
            block_bytes,
            blocks,
            inode_bytes: inode_bytes.into(),
            has_huge_files: ro_compat & HUGE_FILE != 0,
            seed,
            inodes: inodes.into(),
            inodes_per_group: inodes_per_group.into(),
            tables: Vec::new(),
        };
        let place = (u64::from(u32_at(bytes, 0x14)) + 1) * block_bytes;
        Some((layout, Groups { place, count, descriptor_bytes }))
    }
}

/// The location of the group descriptors.
struct Groups {
    place: u64,
    count: usize,
    descriptor_bytes: usize,
}

/// The first block of a group's inode table.
fn table(descriptor: &[u8]) -> u64 {
    let high = if descriptor.len() >= 64 { u32_at(descriptor, 0x28) } else { 0 };
    u64::from(high) << 32 | u64::from(u32_at(descriptor, 0x8))
}

/// The little-endian number at an offset.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The little-endian number at an offset.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at + 2)) << 16 | u32::from(u16_at(bytes, at))
}
