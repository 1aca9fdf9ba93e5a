//! The cylinder groups: maps of what is free, and the sums that 4.4BSD keeps beside them.

use super::partial::{Partial, mask_of, runs};
use crate::bits::Bits;
use crate::geometry::{BLOCK_BYTES, FRAGMENTS, Geometry};
use crate::inodes::Inodes;

/// Longest clusters that are told apart; longer ones count as these.
const MOST_CLUSTER: usize = 15;

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
    /// Free runs of fragments by their length, 1 to 7.
    fragment_runs: [u16; FRAGMENTS as usize],
    /// Free runs of whole blocks by their length; the longest stand at `cluster_blocks`.
    clusters: [u16; MOST_CLUSTER + 1],
    partial: Partial,
    inodes: Inodes,
}

impl Groups {
    /// Empty groups.
    pub fn new(geometry: Geometry) -> Groups {
        assert!(geometry.cluster_blocks as usize <= MOST_CLUSTER && geometry.group_blocks.is_multiple_of(64));
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
            groups.groups[group as usize].counts.inodes = geometry.group_inodes;
            groups.total.inodes += geometry.group_inodes;
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
        (block / self.geometry.group_blocks).min(self.count() - 1)
    }

    /// Whether a block is free as a whole.
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
        self.groups[self.group_of(block) as usize].partial.mask(block % self.geometry.group_blocks)
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

    /// Every maximal run of free blocks in a group: first block and length.
    pub fn free_runs(&self, group: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.geometry.range(group);
        self.free.runs(range.start, range.end)
    }

    /// Takes `len` free blocks from `block` on, in one group.
    #[inline]
    pub(super) fn take_blocks(&mut self, block: u32, len: u32) {
        debug_assert_eq!(self.run_at(block, len), len, "blocks that are taken are free");
        self.free.clear(block, len);
        let group = self.recount_clusters(block, len, false);
        group.counts.blocks -= len;
        self.total.blocks -= len;
    }

    /// Gives back `len` blocks from `block` on, in one group.
    #[inline]
    pub(super) fn give_blocks(&mut self, block: u32, len: u32) {
        debug_assert!(self.free.next_one(block, block + len).is_none(), "blocks that are freed were taken");
        self.free.set(block, len);
        let group = self.recount_clusters(block, len, true);
        group.counts.blocks += len;
        self.total.blocks += len;
    }

    /// Sets the sums of clusters right after `len` blocks from `block` on were freed or taken.
    fn recount_clusters(&mut self, block: u32, len: u32, freed: bool) -> &mut Group {
        let most = self.geometry.cluster_blocks;
        let range = self.geometry.range(self.group_of(block));
        let end = block + len;
        let before = self.free.ones_before(block, range.start, most);
        let behind = self.free.ones_from(end, range.end.min(end + most));
        let number = self.group_of(block) as usize;
        let group = &mut self.groups[number];
        let whole = &mut group.clusters[(before + len + behind).min(most) as usize];
        *whole = if freed { *whole + 1 } else { *whole - 1 };
        for part in [before, behind] {
            if part > 0 {
                let part = &mut group.clusters[part.min(most) as usize];
                *part = if freed { *part - 1 } else { *part + 1 };
            }
        }
        group
    }

    /// Takes a whole block of a group: `preferred` if it is free, else the next free one behind it and from the beginning.
    /// Without preference the search goes on from the last block found.
    pub(super) fn take_block(&mut self, group: u32, preferred: Option<u32>) -> Option<u32> {
        let range = self.geometry.range(group);
        if self.groups[group as usize].counts.blocks == 0 {
            return None;
        }
        let rotor = range.start + u32::from(self.groups[group as usize].block_rotor);
        let from = preferred.unwrap_or(rotor);
        let found = self.free.next_one(from, range.end).or_else(|| self.free.next_one(range.start, from))?;
        if preferred != Some(found) {
            self.groups[group as usize].block_rotor = (found - range.start) as u16;
        }
        self.take_blocks(found, 1);
        Some(found)
    }

