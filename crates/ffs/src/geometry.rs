//! The measures of a simulated fast file system.

use crate::Error;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 8192;
/// Bytes of a fragment, the unit of addresses.
pub const FRAGMENT_BYTES: u64 = 1024;
/// Fragments of a block.
pub const FRAGMENTS: u32 = (BLOCK_BYTES / FRAGMENT_BYTES) as u32;
/// Blocks that an inode names itself.
pub const DIRECT: u32 = 12;
/// Blocks that an indirect block names: 16 MB of them.
pub const PER_INDIRECT: u32 = (BLOCK_BYTES / 4) as u32;
/// Bytes of an inode.
const INODE_BYTES: u64 = 128;
/// The largest file: direct, single and double indirect blocks.
pub const LARGEST_FILE: u64 =
    (DIRECT as u64 + PER_INDIRECT as u64 + PER_INDIRECT as u64 * PER_INDIRECT as u64) * BLOCK_BYTES;

/// The measures of a simulated fast file system: those of the publications (8 KB blocks, 1 KB fragments, clusters of
/// 56 KB), and where they do not say, those that `newfs` of 4.4BSD took unless told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Blocks of a cylinder group, a multiple of 64. 16 MB.
    pub group_blocks: u32,
    /// Blocks of the whole, those that hold metadata included.
    pub blocks: u32,
    /// Inodes of a group: one for each 4 KB.
    pub group_inodes: u32,
    /// Blocks of a cluster at most: 7, that is 56 KB (Smith and Seltzer 1996).
    pub cluster_blocks: u32,
    /// Blocks of a file in one group, behind its direct ones, before it goes to the next.
    pub section_blocks: u32,
    /// Percent of the space that is kept free.
    pub reserve_percent: u64,
}

impl Geometry {
    /// The usual measures for a disk of `size_bytes`.
    pub fn of(size_bytes: u64) -> Result<Geometry, Error> {
        let most = u64::from(u32::MAX) * FRAGMENT_BYTES;
        let mut geometry = Geometry {
            group_blocks: 2048,
            blocks: 0,
            group_inodes: 4096,
            cluster_blocks: 7,
            section_blocks: PER_INDIRECT,
            reserve_percent: 10,
        };
        let blocks = size_bytes / BLOCK_BYTES;
        if size_bytes > most || blocks < u64::from(geometry.group_blocks) {
            let least = u64::from(geometry.group_blocks) * BLOCK_BYTES;
            return Err(Error::Size { size_bytes, least, most });
        }
        geometry.blocks = blocks as u32;
        // A last group that would hold hardly more than its own metadata is left out.
        let last = geometry.blocks % geometry.group_blocks;
        if last < 2 * geometry.metadata_blocks() {
            geometry.blocks -= last;
        }
        Ok(geometry)
    }

    /// Cylinder groups.
    pub fn groups(&self) -> u32 {
        self.blocks.div_ceil(self.group_blocks)
    }

    /// Blocks at the beginning of each group that hold the copy of the superblock, the group's own block and its inodes.
    pub fn metadata_blocks(&self) -> u32 {
        2 + (u64::from(self.group_inodes) * INODE_BYTES).div_ceil(BLOCK_BYTES) as u32
    }

    /// The blocks of a group, its metadata included.
    pub fn range(&self, group: u32) -> std::ops::Range<u32> {
        let begin = group * self.group_blocks;
        begin..self.blocks.min(begin + self.group_blocks)
    }

    /// The first block behind the metadata of a group.
    pub fn first_data(&self, group: u32) -> u32 {
        group * self.group_blocks + self.metadata_blocks()
    }

    /// The byte at which the block lies that holds this inode.
    pub fn inode_byte(&self, inode: u32) -> u64 {
        let (group, index) = (inode / self.group_inodes, inode % self.group_inodes);
        let block = group * self.group_blocks + 2 + (u64::from(index) * INODE_BYTES / BLOCK_BYTES) as u32;
        u64::from(block) * BLOCK_BYTES
    }

    /// How many indirect blocks a file needs whose last block is the `blocks`-th.
    pub fn indirect_blocks(blocks: u32) -> u32 {
        match blocks.saturating_sub(DIRECT) {
            0 => 0,
            single if single <= PER_INDIRECT => 1,
            more => 2 + (more - PER_INDIRECT).div_ceil(PER_INDIRECT),
        }
    }
}
