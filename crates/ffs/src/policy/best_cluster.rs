//! Best fit for clusters, for comparison with the first fit of 4.4BSD.

use super::Policy;
use crate::fast::Groups;
use crate::simulation::PolicyKind;

/// A cluster goes to the shortest run of free blocks in its group that holds it, the first of equal ones, even if it is before
/// earlier writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestCluster;

inventory::submit!(PolicyKind::fast::<BestCluster>());

impl Policy for BestCluster {
    fn name(&self) -> &'static str {
        "best_cluster"
    }

    const SEARCHES_FORWARD_ONLY: bool = false;

    fn cluster_place(&self, groups: &Groups, from: u32, len: u32) -> Option<u32> {
        let most = groups.geometry().cluster_blocks;
        // A full group most often has a run of exactly that length, or of a few blocks more.
        if let Some(first) = (len..most).find_map(|len| groups.exact_cluster(groups.group_of(from), len)) {
            return Some(first);
        }
        let fits = groups.free_runs(groups.group_of(from)).filter(|&(_, run)| run >= len);
        fits.min_by_key(|&(_, run)| run).map(|(first, _)| first)
    }
}
