//! Clustering: blocks written together are moved, before they reach the disk, to a place where they are contiguous.
//!
//! 4.4BSD does so while a cluster of dirty buffers grows: as soon as a newly allocated block does not follow its predecessor, the cluster
//! so far is moved to a run that holds it; the next write call goes on with it. Here the cluster is examined when it is full, when a write ends, or
//! where another section starts. It gets the same run, unless the first blocks had found a run that was too short for the rest.

use super::FastFs;
use super::groups::MOST_CLUSTER;
use crate::geometry::{FRAGMENTS, Geometry};
use crate::layout::{Extent, Layout};
use crate::policy::Policy;

impl<P: Policy> FastFs<P> {
    /// Places the blocks `first..end` where filling at `preferred` and then gathering would place them, in half the steps, if they extend the
    /// file and enough blocks are free behind `preferred` in its group. Returns whether it did; if not, nothing
    /// changed.
    pub(super) fn write_gathered(&mut self, file: &mut Layout, first: u32, end: u32, preferred: u32) -> bool {
        let len = end - first;
        if len > self.groups.geometry().cluster_blocks
            || file.end() > first * FRAGMENTS
            || file.indirect.len() < Geometry::indirect_blocks(end) as usize
            || self.available_fragments() < u64::from(len * FRAGMENTS)
        {
            return false;
        }
        let group = self.groups.group_of(preferred);
        let (mut runs, mut count, mut next, mut left) = ([(0, 0); MOST_CLUSTER], 0, preferred, len);
        while left > 0 {
            let Some((block, len)) = self.groups.next_run(next, left) else { return false };
            if self.groups.group_of(block) != group {
                return false;
            }
            runs[count] = (block, len);
            (count, next, left) = (count + 1, block + len, left - len);
        }
        let runs = &runs[..count];
        let (last, _) = runs[count - 1];
        if last != preferred {
            self.groups.turn(last);
        }
        let place = if count > 1 { self.cluster_apart(runs, preferred, next, len) } else { None };
        if let Some(place) = place {
            self.append_blocks(file, first, place, len);
            return true;
        }
        let mut at = first;
        for &(block, len) in runs {
            self.append_blocks(file, at, block, len);
            at += len;
        }
        true
    }

    /// A contiguous place for a cluster outside the runs that were found from `preferred` on, up to `next`.
    fn cluster_apart(&mut self, runs: &[(u32, u32)], preferred: u32, next: u32, len: u32) -> Option<u32> {
        let group = self.groups.group_of(preferred);
        if P::SEARCHES_FORWARD_ONLY {
            // The runs are all that is free between `preferred` and `next`.
            let from = (next < self.groups.geometry().range(group).end).then_some(next);
            return self.cluster_place(group, from, len);
        }
        runs.iter().for_each(|&(block, len)| self.groups.hold(block, len));
        let place = self.cluster_place(group, Some(preferred), len);
        runs.iter().for_each(|&(block, len)| self.groups.release(block, len));
        place
    }

    /// Takes `len` free blocks from `place` on as the blocks of a file from `first` on.
    pub(super) fn append_blocks(&mut self, file: &mut Layout, first: u32, place: u32, len: u32) {
        self.groups.take_blocks(place, len);
        file.insert(Extent { logical: first * FRAGMENTS, start: place * FRAGMENTS, len: len * FRAGMENTS });
    }

    /// A place for `len` contiguous blocks: in the group, at or behind `from` (nowhere if that is none), else in another group.
    fn cluster_place(&mut self, group: u32, from: Option<u32>, len: u32) -> Option<u32> {
        self.in_some_group(group, |this, group, is_preferred| {
            if this.groups.longest_cluster(group) < len {
                return None;
            }
            let first = this.groups.geometry().first_data(group);
            let from = if is_preferred { from? } else { first };
            // For a file at the end of the disk, `from` may be beyond it.
            let from = if this.groups.geometry().range(group).contains(&from) { from } else { first };
            this.policy.cluster_place(&this.groups, from, len)
        })
    }

    /// Moves the blocks `first..end` of the file to a contiguous place, preferably in the group of the block `preferred` and behind it. Does nothing
    /// if the last block is in another group than the first: then the file has changed groups on purpose.
    pub(super) fn gather(&mut self, file: &mut Layout, first: u32, end: u32, preferred: u32) {
        let (from, to) = (first * FRAGMENTS, end * FRAGMENTS);
        let (begin, together) = file.find(from).expect("a cluster has blocks");
        let (last, _) = file.find((end - 1) * FRAGMENTS).expect("a cluster has blocks");
        let moves = together < to - from
            && self.groups.group_of(begin / FRAGMENTS) == self.groups.group_of(last / FRAGMENTS);
        let len = end - first;
        if !moves || len > self.groups.geometry().cluster_blocks {
            return;
        }
        let group = self.groups.group_of(preferred);
        let Some(place) = self.cluster_place(group, Some(preferred), len) else { return };
        self.groups.take_blocks(place, len);
        let groups = &mut self.groups;
        file.remove_range(from, to, |start, len| groups.give(start, len));
        file.insert(Extent { logical: from, start: place * FRAGMENTS, len: to - from });
    }
}
