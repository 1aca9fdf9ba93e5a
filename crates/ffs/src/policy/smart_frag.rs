//! SmartFrag (Smith and Seltzer 1997, section 4.2): the end of a file is placed next to the rest.

use super::Policy;
use crate::simulation::PolicyKind;

/// The fragments at the end of a file are placed directly behind its last block if that block is free, else as in 4.4BSD.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmartFrag;

inventory::submit!(PolicyKind::fast::<SmartFrag>());

impl Policy for SmartFrag {
    fn name(&self) -> &'static str {
        "smart_frag"
    }

    fn tail_follows_block(&self) -> bool {
        true
    }
}
