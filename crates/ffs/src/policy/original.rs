//! The policy before 4.4BSD (Smith and Seltzer 1996, "FFS" against "FFS with realloc").

use super::Policy;
use crate::simulation::PolicyKind;

/// The policy of 4.3BSD: every block stays where it is first allocated, without clustering.
#[derive(Clone, Copy, Debug, Default)]
pub struct Original;

inventory::submit!(PolicyKind::fast::<Original>());

impl Policy for Original {
    fn name(&self) -> &'static str {
        "original"
    }

    fn reallocates_clusters(&self) -> bool {
        false
    }
}
