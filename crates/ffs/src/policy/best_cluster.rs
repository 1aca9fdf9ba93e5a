//! Clusters by best fit, to see what the first fit of 4.4BSD costs or gains.

use super::Policy;
use crate::fast::Groups;

/// A cluster goes to the shortest run of free blocks in its group that holds it, the first of these, even if it lies before
/// what was written before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestCluster;

impl Policy for BestCluster {
    fn name(&self) -> &'static str {
        "best_cluster"
    }

    const CLUSTERS_BEHIND: bool = false;

    fn cluster_place(&self, groups: &Groups, from: u32, len: u32) -> Option<u32> {
        let fits = groups.free_runs(groups.group_of(from)).filter(|&(_, run)| run >= len);
        fits.min_by_key(|&(_, run)| run).map(|(first, _)| first)
    }
}
