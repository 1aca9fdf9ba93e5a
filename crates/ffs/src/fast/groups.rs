//! The cylinder groups: maps of free space, and the summary counts that 4.4BSD keeps with them.

use super::partial::{Partial, RUN_COUNTS, mask_of};
use crate::bits::Bits;
use crate::geometry::{BLOCK_BYTES, FRAGMENTS, GROUP_BLOCKS, GROUP_INODES, Geometry};
use crate::inodes::Inodes;

/// The longest cluster length with a count of its own; longer clusters count as this length.
pub(super) const MOST_CLUSTER: usize = 15;

/// The cylinder groups of a file system. Policies read them; only the file system changes them.
///
/// Blocks are numbered over the whole disk; the first fragment of a block has eight times its number.
#[derive(Clone)]
pub struct Groups {
    geometry: Geometry,
    /// Completely free blocks.
    free: Bits,
    groups: Vec<Group>,
    total: GroupSummary,
    data_fragments: u64,
}

/// Summary counts of a group, or of all groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupSummary {
    /// Completely free blocks.
    pub blocks: u32,
    /// Free fragments in partly free blocks.
    pub fragments: u32,
    /// Free inodes.
    pub inodes: u32,
    /// Directories.
    pub directories: u32,
}

#[derive(Clone, Default)]
struct Group {
    counts: GroupSummary,
    /// Where the last block and the last fragment were found, in blocks of the group.
    block_rotor: u16,
    fragment_rotor: u16,
    /// Free runs of fragments by length, as in [`RUN_COUNTS`].
    fragment_runs: u128,
    /// Free runs of whole blocks by length; the last entry includes all longer ones, and entry 0 is unused.
    clusters: [u16; MOST_CLUSTER + 1],
    partial: Partial,
    inodes: Inodes,
}

impl Groups {
    /// Empty groups.
    pub fn new(geometry: Geometry) -> Groups {
        assert!(geometry.cluster_blocks as usize <= MOST_CLUSTER);
        let count = geometry.groups();
        let mut groups = Groups {
            geometry,
            free: Bits::zeros(geometry.blocks),
            groups: vec![Group::default(); count as usize],
            total: GroupSummary::default(),
            data_fragments: 0,
        };
        for group in 0..count {
            let first = geometry.first_data(group);
            groups.give_blocks(first, geometry.range(group).end - first);
            groups.groups[group as usize].counts.inodes = GROUP_INODES;
            groups.total.inodes += GROUP_INODES;
        }
        groups.data_fragments = groups.free_fragments();
        groups
    }

    /// The geometry.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Number of groups.
    pub fn count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The summary counts of a group.
    pub fn summary(&self, group: u32) -> GroupSummary {
        self.groups[group as usize].counts
    }

    /// The summary counts of all groups.
    pub fn total(&self) -> GroupSummary {
        self.total
    }

    /// All free fragments, including those of free blocks.
    pub fn free_fragments(&self) -> u64 {
        u64::from(self.total.blocks) * u64::from(FRAGMENTS) + u64::from(self.total.fragments)
    }

    /// All fragments for data.
    pub fn data_fragments(&self) -> u64 {
        self.data_fragments
    }

    /// The group of a block; beyond the end of the disk, the last one.
    #[inline]
    pub fn group_of(&self, block: u32) -> u32 {
        (block / GROUP_BLOCKS).min(self.count() - 1)
    }

    /// Whether a block is completely free.
    #[inline]
    pub fn is_free(&self, block: u32) -> bool {
        block < self.geometry.blocks && self.free.get(block)
    }

    /// Number of free blocks from this one on, within its group, at most `most`.
    #[inline]
    pub fn run_at(&self, block: u32, most: u32) -> u32 {
        let end = self.geometry.range(self.group_of(block)).end;
        self.free.ones_from(block, end.min(block.saturating_add(most)))
    }

