//! The order of the operations between two snapshots: that of their times, as far as they can be done in it. A name must be
//! free before it is taken, a directory made before it is used and empty before it is removed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One of the things to do, by its place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Do it.
    Do(u32),
    /// What is to be moved moves aside first, for its name is needed by what frees the name that it is to get.
    Aside(u32),
}

/// Orders things to be done at `times`, with `before` saying what must be done before what. Gives when each thing is really
/// done, too. Circles are broken at what can move aside: each of them has such a thing.
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
            let place = movable.pop().expect("a circle has something that can move aside");
            aside[place as usize] = true;
            (place, Turn::Aside(place))
        };
        now = now.max(times[place as usize]);
        turns.push((now, turn));
        // What moved aside has freed its name then, and not again when it comes back.
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
    fn time_decides_where_nothing_else_does() {
        let turns = order(&[30, 10, 20, 5], &mut [(0, 3)], |_| false);
        let places: Vec<(i64, Turn)> =
            vec![(10, Turn::Do(1)), (20, Turn::Do(2)), (30, Turn::Do(0)), (30, Turn::Do(3))];
        assert_eq!(turns, places);
    }

    #[test]
    fn a_circle_is_broken_once() {
        // Two files change names, and a third one waits for one of the names.
        let turns = order(&[10, 20, 5], &mut [(0, 1), (1, 0), (1, 2)], |place| place < 2);
        let places: Vec<Turn> = turns.into_iter().map(|(_, turn)| turn).collect();
        assert_eq!(places, [Turn::Aside(0), Turn::Do(1), Turn::Do(2), Turn::Do(0)]);
    }
}
