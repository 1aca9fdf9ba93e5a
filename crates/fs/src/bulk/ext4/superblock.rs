//! The superblock and the group descriptors: where inodes lie.

use super::checksum;
use std::os::unix::fs::FileExt;

const SUPERBLOCK_PLACE: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;
const MAGIC: u16 = 0xef53;
const LINUX: u32 = 0;

/// Features without which a file system is not read here: a checksum of each inode.
const METADATA_CSUM: u32 = 0x400;
/// Features that may not be used by who does not know them; of these we know all that change nothing of inodes, or that
/// [`Inode`](super::inode::Inode) sees to: filetype, recover, extents, 64bit, mmp, flex_bg, ea_inode, csum_seed,
/// large_dir, inline_data, encrypt, casefold. Not known: compression, journal_dev, meta_bg, dirdata.
const KNOWN_INCOMPAT: u32 =
    0x2 | 0x4 | 0x40 | BITS64 | 0x100 | 0x200 | 0x400 | CSUM_SEED | 0x4000 | 0x8000 | 0x1_0000 | 0x2_0000;
const BITS64: u32 = 0x80;
const CSUM_SEED: u32 = 0x2000;
/// The same of those that matter to who writes: sparse_super, large_file, btree_dir, huge_file, gdt_csum, dir_nlink, extra_isize,
/// quota, metadata_csum, readonly, project, verity, orphan_present. Not known: bigalloc, replica, shared_blocks.
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

/// No file system without the feature meta_bg has more group descriptors.
const MOST_DESCRIPTORS_BYTES: u64 = 256 << 20;

/// Where things lie.
pub struct Layout {
    /// The size of a block.
    pub block_bytes: u64,
    /// How many there are.
    pub blocks: u64,
    /// The size of an inode on disk.
    pub inode_bytes: usize,
    /// Whether sizes on disk have 48 bits.
    pub has_huge_files: bool,
    /// What checksums begin with.
    pub seed: u32,
    inodes: u64,
    inodes_per_group: u64,
    /// The first block of each group's table.
    tables: Vec<u64>,
}

impl Layout {
    /// Reads it of a device; none if it is no ext4, or one that is not understood.
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

    /// Where the inode of that number lies on the device, in bytes; none if there is no such inode.
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
        // So that no place on the device overflows.
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

/// Where the group descriptors are.
struct Groups {
    place: u64,
    count: usize,
    descriptor_bytes: usize,
}

/// Where the inode table of a group begins.
fn table(descriptor: &[u8]) -> u64 {
    let high = if descriptor.len() >= 64 { u32_at(descriptor, 0x28) } else { 0 };
    u64::from(high) << 32 | u64::from(u32_at(descriptor, 0x8))
}

/// The number at a place.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The number at a place.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at + 2)) << 16 | u32::from(u16_at(bytes, at))
}