    /// The free fragments of a partly free block, as bits.
    pub fn free_mask(&self, block: u32) -> u8 {
        if self.is_free(block) {
            return 0xff;
        }
        self.groups[self.group_of(block) as usize].partial.mask(block % GROUP_BLOCKS)
    }

    /// The longest cluster of a group according to its counts, at most the maximum cluster length.
    pub fn longest_cluster(&self, group: u32) -> u32 {
        let clusters = &self.groups[group as usize].clusters;
        (1..=self.geometry.cluster_blocks).rev().find(|&len| clusters[len as usize] > 0).unwrap_or(0)
    }

    /// The first `len` contiguous free blocks at or behind `from`, in its group.
    pub fn first_cluster_from(&self, from: u32, len: u32) -> Option<u32> {
        self.free.first_run(from, self.geometry.range(self.group_of(from)).end, len)
    }

    /// The first maximal run of exactly `len` free blocks, fewer than 64, in a group.
    pub fn exact_cluster(&self, group: u32, len: u32) -> Option<u32> {
        let range = self.geometry.range(group);
        self.free.first_exact_run(range.start, range.end, len)
    }

    /// Every maximal run of free blocks in a group: first block and length.
    pub fn free_runs(&self, group: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.geometry.range(group);
        self.free.runs(range.start, range.end)
    }

    /// Takes `len` free blocks from `block` on, within one group.
    #[inline]
    pub(super) fn take_blocks(&mut self, block: u32, len: u32) {
        debug_assert_eq!(self.run_at(block, len), len, "allocated blocks must be free");
        self.hold(block, len);
        self.recount_clusters(block, len, false);
    }

    /// Removes free blocks from the map during the search for a place for a whole cluster, until [`release`](Self::release). The cluster counts
    /// still include them.
    #[inline]
    pub(super) fn hold(&mut self, block: u32, len: u32) {
        self.free.clear(block, len);
        self.count_blocks(block, len.wrapping_neg());
    }

    /// Returns held blocks to the map.
    #[inline]
    pub(super) fn release(&mut self, block: u32, len: u32) {
        self.free.set(block, len);
        self.count_blocks(block, len);
    }

    /// Adds to the number of free blocks in the group of a block; a wrapped number subtracts.
    #[inline]
    fn count_blocks(&mut self, block: u32, more: u32) {
        let group = self.group_of(block) as usize;
        for counts in [&mut self.groups[group].counts, &mut self.total] {
            counts.blocks = counts.blocks.wrapping_add(more);
        }
    }

    /// Frees `len` blocks from `block` on, within one group.
    #[inline]
    pub(super) fn give_blocks(&mut self, block: u32, len: u32) {
        debug_assert!(self.free.next_one(block, block + len).is_none(), "freed blocks must be in use");
        self.release(block, len);
        self.recount_clusters(block, len, true);
    }

    /// Updates the cluster counts after `len` blocks from `block` on were freed or taken.
    fn recount_clusters(&mut self, block: u32, len: u32, freed: bool) {
        let most = self.geometry.cluster_blocks;
        let number = self.group_of(block) as usize;
        let group = &mut self.groups[number];
        // The metadata at the start of a group is never free, so runs do not cross groups.
        let (before, behind) = self.free.ones_around(block, len);
        let whole = if freed { 1 } else { u16::MAX };
        // Branches on the presence of a run are unpredictable; counting a run of 0 is cheaper than testing.
        for (run, change) in
            [(before + len + behind, whole), (before, whole.wrapping_neg()), (behind, whole.wrapping_neg())]
        {
            let count = &mut group.clusters[run.min(most) as usize];
            *count = count.wrapping_add(change);
        }
    }

