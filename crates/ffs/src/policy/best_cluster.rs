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
        let most = groups.geometry().cluster_blocks;
        // In a full group there is most often one of just that length, or of a few blocks more.
        if let Some(first) = (len..most).find_map(|len| groups.exact_cluster(groups.group_of(from), len)) {
            return Some(first);
        }
        let fits = groups.free_runs(groups.group_of(from)).filter(|&(_, run)| run >= len);
        fits.min_by_key(|&(_, run)| run).map(|(first, _)| first)
    }
}
