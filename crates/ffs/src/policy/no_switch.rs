//! NoSwitch (Smith and Seltzer 1997, section 4.1): files a little larger than 96 KB stay in one group.

use super::Policy;
use crate::geometry::DIRECT;
use crate::simulation::PolicyKind;

/// No change of group at the first indirect block: the first change is after 16 MB.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSwitch;

inventory::submit!(PolicyKind::fast::<NoSwitch>());

impl Policy for NoSwitch {
    fn name(&self) -> &'static str {
        "no_switch"
    }

    fn begins_section(&self, block: u32) -> bool {
        block > DIRECT
    }
}
