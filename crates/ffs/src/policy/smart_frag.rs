//! SmartFrag (Smith and Seltzer 1997, section 5): the end of a file beside the rest of it.

use super::Policy;

/// The fragments at the end of a file lie directly behind its last block where that can be had, and move with its cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmartFrag;

impl Policy for SmartFrag {
    fn name(&self) -> &'static str {
        "smart_frag"
    }

    fn tail_beside_block(&self) -> bool {
        true
    }
}
