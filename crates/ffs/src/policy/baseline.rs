//! The baseline of Smith and Seltzer (1997, section 4): the policy of 4.4BSD with the clustering of 1996, which moves clusters.

use super::Policy;
use crate::simulation::PolicyKind;

/// 4.4BSD with moved clusters, and another group at each indirect block, after 96 KB and then every 16 MB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

inventory::submit!(PolicyKind::fast::<Baseline>().as_default());

impl Policy for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }
}