    /// Takes `len` fragments, fewer than a block, in a group: of the shortest free run that holds them, the next behind the
    /// preferred block; where there is none a block is broken up. The number of the first fragment.
    pub(super) fn take_fragments(&mut self, group: u32, preferred: Option<u32>, len: u32) -> Option<u32> {
        let begin = self.geometry.range(group).start;
        let state = &self.groups[group as usize];
        let fits = (len..FRAGMENTS).find(|&run| state.fragment_runs[run as usize] > 0);
        let Some(run) = fits else {
            let block = self.take_block(group, preferred)?;
            self.change_mask(block, 0, mask_of(len, FRAGMENTS - len));
            return Some(block * FRAGMENTS);
        };
        let from = preferred.map_or(u32::from(state.fragment_rotor), |block| block - begin);
        let (block, first) = state.partial.find_run(from, run).expect("the sums say that there is a run");
        self.groups[group as usize].fragment_rotor = block as u16;
        self.take_exactly(begin + block, first, len);
        Some((begin + block) * FRAGMENTS + first)
    }

    /// Takes `len` free fragments of a block, from `first` on.
    pub(super) fn take_exactly(&mut self, block: u32, first: u32, len: u32) {
        if self.is_free(block) {
            self.take_blocks(block, 1);
            self.change_mask(block, 0, !mask_of(first, len));
            return;
        }
        let mask = self.free_mask(block);
        debug_assert_eq!(
            mask & mask_of(first, len),
            mask_of(first, len),
            "fragments that are taken are free"
        );
        self.change_mask(block, mask, mask & !mask_of(first, len));
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
            let mask = self.free_mask(block);
            debug_assert_eq!(mask & mask_of(first, part), 0, "fragments that are freed were taken");
            self.change_mask(block, mask, mask | mask_of(first, part));
            at += part;
        }
    }

    /// Sets which fragments of a block in part free are free; one that is whole again becomes a free block.
    fn change_mask(&mut self, block: u32, old: u8, new: u8) {
        let number = self.group_of(block) as usize;
        let group = &mut self.groups[number];
        group.partial.put(block % self.geometry.group_blocks, new);
        for (_, run) in runs(old) {
            group.fragment_runs[run as usize] -= 1;
        }
        group.counts.fragments -= old.count_ones();
        self.total.fragments -= old.count_ones();
        if new == 0xff {
            return self.give_blocks(block, 1);
        }
        for (_, run) in runs(new) {
            group.fragment_runs[run as usize] += 1;
        }
        group.counts.fragments += new.count_ones();
        self.total.fragments += new.count_ones();
    }

    /// Takes an inode of a group.
    pub(super) fn take_inode(&mut self, group: u32, directory: bool) -> Option<u32> {
        let state = &mut self.groups[group as usize];
        let inode = state.inodes.take(self.geometry.group_inodes)?;
        state.counts.inodes -= 1;
        state.counts.directories += u32::from(directory);
        self.total.inodes -= 1;
        self.total.directories += u32::from(directory);
        Some(group * self.geometry.group_inodes + inode)
    }

    /// Gives back an inode.
    pub(super) fn give_inode(&mut self, inode: u32, directory: bool) {
        let state = &mut self.groups[(inode / self.geometry.group_inodes) as usize];
        state.inodes.free(inode % self.geometry.group_inodes);
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
            let mut fragment_runs = [0; FRAGMENTS as usize];
            for (block, mask) in group.partial.iter() {
                if mask == 0 || mask == 0xff || self.free.get(range.start + block) {
                    return Err(format!("block {block} of group {number} is no part of a block: {mask:08b}"));
                }
                counts.fragments += mask.count_ones();
                runs(mask).for_each(|(_, run)| fragment_runs[run as usize] += 1);
            }
            counts.inodes = self.geometry.group_inodes - group.inodes.used();
            if (counts, clusters, fragment_runs) != (group.counts, group.clusters, group.fragment_runs) {
                return Err(format!(
                    "group {number}: {counts:?} {clusters:?} {fragment_runs:?} counted, kept {:?} {:?} {:?}",
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
