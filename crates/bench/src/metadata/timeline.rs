//! Latencies over the course of a phase, in a bounded number of time slices, which get wider as the phase gets longer.

use super::latency::Op;
use serde::{Deserialize, Serialize};

/// Maximum number of slices.
const MOST: usize = 128;

/// Initial width of a slice, as a power of two in nanoseconds: about a millisecond.
const FIRST: u32 = 20;

/// The operations of one kind that started within a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SliceStats {
    /// Number of operations.
    pub count: u64,
    /// Sum of their latencies, in nanoseconds.
    pub sum_ns: u64,
    /// Maximum latency, in nanoseconds.
    pub max_ns: u64,
}

impl SliceStats {
    fn add(&mut self, other: SliceStats) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// The slices of a phase, each with its operations in the order of [`Op::ALL`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// A right shift by this gives the slice of a start time; a shift, because every operation needs it.
    shift: u32,
    slices: Vec<[SliceStats; 4]>,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { shift: FIRST, slices: Vec::new() }
    }
}

impl Timeline {
    /// Adds an operation that started `start_ns` after the start of the phase.
    #[inline]
    pub fn record(&mut self, op: Op, start_ns: u64, took_ns: u64) {
        while start_ns >> self.shift >= MOST as u64 {
            self.widen();
        }
        let at = (start_ns >> self.shift) as usize;
        if at >= self.slices.len() {
            self.slices.resize(at + 1, Default::default());
        }
        self.slices[at][op as usize].add(SliceStats { count: 1, sum_ns: took_ns, max_ns: took_ns });
    }

    /// Adds the operations of another rank in the same phase.
    pub fn add(&mut self, other: &Timeline) {
        let mut other = other.clone();
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        let length = self.slices.len().max(other.slices.len());
        self.slices.resize(length, Default::default());
        for (own, more) in self.slices.iter_mut().zip(other.slices) {
            own.iter_mut().zip(more).for_each(|(own, more)| own.add(more));
        }
    }

    /// The slices with operations of a kind, each with its middle in seconds.
    pub fn of(&self, op: Op) -> impl Iterator<Item = (f64, SliceStats)> + '_ {
        let middle_s = |at: usize| (at as f64 + 0.5) * (1_u64 << self.shift) as f64 / 1e9;
        let all = self.slices.iter().enumerate().map(move |(at, slice)| (middle_s(at), slice[op as usize]));
        all.filter(|(_, slice)| slice.count > 0)
    }

    /// Merges pairs of slices.
    fn widen(&mut self) {
        self.shift += 1;
        let pairs = self.slices.chunks(2).map(|pair| {
            let mut both = pair[0];
            let more = pair.get(1).copied().unwrap_or_default();
            both.iter_mut().zip(more).for_each(|(own, more)| own.add(more));
            both
        });
        self.slices = pairs.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any length of a phase is covered, and the distribution over ranks does not matter.
        #[test]
        fn slices_are_few_and_complete(
            all in proptest::collection::vec((0_u64..1 << 44, 1_u64..1_000_000, any::<bool>()), 1..200),
        ) {
            let [mut one, mut other, mut both] = [(); 3].map(|()| Timeline::default());
            for (start, took, first) in &all {
                if *first { &mut one } else { &mut other }.record(Op::Read, *start, *took);
                both.record(Op::Read, *start, *took);
            }
            one.add(&other);
            prop_assert_eq!(&one, &both);
            let slices: Vec<(f64, SliceStats)> = both.of(Op::Read).collect();
            prop_assert!(slices.len() <= MOST && slices.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert_eq!(slices.iter().map(|(_, slice)| slice.count).sum::<u64>(), all.len() as u64);
            let most = all.iter().map(|(_, took, _)| *took).max();
            prop_assert_eq!(slices.iter().map(|(_, slice)| slice.max_ns).max(), most);
        }
    }
}
