//! The order of the operations between two snapshots: by time, as far as dependencies allow. A name must be
//! free before it is taken; a directory must exist before it is used and be empty before it is removed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A step of the schedule, with the place of the act in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Executes the act.
    Do(u32),
    /// First moves the file of a rename aside, because the act that frees its new name needs its old name.
    Aside(u32),
}

/// Schedules acts at `times`; in each pair of `before` the first must precede the second. Also returns the
/// actual time of each act. Cycles are broken at an act that can move aside: every cycle has one.
pub(super) fn order(
    times: &[i64],
    before: &mut [(u32, u32)],
    can_move_aside: impl Fn(u32) -> bool,
) -> Vec<(i64, Turn)> {
    before.sort_unstable();
    let mut missing = vec![0u32; times.len()];
    before.iter().for_each(|(_, after)| missing[*after as usize] += 1);
    let after = |first: u32| {
        let start = before.partition_point(|(before, _)| *before < first);
        before[start..].iter().take_while(move |(before, _)| *before == first).map(|(_, after)| *after)
    };
    let item = |place: u32| Reverse((times[place as usize], place));
    let mut ready: BinaryHeap<_> =
        (0..times.len() as u32).filter(|place| missing[*place as usize] == 0).map(item).collect();
    let mut movable: Vec<u32> = Vec::new();
    let (mut is_sorted, mut now) = (false, i64::MIN);
    let mut done = vec![false; times.len()];
    let mut aside = vec![false; times.len()];
    let mut turns = Vec::with_capacity(times.len());
    let mut left = times.len();
    while left > 0 {
        let (place, turn) = if let Some(Reverse((_, place))) = ready.pop() {
            done[place as usize] = true;
            left -= 1;
            (place, Turn::Do(place))
        } else {
            if !is_sorted {
                movable = (0..times.len() as u32).filter(|place| can_move_aside(*place)).collect();
                movable.sort_unstable_by_key(|place| Reverse((times[*place as usize], *place)));
                is_sorted = true;
            }
            while movable.last().is_some_and(|place| done[*place as usize] || aside[*place as usize]) {
                movable.pop();
            }
            let place = movable.pop().expect("every cycle has an act that can move aside");
            aside[place as usize] = true;
            (place, Turn::Aside(place))
        };
        now = now.max(times[place as usize]);
        turns.push((now, turn));
        // Moving aside frees the old name; the later rename does not free it again.
        if turn == Turn::Aside(place) || !aside[place as usize] {
            for next in after(place) {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    ready.push(item(next));
                }
            }
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_acts_are_ordered_by_time() {
        let turns = order(&[30, 10, 20, 5], &mut [(0, 3)], |_| false);
        let places: Vec<(i64, Turn)> =
            vec![(10, Turn::Do(1)), (20, Turn::Do(2)), (30, Turn::Do(0)), (30, Turn::Do(3))];
        assert_eq!(turns, places);
    }

    #[test]
    fn cycle_is_broken_once() {
        // Two files swap their names, and a third one waits for one of the names.
        let turns = order(&[10, 20, 5], &mut [(0, 1), (1, 0), (1, 2)], |place| place < 2);
        let places: Vec<Turn> = turns.into_iter().map(|(_, turn)| turn).collect();
        assert_eq!(places, [Turn::Aside(0), Turn::Do(1), Turn::Do(2), Turn::Do(0)]);
    }
}
