//! Where an extent goes: placements behind one trait.

use super::Space;

/// Where an extent goes.
pub trait Placement: Clone {
    /// The word for it.
    fn name(&self) -> &'static str;

    /// A run of free blocks (start, length) for `wanted` blocks that are best at `goal`; a shorter one where none is as long.
    /// None only where nothing is free.
    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)>;
}

/// The goal and groups from its own on: the goal's is asked from the goal on, the others from their beginning.
fn groups_from(space: &Space, goal: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    let (first, count) = (space.group_of(goal), space.groups());
    (0..count).map(move |step| {
        let group = (first + step) % count;
        (group, if step == 0 { goal } else { space.range(group).start })
    })
}

/// The longest run of all, up to `wanted`, the first of these from the goal's group on.
fn longest(space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
    space.longest_run(space.group_of(goal)).map(|(start, len)| (start, len.min(wanted)))
}

/// At the goal if it is free there for long enough, else the first chunk of a power of two that holds it, group by group: fast,
/// and what it leaves is aligned.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuddySearch;

impl Placement for BuddySearch {
    fn name(&self) -> &'static str {
        "buddy"
    }

    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        if space.run_at(goal, wanted) == wanted {
            return Some((goal, wanted));
        }
        let mut order = wanted.next_power_of_two().ilog2().min(space.most_order());
        loop {
            if let Some(start) = space.chunk(goal, order) {
                return Some((start, space.run_at(start, wanted)));
            }
            order = order.checked_sub(1)?;
        }
    }
}

/// The first run behind the goal that is long enough, then in the groups behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFit;

impl Placement for FirstFit {
    fn name(&self) -> &'static str {
        "first_fit"
    }

    fn place(&self, space: &Space, goal: u32, wanted: u32) -> Option<(u32, u32)> {
        let own = space.group_of(goal);
        let found = groups_from(space, goal)
            .chain([(own, space.range(own).start)])
            .filter(|&(group, _)| space.may_have_run(group, wanted))
            .find_map(|(group, from)| space.runs_of(group, from, wanted).next());
        found.map(|(start, _)| (start, wanted)).or_else(|| longest(space, goal, wanted))
    }
}

/// At the goal if it is free there for long enough, else the shortest run that is long enough, group by group.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestFit;

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
