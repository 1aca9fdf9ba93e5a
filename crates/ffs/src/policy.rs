//! The policies of the fast file system, behind one trait.
//!
//! Each decision defaults to that of 4.4BSD, so a policy contains only its differences. Sources: McKusick, Joy, Leffler and Fabry, A Fast
//! File System for UNIX, 1984; McKusick, Bostic, Karels and Quarterman, The Design and Implementation of the 4.4BSD Operating System, 1996,
//! chapter 8; Smith and Seltzer, A Comparison of FFS Disk Allocation Policies, 1996, and File System Aging, 1997.

mod baseline;
mod best_cluster;
mod no_switch;
mod original;
mod smart_frag;

pub use baseline::Baseline;
pub use best_cluster::BestCluster;
pub use no_switch::NoSwitch;
pub use original::Original;
pub use smart_frag::SmartFrag;

use crate::fast::Groups;
use crate::geometry::DIRECT;

/// The decisions of an allocation policy.
pub trait Policy: Clone + Send {
    /// The name of the policy.
    fn name(&self) -> &'static str;

    /// The group of a new directory: of the groups with at least the average number of free inodes, the one with the fewest
    /// directories.
    fn directory_group(&self, groups: &Groups) -> u32 {
        let least = groups.total().inodes / groups.count();
        let roomy = (0..groups.count()).filter(|&group| groups.summary(group).inodes >= least);
        roomy.min_by_key(|&group| groups.summary(group).directories).unwrap_or(0)
    }

    /// Whether block number `block` of a file, counted from 0, starts a new section, which selects its own group. The direct blocks are
    /// the first section, in the group of the inode; only later blocks are asked for that are the first of an indirect block or
    /// `section_blocks` behind its first.
    fn begins_section(&self, block: u32) -> bool {
        block >= DIRECT
    }

    /// The group of a section of a file that is in group `own` so far, modulo the number of groups: the next one on the disk with at least
    /// the average number of free blocks, cyclically, so the own group comes last (Smith and Seltzer 1997, §4.1). None selects the own group.
    fn section_group(&self, groups: &Groups, own: u32) -> Option<u32> {
        let least = groups.total().blocks / groups.count();
        let mut others = (1..=groups.count()).map(|step| (own + step) % groups.count());
        others.find(|&group| groups.summary(group).blocks >= least)
    }

    /// Whether blocks that were written together and are not contiguous are moved, before they are written, to a contiguous
    /// place.
    fn reallocates_clusters(&self) -> bool {
        true
    }

    /// Whether [`cluster_place`](Policy::cluster_place) ignores blocks before `from`. If not, the blocks that the cluster leaves must be hidden
    /// from it, which takes time.
    const SEARCHES_FORWARD_ONLY: bool = true;

    /// The place of a cluster of `len` blocks in its group, at or behind `from`: the first that is large enough, so that it is behind earlier
    /// writes.
    fn cluster_place(&self, groups: &Groups, from: u32, len: u32) -> Option<u32> {
        groups.first_cluster_from(from, len)
    }

    /// Whether the fragments at the end of a file go directly behind its last block if the next block is free, rather than into the shortest free
    /// run of fragments.
    fn tail_follows_block(&self) -> bool {
        false
    }
}
