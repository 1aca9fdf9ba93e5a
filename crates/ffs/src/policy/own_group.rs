//! The baseline with the search of the code of 4.4BSD for the group of a section, for comparison with the text of Smith and Seltzer (1997, §4.1).

use super::Policy;
use crate::fast::Groups;
use crate::simulation::PolicyKind;

/// The baseline, but the group that a file leaves is the first that is asked for a section's group, not the last. The
/// first indirect block stays in the group of the inode if that has the average number of free blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnGroup;

inventory::submit!(PolicyKind::fast::<OwnGroup>());

impl Policy for OwnGroup {
    fn name(&self) -> &'static str {
        "own_group"
    }

    fn section_group(&self, groups: &Groups, own: u32) -> Option<u32> {
        let least = groups.total().blocks / groups.count();
        (0..groups.count())
            .map(|step| (own + step) % groups.count())
            .find(|&group| groups.summary(group).blocks >= least)
    }
}
