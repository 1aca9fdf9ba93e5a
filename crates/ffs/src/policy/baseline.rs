//! The unchanged policy of 4.4BSD.

use super::Policy;

/// The policy of 4.4BSD: clusters, and another group at each indirect block, after 96 KB and then every 16 MB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

impl Policy for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }
}