    /// Takes up to `most` contiguous blocks of a group: at `preferred` if it is free, else at the next free one behind it, cyclically.
    /// Without a preference the search continues from the last block found.
    pub(super) fn take_run(&mut self, group: u32, preferred: Option<u32>, most: u32) -> Option<(u32, u32)> {
        if self.groups[group as usize].counts.blocks == 0 {
            return None;
        }
        let begin = self.geometry.range(group).start;
        let from = preferred.unwrap_or(begin + u32::from(self.groups[group as usize].block_rotor));
        let (found, len) = self.next_run(from, most).or_else(|| self.next_run(begin, most))?;
        if preferred != Some(found) {
            self.turn(found);
        }
        self.take_blocks(found, len);
        Some((found, len))
    }

    /// The next contiguous free blocks at or behind `from` in its group, at most `most`.
    #[inline]
    pub(super) fn next_run(&self, from: u32, most: u32) -> Option<(u32, u32)> {
        let end = self.geometry.range(self.group_of(from)).end;
        let found = self.free.next_one(from, end)?;
        Some((found, self.free.ones_from(found, end.min(found.saturating_add(most)))))
    }

    /// Makes searches without a preference continue from this block of its group.
    pub(super) fn turn(&mut self, block: u32) {
        let group = self.group_of(block) as usize;
        self.groups[group].block_rotor = (block % GROUP_BLOCKS) as u16;
    }

    /// Takes `len` fragments, less than a block, in a group: from the shortest free run that holds them, the next one behind the preferred
    /// block; if there is none, from a free block. Returns the number of the first fragment.
    pub(super) fn take_fragments(&mut self, group: u32, preferred: Option<u32>, len: u32) -> Option<u32> {
        let begin = self.geometry.range(group).start;
        let state = &self.groups[group as usize];
        let long_enough = state.fragment_runs >> (16 * len);
        if long_enough == 0 {
            let (block, _) = self.take_run(group, preferred, 1)?;
            self.change_mask(block, |_| mask_of(len, FRAGMENTS - len));
            return Some(block * FRAGMENTS);
        }
        let run = len + long_enough.trailing_zeros() / 16;
        let from = preferred.map_or(u32::from(state.fragment_rotor), |block| block - begin);
        let state = &mut self.groups[group as usize];
        let (at, block, first) = state.partial.find_run(from, run).expect("the counts include such a run");
        state.fragment_rotor = block as u16;
        let masks = state.partial.change_at(at, |mask| mask & !mask_of(first, len));
        self.recount_fragments(begin + block, masks);
        Some((begin + block) * FRAGMENTS + first)
    }

    /// Takes `len` free fragments of a block, from `first` on.
    pub(super) fn take_exactly(&mut self, block: u32, first: u32, len: u32) {
        if self.is_free(block) {
            self.take_blocks(block, 1);
            return self.change_mask(block, |_| !mask_of(first, len));
        }
        self.change_mask(block, |mask| {
            debug_assert_eq!(!mask & mask_of(first, len), 0, "allocated fragments must be free");
            mask & !mask_of(first, len)
        });
    }

    /// Frees `len` fragments from number `fragment` on: any part of blocks of one group.
    pub(super) fn give(&mut self, fragment: u32, len: u32) {
        let (mut at, end) = (fragment, fragment + len);
        while at < end {
            let (block, first) = (at / FRAGMENTS, at % FRAGMENTS);
            let whole = (end - at) / FRAGMENTS;
            if first == 0 && whole > 0 {
                self.give_blocks(block, whole);
                at += whole * FRAGMENTS;
                continue;
            }
            let part = (FRAGMENTS - first).min(end - at);
            self.change_mask(block, |mask| {
                debug_assert_eq!(mask & mask_of(first, part), 0, "freed fragments must be in use");
                mask | mask_of(first, part)
            });
            at += part;
        }
    }

    /// Changes the free fragments of a partly free block; a completely free one becomes a free block.
    fn change_mask(&mut self, block: u32, change: impl FnOnce(u8) -> u8) {
        let number = self.group_of(block) as usize;
        let masks = self.groups[number].partial.change(block % GROUP_BLOCKS, change);
        self.recount_fragments(block, masks);
    }

