//! A model of current extent allocators: block groups, buddy bitmaps, goals, preallocation and locality for small files.
//!
//! A model, not a copy. It follows the kernel's documentation of ext4 (Documentation/filesystems/ext4, "Block and Inode Allocation Policy")
//! and publications (Mathur et al., The new ext4 filesystem, Ottawa Linux Symposium 2007; Aneesh Kumar et al., Ext4 block and inode allocator
//! improvements, 2008). Omitted: extent trees (a file has any number of extents at no cost), flexible groups, stripes, and all per-processor
//! state.

mod policy;
mod reserves;
mod runs;
mod space;

pub use policy::{BestFit, BuddySearch, FirstFit, Placement};
pub use space::Space;

use crate::Error;
use crate::allocator::{Allocator, NoSpace};
use crate::inodes::Inodes;
use crate::layout::{Extent, Layout};
use reserves::Reserves;
use space::{BLOCK_BYTES, GROUP_BLOCKS};

/// Inodes per group: one per 16 KB.
const GROUP_INODES: u32 = 8192;
/// Bytes of an inode.
const INODE_BYTES: u64 = 256;
/// Blocks at the start of each group for its maps and inodes.
const METADATA_BLOCKS: u32 = 4 + (GROUP_INODES as u64 * INODE_BYTES / BLOCK_BYTES) as u32;
/// Files up to this size use the preallocation of their group (ext4 has 16 blocks).
const SMALL_BLOCKS: u32 = 16;
/// Percent of the blocks reserved, not available to files.
const RESERVE_PERCENT: u64 = 5;

/// An extent file system with a placement policy.
#[derive(Clone)]
pub struct ExtentFs<P> {
    space: Space,
    placement: P,
    reserves: Reserves,
    groups: Vec<Group>,
    data_blocks: u64,
}

#[derive(Clone, Default)]
struct Group {
    inodes: Inodes,
    free_inodes: u32,
    directories: u32,
}

impl<P: Placement> ExtentFs<P> {
    /// An empty file system on a disk of `size_bytes`.
    pub fn new(size_bytes: u64, placement: P) -> Result<ExtentFs<P>, Error> {
        let (least, most) =
            (u64::from(GROUP_BLOCKS) / 8 * BLOCK_BYTES, u64::from(u32::MAX / 2) * BLOCK_BYTES);
        if !(least..=most).contains(&size_bytes) {
            return Err(Error::Size { size_bytes, least, most });
        }
        let mut blocks = (size_bytes / BLOCK_BYTES) as u32;
        if blocks % GROUP_BLOCKS < 2 * METADATA_BLOCKS {
            blocks -= blocks % GROUP_BLOCKS;
        }
        let mut space = Space::new(blocks);
        for group in 0..space.groups() {
            let range = space.range(group);
            space.give(range.start + METADATA_BLOCKS, range.len() as u32 - METADATA_BLOCKS);
        }
        let groups = vec![Group { free_inodes: GROUP_INODES, ..Group::default() }; space.groups() as usize];
        let data_blocks = space.free_blocks();
        Ok(ExtentFs { reserves: Reserves::new(space.groups()), space, placement, groups, data_blocks })
    }

    /// The free space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    fn available_blocks(&self) -> u64 {
        let free = self.space.free_blocks() + self.reserves.blocks();
        free.saturating_sub(self.data_blocks * RESERVE_PERCENT / 100)
    }

    /// Allocates blocks for the hole `first..end` of the file.
    fn fill(&mut self, file: &mut Layout, first: u32, end: u32) {
        let mut next = first;
        let grows = file.extents.last().is_some_and(|last| last.logical_end() == first);
        while next < end {
            let wanted = end - next;
            let before = next.checked_sub(1).and_then(|block| file.find(block)).map(|(place, _)| place + 1);
            let (start, len) = self.take(file, before, wanted);
            file.insert(Extent { logical: next, start, len });
            next += len;
        }
        if grows && end > SMALL_BLOCKS {
            // A file that was appended to will likely be appended to again: reserve the blocks behind it.
            let (last, _) = file.find(end - 1).expect("the file was just filled");
            self.reserves.keep_for_file(&mut self.space, file.inode, last + 1, end.next_power_of_two() - end);
        }
    }

    /// Takes up to `wanted` blocks for a file; `before` is the block on disk behind its preceding block.
    fn take(&mut self, file: &Layout, before: Option<u32>, wanted: u32) -> (u32, u32) {
        if let Some(kept) = before.and_then(|goal| self.reserves.take_of_file(file.inode, goal, wanted)) {
            return kept;
        }
        let group = self.group_of_inode(file.inode);
        if before.is_none() && wanted <= SMALL_BLOCKS {
            let kept = self.reserves.take_of_group(&mut self.space, &self.placement, group, wanted);
            if let Some(kept) = kept {
                return kept;
            }
        }
        let goal = before.unwrap_or(self.space.range(group).start + METADATA_BLOCKS);
        let place = self.placement.place(&self.space, goal, wanted).unwrap_or_else(|| {
            self.reserves.release(&mut self.space);
            self.placement.place(&self.space, goal, wanted).expect("the available blocks were counted before")
        });
        self.space.take(place.0, place.1);
        place
    }

    fn shrink(&mut self, file: &mut Layout, size: u64) {
        self.reserves.release_file(&mut self.space, file.inode);
        file.size = size;
        let space = &mut self.space;
        file.remove_range(size.div_ceil(BLOCK_BYTES) as u32, u32::MAX, |start, len| space.give(start, len));
    }
}

