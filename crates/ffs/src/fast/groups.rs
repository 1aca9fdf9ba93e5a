//! The cylinder groups: maps of what is free, and the sums that 4.4BSD keeps beside them.

use super::partial::{Partial, RUN_COUNTS, mask_of};
use crate::bits::Bits;
use crate::geometry::{BLOCK_BYTES, FRAGMENTS, GROUP_BLOCKS, GROUP_INODES, Geometry};
use crate::inodes::Inodes;

/// Longest clusters that are told apart; longer ones count as these.
pub(super) const MOST_CLUSTER: usize = 15;

/// The cylinder groups of a file system. Policies look at them; only the file system changes them.
///
/// Blocks are numbered over the whole disk; a fragment's number is that of its block times eight, and so on.
#[derive(Clone)]
pub struct Groups {
    geometry: Geometry,
    /// Blocks that are free as a whole.
    free: Bits,
    groups: Vec<Group>,
    total: Counts,
    data_fragments: u64,
}

/// What is free in a group, or in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Blocks that are free as a whole.
    pub blocks: u32,
    /// Free fragments in blocks that are not.
    pub fragments: u32,
    /// Inodes.
    pub inodes: u32,
    /// Directories, which are not free.
    pub directories: u32,
}

#[derive(Clone, Default)]
struct Group {
    counts: Counts,
    /// Where the last block and the last fragment were found, in blocks of the group.
    block_rotor: u16,
    fragment_rotor: u16,
    /// Free runs of fragments by their length, as in [`RUN_COUNTS`].
    fragment_runs: u128,
    /// Free runs of whole blocks by their length; the longest stand at `cluster_blocks`, and at 0 stands nothing of use.
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
            total: Counts::default(),
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

    /// The measures.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How many groups there are.
    pub fn count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// What is free in a group.
    pub fn counts(&self, group: u32) -> Counts {
        self.groups[group as usize].counts
    }

    /// What is free in all.
    pub fn total(&self) -> Counts {
        self.total
    }

    /// All free fragments, those of free blocks included.
    pub fn free_fragments(&self) -> u64 {
        u64::from(self.total.blocks) * u64::from(FRAGMENTS) + u64::from(self.total.fragments)
    }

    /// All fragments that can hold data.
    pub fn data_fragments(&self) -> u64 {
        self.data_fragments
    }

    /// The group of a block; of one behind the disk, the last.
    #[inline]
    pub fn group_of(&self, block: u32) -> u32 {
        (block / GROUP_BLOCKS).min(self.count() - 1)
    }

    /// Whether a block is free as a whole.
    #[inline]
    pub fn is_free(&self, block: u32) -> bool {
        block < self.geometry.blocks && self.free.get(block)
    }

    /// How many blocks are free from this one on, in its group, counted up to `most`.
    #[inline]
    pub fn run_at(&self, block: u32, most: u32) -> u32 {
        let end = self.geometry.range(self.group_of(block)).end;
        self.free.ones_from(block, end.min(block.saturating_add(most)))
    }

    /// The free fragments of a block that is free in part, as bits.
    pub fn free_mask(&self, block: u32) -> u8 {
        if self.is_free(block) {
            return 0xff;
        }
        self.groups[self.group_of(block) as usize].partial.mask(block % GROUP_BLOCKS)
    }

    /// The longest cluster of a group, as the sums have it: none is longer than a cluster may be.
    pub fn longest_cluster(&self, group: u32) -> u32 {
        let clusters = &self.groups[group as usize].clusters;
        (1..=self.geometry.cluster_blocks).rev().find(|&len| clusters[len as usize] > 0).unwrap_or(0)
    }