    /// Updates the fragment counts after the free fragments of a block changed from the first mask to the second.
    #[inline]
    fn recount_fragments(&mut self, block: u32, (old, new): (u8, u8)) {
        let number = self.group_of(block) as usize;
        let group = &mut self.groups[number];
        let (old, now) = (RUN_COUNTS[usize::from(old)], RUN_COUNTS[usize::from(new)]);
        group.fragment_runs = group.fragment_runs + now - old;
        let ones = |runs: u128| u32::from(runs as u16);
        for counts in [&mut group.counts, &mut self.total] {
            counts.fragments = counts.fragments + ones(now) - ones(old);
        }
        if new == 0xff {
            self.give_blocks(block, 1);
        }
    }

    /// Takes an inode of a group.
    pub(super) fn allocate_inode(&mut self, group: u32, directory: bool) -> Option<u32> {
        let state = &mut self.groups[group as usize];
        let inode = state.inodes.take(GROUP_INODES)?;
        state.counts.inodes -= 1;
        state.counts.directories += u32::from(directory);
        self.total.inodes -= 1;
        self.total.directories += u32::from(directory);
        Some(group * GROUP_INODES + inode)
    }

    /// Frees an inode.
    pub(super) fn free_inode(&mut self, inode: u32, directory: bool) {
        let state = &mut self.groups[(inode / GROUP_INODES) as usize];
        state.inodes.free(inode % GROUP_INODES);
        state.counts.inodes += 1;
        state.counts.directories -= u32::from(directory);
        self.total.inodes += 1;
        self.total.directories -= u32::from(directory);
    }

    /// Bytes on the heap: (maps of free space and their counts, maps of used inodes).
    pub fn heap_bytes(&self) -> (usize, usize) {
        let inodes = self.groups.iter().map(|group| group.inodes.heap_bytes()).sum();
        let partial: usize = self.groups.iter().map(|group| group.partial.heap_bytes()).sum();
        (self.free.heap_bytes() + self.groups.capacity() * size_of::<Group>() + partial, inodes)
    }

    /// Recounts everything from the maps; an error describes the first difference.
    pub fn check(&self) -> Result<(), String> {
        let mut total = GroupSummary::default();
        for (number, group) in self.groups.iter().enumerate() {
            let range = self.geometry.range(number as u32);
            let mut counts =
                GroupSummary { directories: group.counts.directories, ..GroupSummary::default() };
            let mut clusters = [0; MOST_CLUSTER + 1];
            for (_, len) in self.free.runs(range.start, range.end) {
                counts.blocks += len;
                clusters[len.min(self.geometry.cluster_blocks) as usize] += 1;
            }
            let mut fragment_runs = 0;
            for (block, mask) in group.partial.iter() {
                if mask == 0 || mask == 0xff || self.free.get(range.start + block) {
                    return Err(format!("block {block} of group {number} is no part of a block: {mask:08b}"));
                }
                counts.fragments += mask.count_ones();
                fragment_runs += RUN_COUNTS[usize::from(mask)];
            }
            counts.inodes = GROUP_INODES - group.inodes.used();
            clusters[0] = group.clusters[0];
            if (counts, clusters, fragment_runs) != (group.counts, group.clusters, group.fragment_runs) {
                return Err(format!(
                    "group {number}: {counts:?} {clusters:?} {fragment_runs:#x} counted, kept {:?} {:?} {:#x}",
                    group.counts, group.clusters, group.fragment_runs
                ));
            }
            total.blocks += counts.blocks;
            total.fragments += counts.fragments;
            total.inodes += counts.inodes;
            total.directories += counts.directories;
        }
        if total == self.total { Ok(()) } else { Err(format!("{total:?} counted, kept {:?}", self.total)) }
    }

    /// Size of the disk in bytes.
    pub fn size_bytes(&self) -> u64 {
        u64::from(self.geometry.blocks) * BLOCK_BYTES
    }
}
