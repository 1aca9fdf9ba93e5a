//! Clusters: blocks that were written together are moved, before they reach the disk, to where they lie together.
//!
//! 4.4BSD does so while a cluster of dirty buffers builds up: as soon as a block that was just allocated does not follow its
//! predecessor, all of the cluster so far is moved to a run that holds it. Here the cluster is looked at once, when it is
//! full, when the write ends, or where another section begins; it comes to lie in the same run, unless the blocks so far found
//! a run that was too short for those still to come.

use super::FastFs;
use super::groups::MOST_CLUSTER;
use crate::geometry::{FRAGMENTS, Geometry};
use crate::layout::{Layout, Piece};
use crate::policy::Policy;

impl<P: Policy> FastFs<P> {
    /// Writes the blocks `first..end` to where filling them in at `preferred` and gathering them would bring them, in half the
    /// steps, if they are a new end of the file and can be had behind `preferred` in its group. Says whether; if not, nothing
    /// is done.
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
        let place = if count > 1 {
            runs.iter().for_each(|&(block, len)| self.groups.hold(block, len));
            let place = self.cluster_place(preferred, len);
            runs.iter().for_each(|&(block, len)| self.groups.release(block, len));
            place
        } else {
            None
        };
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

    /// Takes `len` free blocks from `place` on as the blocks of a file from `first` on.
    fn append_blocks(&mut self, file: &mut Layout, first: u32, place: u32, len: u32) {
        self.groups.take_blocks(place, len);
        file.insert(Piece { logical: first * FRAGMENTS, start: place * FRAGMENTS, len: len * FRAGMENTS });
    }

    /// Where `len` blocks in a row can be had: in the group of the block `preferred` behind that, else in another group.
    fn cluster_place(&mut self, preferred: u32, len: u32) -> Option<u32> {
        let group = self.groups.group_of(preferred);
        self.in_some_group(group, |this, group, is_preferred| {
            if this.groups.longest_cluster(group) < len {
                return None;
            }
            let range = this.groups.geometry().range(group);
            let from = if is_preferred && range.contains(&preferred) {
                preferred
            } else {
                this.groups.geometry().first_data(group)
            };
            this.policy.cluster_place(&this.groups, from, len)
        })
    }

    /// Moves the blocks `first..end` of the file together, to the group of the block `preferred` and behind that if it can be
    /// had, and `tail` fragments behind them too. The last block must not be in another group than the first: then the file
    /// has moved on on purpose.
    pub(super) fn gather(&mut self, file: &mut Layout, first: u32, end: u32, tail: u32, preferred: u32) {
        let (from, to) = (first * FRAGMENTS, end * FRAGMENTS + tail);
        let (begin, together) = file.find(from).expect("a cluster has blocks");
        let (last, _) = file.find((end - 1) * FRAGMENTS).expect("a cluster has blocks");
        let moves = together < to - from
            && self.groups.group_of(begin / FRAGMENTS) == self.groups.group_of(last / FRAGMENTS);
        let len = end - first + u32::from(tail > 0);
        if !moves || len > self.groups.geometry().cluster_blocks {
            return;
        }
        let Some(place) = self.cluster_place(preferred, len) else { return };
        self.groups.take_blocks(place, end - first);
        if tail > 0 {
            self.groups.take_exactly(place + (end - first), 0, tail);
        }
        let groups = &mut self.groups;
        file.cut(from, to, |start, len| groups.give(start, len));
        file.insert(Piece { logical: from, start: place * FRAGMENTS, len: to - from });
    }
}
