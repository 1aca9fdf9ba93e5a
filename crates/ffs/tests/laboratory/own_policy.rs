//! The example of docs/src/adding.md: a user-defined policy.

use crate::common::*;
use ffs::policy::{Baseline, NoSwitch, Policy};

/// Files switch groups at the first indirect block only if their own group is short of space.
#[derive(Clone, Copy)]
struct SwitchWhenCrowded;

impl Policy for SwitchWhenCrowded {
    fn name(&self) -> &'static str {
        "switch_when_crowded"
    }

    fn section_group(&self, groups: &ffs::Groups, own: u32) -> Option<u32> {
        let own = own % groups.count();
        let average = groups.total().blocks / groups.count();
        if groups.summary(own).blocks >= average / 2 {
            Some(own)
        } else {
            Baseline.section_group(groups, own)
        }
    }
}

#[test]
fn custom_policy_replaces_a_builtin_one() {
    let mut own = fast(SwitchWhenCrowded);
    apply(&mut own, &[create(1, 104 * KB)]);
    let mut none = fast(NoSwitch);
    apply(&mut none, &[create(1, 104 * KB)]);
    assert_eq!(extents_of(&own, 1), extents_of(&none, 1), "the group has space, so the file stays in it");
    // 13 MB of the group's 15.5 MB are used: its free space is less than half the average, so files switch.
    let fill: Vec<trace::Op> = (10..150).map(|file| create(file, 96 * KB)).collect();
    apply(&mut own, &fill);
    apply(&mut own, &[create(2, 104 * KB)]);
    assert!(extents_of(&own, 2)[1].1 >= block(2048), "{:?}", extents_of(&own, 2));
}
