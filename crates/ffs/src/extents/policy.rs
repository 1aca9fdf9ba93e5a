//! Placement policies for extents, behind one trait.

use super::Space;
use crate::simulation::PolicyKind;

/// A placement policy for extents.
pub trait Placement: Clone + Send {
    /// The name of the policy.
    fn name(&self) -> &'static str;

    /// A run of free blocks (start, length) for `wanted` blocks, preferably at `goal`; a shorter run if none is long enough. None only
    /// if no block is free.
    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)>;
}

/// The goal's group and those after it, cyclically, each with a start block: the goal in its own group, the first block in others.
fn groups_from(space: &Space, goal: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let (first, count) = (space.group_of(goal), space.groups());
    (0..count).map(move |step| {
        let group = (first + step) % count;
        (group, if step == 0 { goal } else { space.range(group).start })
    })
}

/// The longest run of all, up to `wanted`; of equal ones the first from the goal's group on.
fn longest(space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
    space.longest_run(space.group_of(goal)).map(|(start, len)| (start, len.min(wanted)))
}

/// At the goal if enough blocks are free there, else the first aligned power-of-two chunk that is large enough, group by group: fast, and
/// the remaining free space is aligned.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuddySearch;

inventory::submit!(PolicyKind::extents::<BuddySearch>().as_default());
inventory::submit!(PolicyKind::extents_without_window::<BuddySearch>(|| "buddy_no_window"));

impl Placement for BuddySearch {
    fn name(&self) -> &'static str {
        "buddy"
    }

    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        if space.run_at(goal, wanted) == wanted {
            return Some((goal, wanted));
        }
        let mut order = wanted.next_power_of_two().ilog2().min(space.max_order());
        loop {
            if let Some(start) = space.aligned_chunk(goal, order) {
                return Some((start, space.run_at(start, wanted)));
            }
            order = order.checked_sub(1)?;
        }
    }
}

/// The first run behind the goal that is long enough, then in the following groups.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFit;

inventory::submit!(PolicyKind::extents::<FirstFit>());

impl Placement for FirstFit {
    fn name(&self) -> &'static str {
        "first_fit"
    }

    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        let own = space.group_of(goal);
        let found = groups_from(space, goal)
            .chain([(own, space.range(own).start)])
            .filter(|&(group, _)| space.may_have_run(group, wanted))
            .find_map(|(group, from)| space.runs_at_least(group, from, wanted).next());
        found.map(|(start, _)| (start, wanted)).or_else(|| longest(space, goal, wanted))
    }
}

/// At the goal if enough blocks are free there, else the shortest run that is long enough, group by group.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestFit;

inventory::submit!(PolicyKind::extents::<BestFit>());

impl Placement for BestFit {
    fn name(&self) -> &'static str {
        "best_fit"
    }

    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        if space.run_at(goal, wanted) == wanted {
            return Some((goal, wanted));
        }
        let found = groups_from(space, goal).find_map(|(group, _)| space.shortest_run(group, wanted));
        found.map(|(start, _)| (start, wanted)).or_else(|| longest(space, goal, wanted))
    }
}
