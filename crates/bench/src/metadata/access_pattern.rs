//! The object for each step of a rank: pure arithmetic, the same on every rank.
//!
//! In data set d, a rank reads and deletes in the set of the rank `offset · (d + 1)` before it, and writes into the set of the rank as many
//! after it, counted in a ring.

use super::object::{DataSet, Object};
use super::settings::Settings;

/// The access pattern of one rank.
#[derive(Clone, Copy, Debug)]
pub struct AccessPattern {
    rank: u32,
    ranks: u32,
    offset: u32,
    precreate: u64,
}

impl AccessPattern {
    /// The pattern of `rank` among `ranks`.
    pub fn new(settings: &Settings, rank: u32, ranks: u32) -> AccessPattern {
        AccessPattern { rank, ranks, offset: settings.offset, precreate: settings.precreate }
    }

    /// A data set of this rank.
    pub fn own_set(&self, number: u32) -> DataSet {
        DataSet { rank: self.rank, number }
    }

    /// The object that the rank stats, reads and deletes at `position` in data set `number`.
    pub fn object_to_read(&self, number: u32, position: u64) -> Object {
        Object { set: DataSet { rank: self.before(number), number }, item: position }
    }

    /// The object that the rank writes at that position.
    pub fn object_to_write(&self, number: u32, position: u64) -> Object {
        Object { set: DataSet { rank: self.behind(number), number }, item: self.precreate + position }
    }

    /// The items in its own data set `number` when each rank is at its entry of `positions`: those created and not deleted since.
    pub fn remaining_items(&self, number: u32, positions: &[u64]) -> std::ops::Range<u64> {
        // The rank that reads from this rank is as far behind it as the rank that this one reads from is before it.
        let deleted = positions[self.behind(number) as usize];
        let written = positions[self.before(number) as usize];
        deleted..self.precreate + written
    }

    fn distance(&self, number: u32) -> u32 {
        (u64::from(self.offset) * (u64::from(number) + 1) % u64::from(self.ranks)) as u32
    }

    fn before(&self, number: u32) -> u32 {
        (self.rank + (self.ranks - self.distance(number))) % self.ranks
    }

    fn behind(&self, number: u32) -> u32 {
        (self.rank + self.distance(number)) % self.ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// At any positions of the ranks, the remaining objects are those created and not deleted, and none is deleted twice.
        #[test]
        fn created_objects_are_deleted_once(
            positions in proptest::collection::vec(0_u64..6, 1..7), offset in 0_u32..9, data_sets in 1_u32..5,
        ) {
            let settings = Settings { offset, data_sets, precreate: 6, ..Settings::default() };
            let ranks = positions.len() as u32;
            let patterns: Vec<AccessPattern> =
                (0..ranks).map(|rank| AccessPattern::new(&settings, rank, ranks)).collect();
            let mut there = BTreeSet::new();
            for (pattern, number) in patterns.iter().flat_map(|p| (0..data_sets).map(move |n| (p, n))) {
                there.extend((0..6).map(|item| Object { set: pattern.own_set(number), item }));
            }
            for number in 0..data_sets {
                for (pattern, &position) in patterns.iter().zip(&positions) {
                    for at in 0..position {
                        prop_assert!(there.insert(pattern.object_to_write(number, at)));
                    }
                }
                for (pattern, &position) in patterns.iter().zip(&positions) {
                    for at in 0..position {
                        prop_assert!(there.remove(&pattern.object_to_read(number, at)));
                    }
                }
            }
            for pattern in &patterns {
                for number in 0..data_sets {
                    for item in pattern.remaining_items(number, &positions) {
                        let object = Object { set: pattern.own_set(number), item };
                        prop_assert!(there.remove(&object));
                    }
                }
            }
            prop_assert!(there.is_empty());
        }
    }
}
