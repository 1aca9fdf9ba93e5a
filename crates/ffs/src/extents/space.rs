//! The free space of a file system of extents: a bitmap of blocks, and above it, level by level, of aligned chunks of 2, 4, 8
//! … blocks that are free as a whole (a buddy system).

use crate::bits::Bits;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Blocks of a group: 128 MB.
pub(super) const GROUP_BLOCKS: u32 = 32_768;
/// The order of the largest chunks: 32 MB.
const ORDERS: u32 = 13;

/// The free space. Placements look at it.
#[derive(Clone)]
pub struct Space {
    blocks: u32,
    /// By order; the first is the map of blocks.
    levels: Vec<Bits>,
    free: Vec<u32>,
}

impl Space {
    /// A disk without free blocks.
    pub(super) fn new(blocks: u32) -> Space {
        let levels = (0..=ORDERS).map(|order| Bits::zeros((blocks >> order) + 1)).collect();
        Space { blocks, levels, free: vec![0; blocks.div_ceil(GROUP_BLOCKS) as usize] }
    }

    /// Blocks of the disk.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Groups.
    pub fn groups(&self) -> u32 {
        self.free.len() as u32
    }

    /// The group of a block.
    pub fn group_of(&self, block: u32) -> u32 {
        (block / GROUP_BLOCKS).min(self.groups() - 1)
    }

    /// The blocks of a group.
    pub fn range(&self, group: u32) -> std::ops::Range<u32> {
        group * GROUP_BLOCKS..self.blocks.min((group + 1) * GROUP_BLOCKS)
    }

    /// Free blocks of a group.
    pub fn free_in(&self, group: u32) -> u32 {
        self.free[group as usize]
    }

    /// All free blocks.
    pub fn free_blocks(&self) -> u64 {
        self.free.iter().map(|&free| u64::from(free)).sum()
    }

    /// How many blocks are free from this one on, in its group, counted up to `most`.
    pub fn run_at(&self, block: u32, most: u32) -> u32 {
        if block >= self.blocks {
            return 0;
        }
        self.levels[0].ones_from(block, self.range(self.group_of(block)).end.min(block.saturating_add(most)))
    }

    /// The first run of `len` free blocks of a group that begins at `from` or behind it.
    pub fn first_run(&self, group: u32, from: u32, len: u32) -> Option<u32> {
        let range = self.range(group);
        self.levels[0].first_run(from.max(range.start), range.end, len)
    }

    /// Every maximal run of free blocks of a group: first block and length.
    pub fn runs(&self, group: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.range(group);
        self.levels[0].runs(range.start, range.end)
    }

    /// The first aligned chunk of 2 to the power of `order` free blocks of a group, at or behind `from`, then from its
    /// beginning.
    pub fn chunk(&self, group: u32, from: u32, order: u32) -> Option<u32> {
        let (range, level) = (self.range(group), self.levels.get(order as usize)?);
        let (begin, end) = (range.start >> order, range.end >> order);
        let from = (from.max(range.start).div_ceil(1 << order)).clamp(begin, end);
        let found = level.next_one(from, end).or_else(|| level.next_one(begin, from));
        found.map(|chunk| chunk << order)
    }

    /// The largest order of a chunk.
    pub fn most_order(&self) -> u32 {
        ORDERS
    }

    pub(super) fn take(&mut self, block: u32, len: u32) {
        debug_assert_eq!(self.run_at(block, len), len, "blocks that are taken are free");
        for (order, level) in self.levels.iter_mut().enumerate() {
            let first = block >> order;
            level.clear(first, ((block + len - 1) >> order) - first + 1);
        }
        let group = self.group_of(block) as usize;
        self.free[group] -= len;
    }

    pub(super) fn give(&mut self, block: u32, len: u32) {
        debug_assert!(
            self.levels[0].next_one(block, block + len).is_none(),
            "blocks that are freed were taken"
        );
        self.levels[0].set(block, len);
        for order in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(order);
            for chunk in block >> order..=(block + len - 1) >> order {
                // The last chunk of the disk may lack its second half.
                let whole = (chunk + 1) << order <= self.blocks;
                if whole && below[order - 1].get(2 * chunk) && below[order - 1].get(2 * chunk + 1) {
                    above[0].set(chunk, 1);
                }
            }
        }
        let group = self.group_of(block) as usize;
        self.free[group] += len;
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.iter().map(Bits::heap_bytes).sum::<usize>() + self.free.capacity() * 4
    }

    /// Counts everything anew from the map of blocks.
    pub(super) fn check(&self) -> Result<(), String> {
        for group in 0..self.groups() {
            let counted: u32 = self.runs(group).map(|(_, len)| len).sum();
            if counted != self.free_in(group) {
                return Err(format!(
                    "group {group}: {counted} free blocks counted, kept {}",
                    self.free_in(group)
                ));
            }
        }
        for order in 1..self.levels.len() {
            for chunk in 0..self.blocks >> order {
                let free = self.levels[0].ones_from(chunk << order, (chunk + 1) << order) == 1 << order;
                if free != self.levels[order].get(chunk) {
                    return Err(format!("chunk {chunk} of order {order}: free is {free}, kept {}", !free));
                }
            }
        }
        Ok(())
    }
}