    /// The first `len` free blocks in a row at or behind `from`, in its group.
    pub fn cluster_behind(&self, from: u32, len: u32) -> Option<u32> {
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

    /// Takes `len` free blocks from `block` on, in one group.
    #[inline]
    pub(super) fn take_blocks(&mut self, block: u32, len: u32) {
        debug_assert_eq!(self.run_at(block, len), len, "blocks that are taken are free");
        self.hold(block, len);
        self.recount_clusters(block, len, false);
    }

    /// Takes free blocks off the map for as long as a place for all of a cluster is looked for; they are released then. Meanwhile
    /// the sums of clusters have them still.
    #[inline]
    pub(super) fn hold(&mut self, block: u32, len: u32) {
        self.free.clear(block, len);
        self.count_blocks(block, len.wrapping_neg());
    }

    /// Puts blocks that were held back.
    #[inline]
    pub(super) fn release(&mut self, block: u32, len: u32) {
        self.free.set(block, len);
        self.count_blocks(block, len);
    }

    /// Counts so many free blocks more in the group of a block; fewer, where the number has wrapped.
    #[inline]
    fn count_blocks(&mut self, block: u32, more: u32) {
        let group = self.group_of(block) as usize;
        for counts in [&mut self.groups[group].counts, &mut self.total] {
            counts.blocks = counts.blocks.wrapping_add(more);
        }
    }

    /// Gives back `len` blocks from `block` on, in one group.
    #[inline]
    pub(super) fn give_blocks(&mut self, block: u32, len: u32) {
        debug_assert!(self.free.next_one(block, block + len).is_none(), "blocks that are freed were taken");
        self.release(block, len);
        self.recount_clusters(block, len, true);
    }

    /// Sets the sums of clusters right after `len` blocks from `block` on were freed or taken.
    fn recount_clusters(&mut self, block: u32, len: u32, freed: bool) {
        let most = self.geometry.cluster_blocks;
        let number = self.group_of(block) as usize;
        let group = &mut self.groups[number];
        // The metadata that a group begins with is never free, so that no run goes on in another.
        let (before, behind) = self.free.ones_around(block, len);
        let whole = if freed { 1 } else { u16::MAX };
        // Whether there is a run on a side nobody can guess, and it costs less to count a run of 0 than to ask.
        for (run, change) in
            [(before + len + behind, whole), (before, whole.wrapping_neg()), (behind, whole.wrapping_neg())]
        {
            let count = &mut group.clusters[run.min(most) as usize];
            *count = count.wrapping_add(change);
        }
    }

    /// Takes up to `most` blocks in a row of a group: at `preferred` if it is free, else at the next free one behind it and
    /// from the beginning. Without preference the search goes on from the last block found.
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

    /// The next free blocks in a row at or behind `from` in its group, counted up to `most`.
    #[inline]
    pub(super) fn next_run(&self, from: u32, most: u32) -> Option<(u32, u32)> {
        let end = self.geometry.range(self.group_of(from)).end;
        let found = self.free.next_one(from, end)?;
        Some((found, self.free.ones_from(found, end.min(found.saturating_add(most)))))
    }

    /// Lets searches without preference go on from this block in its group.
    pub(super) fn turn(&mut self, block: u32) {
        let group = self.group_of(block) as usize;
        self.groups[group].block_rotor = (block % GROUP_BLOCKS) as u16;
    }

    /// Takes `len` fragments, fewer than a block, in a group: of the shortest free run that holds them, the next behind the
    /// preferred block; where there is none a block is broken up. The number of the first fragment.
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
        let (at, block, first) = state.partial.find_run(from, run).expect("the sums say that there is a run");
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
            debug_assert_eq!(!mask & mask_of(first, len), 0, "fragments that are taken are free");
            mask & !mask_of(first, len)
        });
    }

    /// Gives back `len` fragments from number `fragment` on: any part of blocks of one group.
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
                debug_assert_eq!(mask & mask_of(first, part), 0, "fragments that are freed were taken");
                mask | mask_of(first, part)
            });
            at += part;
        }
    }

    /// Sets which fragments of a block in part free are free; one that is whole again becomes a free block.
    fn change_mask(&mut self, block: u32, change: impl FnOnce(u8) -> u8) {
        let number = self.group_of(block) as usize;
        let masks = self.groups[number].partial.change(block % GROUP_BLOCKS, change);
        self.recount_fragments(block, masks);
    }

    /// Sets the sums of fragments right after those of a block that are free changed from the first mask to the second.
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
    pub(super) fn take_inode(&mut self, group: u32, directory: bool) -> Option<u32> {
        let state = &mut self.groups[group as usize];
        let inode = state.inodes.take(GROUP_INODES)?;
        state.counts.inodes -= 1;
        state.counts.directories += u32::from(directory);
        self.total.inodes -= 1;
        self.total.directories += u32::from(directory);
        Some(group * GROUP_INODES + inode)
    }

    /// Gives back an inode.
    pub(super) fn give_inode(&mut self, inode: u32, directory: bool) {
        let state = &mut self.groups[(inode / GROUP_INODES) as usize];
        state.inodes.free(inode % GROUP_INODES);
        state.counts.inodes += 1;
        state.counts.directories -= u32::from(directory);
        self.total.inodes += 1;
        self.total.directories -= u32::from(directory);
    }

    /// Bytes on the heap: (maps of free space and their sums, maps of inodes in use).
    pub fn heap_bytes(&self) -> (usize, usize) {
        let inodes = self.groups.iter().map(|group| group.inodes.heap_bytes()).sum();
        let partial: usize = self.groups.iter().map(|group| group.partial.heap_bytes()).sum();
        (self.free.heap_bytes() + self.groups.capacity() * size_of::<Group>() + partial, inodes)
    }

    /// Counts everything anew from the maps; the first sum or count that differs, in words.
    pub fn check(&self) -> Result<(), String> {
        let mut total = Counts::default();
        for (number, group) in self.groups.iter().enumerate() {
            let range = self.geometry.range(number as u32);
            let mut counts = Counts { directories: group.counts.directories, ..Counts::default() };
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

    /// Bytes of the disk.
    pub fn size_bytes(&self) -> u64 {
        u64::from(self.geometry.blocks) * BLOCK_BYTES
    }
}
