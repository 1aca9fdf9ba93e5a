//! Clusters: blocks that were written together are moved, before they reach the disk, to where they lie together.
//!
//! 4.4BSD does so while a cluster of dirty buffers builds up: as soon as a block that was just allocated does not follow its
//! predecessor, all of the cluster so far is moved to a run that holds it. Here the cluster is looked at once, when it is
//! full, when the write ends, or where another section begins; it comes to lie in the same run, unless the blocks so far found
//! a run that was too short for those still to come.

use super::FastFs;
use crate::geometry::FRAGMENTS;
use crate::layout::{Layout, Piece};
use crate::policy::Policy;

impl<P: Policy> FastFs<P> {
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
        let group = self.groups.group_of(preferred);
        let place = self.in_some_group(group, |this, group, is_preferred| {
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
        });
        let Some(place) = place else { return };
        self.groups.take_blocks(place, end - first);
        if tail > 0 {
            self.groups.take_exactly(place + (end - first), 0, tail);
        }
        let groups = &mut self.groups;
        file.cut(from, to, |start, len| groups.give(start, len));
        file.insert(Piece { logical: from, start: place * FRAGMENTS, len: to - from });
    }
}