impl<P: Placement> Allocator for ExtentFs<P> {
    fn unit_bytes(&self) -> u64 {
        BLOCK_BYTES
    }

    fn block_units(&self) -> u32 {
        1
    }

    fn transfer_bytes(&self) -> u64 {
        1 << 20
    }

    fn size_bytes(&self) -> u64 {
        u64::from(self.space.blocks()) * BLOCK_BYTES
    }

    /// A directory goes to the group of its parent, unless that group has less than half the average of free blocks or no free inode; then, and
    /// for a directory below the root, to the group with the fewest directories, of these the one with the most free blocks.
    fn allocate_inode(&mut self, parent: Option<u32>, directory: bool) -> Option<u32> {
        let count = self.space.groups();
        let home = parent.map_or(0, |parent| self.group_of_inode(parent));
        let below_root = parent.is_some_and(|parent| parent == 0);
        let emptiest = |this: &Self| {
            (0..count).max_by_key(|&group| {
                let state = &this.groups[group as usize];
                (std::cmp::Reverse(state.directories), this.space.free_in(group), std::cmp::Reverse(group))
            })
        };
        let average = self.space.free_blocks() / u64::from(count);
        let crowded =
            u64::from(self.space.free_in(home)) < average / 2 || self.groups[home as usize].free_inodes == 0;
        let first = if directory && (below_root || crowded) { emptiest(self)? } else { home };
        (0..count).map(|step| (first + step) % count).find_map(|group| {
            let state = &mut self.groups[group as usize];
            let inode = state.inodes.take(GROUP_INODES)?;
            state.free_inodes -= 1;
            state.directories += u32::from(directory);
            Some(group * GROUP_INODES + inode)
        })
    }

    fn free_inode(&mut self, inode: u32, directory: bool) {
        let state = &mut self.groups[(inode / GROUP_INODES) as usize];
        state.inodes.free(inode % GROUP_INODES);
        state.free_inodes += 1;
        state.directories -= u32::from(directory);
    }

    fn inode_byte(&self, inode: u32) -> u64 {
        let block = u64::from(self.space.range(inode / GROUP_INODES).start) + 4;
        (block + u64::from(inode % GROUP_INODES) * INODE_BYTES / BLOCK_BYTES) * BLOCK_BYTES
    }

    fn group_of_inode(&self, inode: u32) -> u32 {
        inode / GROUP_INODES
    }

    fn group_of_unit(&self, unit: u32) -> u32 {
        unit / GROUP_BLOCKS
    }

    fn write(&mut self, file: &mut Layout, offset: u64, len: u64) -> Result<(), NoSpace> {
        if len == 0 {
            return Ok(());
        }
        let end_bytes = offset + len;
        let (first, end) = ((offset / BLOCK_BYTES) as u32, end_bytes.div_ceil(BLOCK_BYTES));
        if end - u64::from(first) > self.available_blocks() && end_bytes > file.size {
            return Err(NoSpace);
        }
        let end = u32::try_from(end).map_err(|_| NoSpace)?;
        let mut next = first;
        while next < end {
            if let Some((_, len)) = file.find(next) {
                next = next.saturating_add(len);
                continue;
            }
            let hole_end = file.next_extent(next).map_or(end, |at| at.min(end));
            if u64::from(hole_end - next) > self.available_blocks() {
                return Err(NoSpace);
            }
            self.fill(file, next, hole_end);
            next = hole_end;
        }
        file.size = file.size.max(end_bytes);
        Ok(())
    }

    fn truncate(&mut self, file: &mut Layout, size: u64) -> Result<(), NoSpace> {
        if size > file.size {
            file.size = size;
        } else {
            self.shrink(file, size);
        }
        Ok(())
    }

    fn punch(&mut self, file: &mut Layout, offset: u64, len: u64) {
        let first = offset.div_ceil(BLOCK_BYTES);
        let end = (offset.saturating_add(len).min(file.size) / BLOCK_BYTES).max(first);
        let space = &mut self.space;
        file.remove_range(first as u32, end as u32, |start, len| space.give(start, len));
    }

    fn writes_metadata_through(&self) -> bool {
        false
    }

    fn available_bytes(&self) -> u64 {
        self.available_blocks() * BLOCK_BYTES
    }

    fn free_bytes(&self) -> (u64, u64) {
        ((self.space.free_blocks() + self.reserves.blocks()) * BLOCK_BYTES, 0)
    }

    fn each_free_run(&self, visit: &mut dyn FnMut(u32)) {
        for group in 0..self.space.groups() {
            self.space.runs(group).for_each(|(_, len)| visit(len));
        }
    }

    fn heap_bytes(&self) -> (usize, usize) {
        let inodes: usize = self.groups.iter().map(|group| group.inodes.heap_bytes()).sum();
        let groups = self.groups.capacity() * size_of::<Group>();
        (self.space.heap_bytes() + groups + self.reserves.heap_bytes(), inodes)
    }

    fn check(&self) -> Result<(), String> {
        self.space.check()
    }
}
