//! The geometry of a simulated fast file system.

use crate::Error;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 8192;
/// Bytes of a fragment, the unit of addresses.
pub const FRAGMENT_BYTES: u64 = 1024;
/// Fragments of a block.
pub const FRAGMENTS: u32 = (BLOCK_BYTES / FRAGMENT_BYTES) as u32;
/// Direct blocks of an inode.
pub const DIRECT: u32 = 12;
/// Blocks named by an indirect block: 16 MB.
pub const PER_INDIRECT: u32 = (BLOCK_BYTES / 4) as u32;
/// Blocks per cylinder group: 16 MB.
pub const GROUP_BLOCKS: u32 = 2048;
/// Inodes per group: one per 4 KB.
pub const GROUP_INODES: u32 = 4096;
/// Bytes of an inode.
const INODE_BYTES: u64 = 128;
/// Blocks at the start of each group for the copy of the superblock, the group's own block and its inodes.
const METADATA_BLOCKS: u32 = 2 + (GROUP_INODES as u64 * INODE_BYTES).div_ceil(BLOCK_BYTES) as u32;
/// The share of the blocks that are for data.
pub(crate) const DATA_SHARE: f64 = 1.0 - METADATA_BLOCKS as f64 / GROUP_BLOCKS as f64;
/// The largest file: direct, single and double indirect blocks.
pub const LARGEST_FILE: u64 =
    (DIRECT as u64 + PER_INDIRECT as u64 + PER_INDIRECT as u64 * PER_INDIRECT as u64) * BLOCK_BYTES;

/// The geometry of a simulated fast file system: as published (8 KB blocks, 1 KB fragments, clusters of 64 KB), otherwise the defaults of
/// `newfs` of 4.4BSD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// All blocks, including metadata.
    pub blocks: u32,
    /// Maximum blocks of a cluster: 8, that is 64 KB (Smith and Seltzer 1997, §4.2).
    pub cluster_blocks: u32,
    /// Blocks of a file in one group, after its direct ones, before it moves to the next group.
    pub section_blocks: u32,
    /// Percent of the space that is kept free.
    pub reserve_percent: u64,
}

impl Geometry {
    /// The default geometry for a disk of `size_bytes`.
    pub fn of(size_bytes: u64) -> Result<Geometry, Error> {
        let most = u64::from(u32::MAX) * FRAGMENT_BYTES;
        let mut geometry =
            Geometry { blocks: 0, cluster_blocks: 8, section_blocks: PER_INDIRECT, reserve_percent: 10 };
        let blocks = size_bytes / BLOCK_BYTES;
        if size_bytes > most || blocks < u64::from(GROUP_BLOCKS) {
            let least = u64::from(GROUP_BLOCKS) * BLOCK_BYTES;
            return Err(Error::Size { size_bytes, least, most });
        }
        geometry.blocks = blocks as u32;
        // Omits a last group with little more than its own metadata.
        let last = geometry.blocks % GROUP_BLOCKS;
        if last < 2 * geometry.metadata_blocks() {
            geometry.blocks -= last;
        }
        Ok(geometry)
    }

    /// Number of cylinder groups.
    pub fn groups(&self) -> u32 {
        self.blocks.div_ceil(GROUP_BLOCKS)
    }

    /// Blocks at the start of each group for the copy of the superblock, the group's own block and its inodes.
    pub fn metadata_blocks(&self) -> u32 {
        METADATA_BLOCKS
    }

    /// The blocks of a group, including its metadata.
    pub fn range(&self, group: u32) -> std::ops::Range<u32> {
        let begin = group * GROUP_BLOCKS;
        begin..self.blocks.min(begin + GROUP_BLOCKS)
    }

    /// The first block behind the metadata of a group.
    pub fn first_data(&self, group: u32) -> u32 {
        group * GROUP_BLOCKS + self.metadata_blocks()
    }

    /// The byte address of the block with this inode.
    pub fn inode_byte(&self, inode: u32) -> u64 {
        let (group, index) = (inode / GROUP_INODES, inode % GROUP_INODES);
        let block = group * GROUP_BLOCKS + 2 + (u64::from(index) * INODE_BYTES / BLOCK_BYTES) as u32;
        u64::from(block) * BLOCK_BYTES
    }

    /// Number of indirect blocks of a file with `blocks` blocks.
    pub fn indirect_blocks(blocks: u32) -> u32 {
        match blocks.saturating_sub(DIRECT) {
            0 => 0,
            single if single <= PER_INDIRECT => 1,
            more => 2 + (more - PER_INDIRECT).div_ceil(PER_INDIRECT),
        }
    }
}
