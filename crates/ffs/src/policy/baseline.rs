//! The unchanged policy of 4.4BSD.

use super::Policy;
use crate::simulation::PolicyKind;

/// The policy of 4.4BSD: clusters, and another group at each indirect block, after 96 KB and then every 16 MB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

inventory::submit!(PolicyKind::fast::<Baseline>().as_default());

impl Policy for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }
}
