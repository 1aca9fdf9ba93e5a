//! Where an extent goes: placements behind one trait.

use super::Space;
use super::space::MOST_RUN;

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
    let most = (0..space.groups()).map(|group| space.longest_run(group)).max().filter(|&most| most > 0)?;
    let groups =
        groups_from(space, goal).map(|(group, _)| group).filter(|&group| space.longest_run(group) == most);
    let mut runs = groups.flat_map(|group| space.runs_of(group, 0, most));
    if most < MOST_RUN {
        return runs.next();
    }
    let longest = runs.fold(None, |best: Option<(u32, u32)>, run| match best {
        Some(best) if best.1 >= run.1 => Some(best),
        _ => Some(run),
    })?;
    Some((longest.0, longest.1.min(wanted)))
}

/// The shortest of runs that have `least` blocks at least, the first of these.
fn shortest(runs: impl Iterator<Item = (u32, u32)>, least: u32) -> Option<(u32, u32)> {
    let mut best: Option<(u32, u32)> = None;
    for run in runs {
        if best.is_none_or(|best| run.1 < best.1) {
            best = Some(run);
        }
        if run.1 == least {
            break;
        }
    }
    best
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
            let found = groups_from(space, goal).find_map(|(group, from)| space.chunk(group, from, order));
            if let Some(start) = found {
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
            .filter(|&(group, _)| space.shortest_run(group, wanted).is_some())
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
        let fits = |(group, _)| {
            let least = space.shortest_run(group, wanted)?.max(wanted);
            shortest(space.runs_of(group, 0, least), least)
        };
        let found = groups_from(space, goal).find_map(fits);
        found.map(|(start, _)| (start, wanted)).or_else(|| longest(space, goal, wanted))
    }
}
