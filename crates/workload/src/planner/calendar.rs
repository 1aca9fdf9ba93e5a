//! Birth times of files that produce the profile's distribution of relative ages (DESIGN §4).
//!
//! Time is counted in operations (creations and deletions); an aging of `total` operations has the times 1 …
//! total. A file born at time t has the relative age (total − t) / total at the end. Age bin b ends at the
//! edge E_b (the last is 1), so its births lie in a window of times.

use profile::AgeHistogram;

/// The birth windows of the age bins, youngest first, for one total of operations.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    /// Operations of the whole aging.
    pub total: u64,
    /// First time of each window, in falling order; the last is 0. A window ends where the one before it
    /// begins.
    start: Vec<u64>,
}

impl Calendar {
    /// The windows for `total` operations.
    pub fn new(age: &AgeHistogram, total: u64) -> Calendar {
        let oldest = *age.upper.last().expect("a checked histogram has bins");
        let mut start: Vec<u64> = age
            .upper
            .iter()
            .map(|&edge| total.saturating_sub((edge / oldest * total as f64).floor() as u64))
            .collect();
        *start.last_mut().expect("every bin has a window") = 0;
        Calendar { total, start }
    }

    /// The age bin of a file born at `time`.
    #[inline]
    pub fn bin_of(&self, time: u64) -> usize {
        self.start.partition_point(|&s| s > time)
    }

    /// The birth times of a bin: the first, and the one after the last.
    pub fn window(&self, bin: usize) -> (u64, u64) {
        (self.start[bin], if bin == 0 { self.total + 1 } else { self.start[bin - 1] })
    }

    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.start.len()
    }
}

/// The order of creations and deletions in time, as far as the calendar needs it: first a transition that
/// deletes `doomed` files and creates `new` ones alternately (a fresh filling has only creations), then pairs
/// of a deletion and a creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    /// Operations before this plan began.
    pub past: u64,
    /// Files to be deleted in the transition.
    pub doomed: u64,
    /// Files to be created in the transition.
    pub new: u64,
}

impl Rhythm {
    /// The time at which the transition ends.
    pub fn steady(&self) -> u64 {
        self.past + self.doomed + self.new
    }

    /// True if the operation at `time` creates a file; deletions come first, to make room.
    #[inline]
    pub fn creates(&self, time: u64) -> bool {
        self.born_by(time) > self.born_by(time - 1)
    }

    /// Creations from the start of this plan up to and including `time`.
    pub fn born_by(&self, time: u64) -> u64 {
        if time <= self.past {
            return 0;
        }
        let in_transition = (time - self.past).min(self.doomed + self.new);
        let turns = self.doomed.min(self.new);
        let born = if in_transition <= 2 * turns {
            in_transition / 2
        } else {
            (turns + in_transition - 2 * turns).min(self.new)
        };
        born + time.saturating_sub(self.steady()) / 2
    }

    /// Creations of this plan in each window.
    pub fn births(&self, calendar: &Calendar) -> Vec<u64> {
        (0..calendar.bins())
            .map(|b| {
                let (from, to) = calendar.window(b);
                self.born_by(to - 1) - self.born_by(from.max(1) - 1)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_follow_bin_edges() {
        let age = AgeHistogram { upper: vec![1.0, 2.0, 8.0], weight: vec![1.0; 3] };
        let c = Calendar::new(&age, 80);
        assert_eq!((0..3).map(|b| c.window(b)).collect::<Vec<_>>(), [(70, 81), (60, 70), (0, 60)]);
        for (time, bin) in [(80, 0), (70, 0), (69, 1), (60, 1), (59, 2), (1, 2)] {
            assert_eq!(c.bin_of(time), bin);
        }
    }

    proptest! {
        #[test]
        fn births_count_creations_per_window(
            edges in prop::collection::vec(1u32..1000, 1..8),
            (past, doomed, new, pairs) in (0u64..50, 0u64..50, 0u64..50, 0u64..200),
        ) {
            let mut sum = 0.0;
            let upper: Vec<f64> = edges.iter().map(|&e| { sum += f64::from(e); sum }).collect();
            let weight = vec![1.0; upper.len()];
            let rhythm = Rhythm { past, doomed, new };
            let calendar = Calendar::new(&AgeHistogram { upper, weight }, rhythm.steady() + 2 * pairs);
            let mut counted = vec![0; calendar.bins()];
            for time in past + 1..=calendar.total {
                if rhythm.creates(time) {
                    counted[calendar.bin_of(time)] += 1;
                }
            }
            prop_assert_eq!(counted.iter().sum::<u64>(), new + pairs);
            prop_assert_eq!(counted, rhythm.births(&calendar));
        }
    }
}
