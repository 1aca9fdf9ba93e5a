//! Latencies of operations: one histogram per kind, so that memory does not depend on their number; merging over ranks is lossless.
//!
//! A rank starts an operation when the previous one has ended, so a slow one delays the next ones without counting their delay: the
//! latencies are service times, not response times (coordinated omission).

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Significant digits of a recorded latency.
const DIGITS: u8 = 3;

/// The kinds of operations on objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Writing a new object.
    Create,
    /// Querying the size of an object.
    Stat,
    /// Reading a whole object.
    Read,
    /// Deleting an object.
    Delete,
}

impl Op {
    /// All kinds, in the order in which results are listed.
    pub const ALL: [Op; 4] = [Op::Create, Op::Stat, Op::Read, Op::Delete];

    /// The name in published results.
    pub fn name(self) -> &'static str {
        match self {
            Op::Create => "create",
            Op::Stat => "stat",
            Op::Read => "read",
            Op::Delete => "delete",
        }
    }
}

/// Latencies of one kind of operation, in nanoseconds, to three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Latencies {
        let mut histogram = Histogram::new(DIGITS).expect("three digits are supported");
        histogram.auto(true);
        Latencies(histogram)
    }
}

/// The latencies of an operation, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Quantiles {
    /// The minimum.
    pub min: f64,
    /// A quarter took no longer.
    pub q1: f64,
    /// Half took no longer.
    pub median: f64,
    /// Three quarters took no longer.
    pub q3: f64,
    /// 90 % took no longer.
    pub p90: f64,
    /// 99 % took no longer.
    pub p99: f64,
    /// 99.9 % took no longer.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Latencies {
    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // The histogram resizes itself.
        let _ = self.0.record(ns.max(1));
    }

    /// Adds all latencies of another histogram.
    pub fn add(&mut self, other: &Latencies) {
        self.0.add(&other.0).expect("both histograms resize and have the same precision");
    }

    /// Number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The quantiles; none if no latency was recorded.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |quantile: f64| us(self.0.value_at_quantile(quantile));
        (self.count() > 0).then(|| Quantiles {
            min: us(self.0.min()),
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: us(self.0.max()),
            mean: self.0.mean() / 1e3,
        })
    }

    /// Each distinct value in nanoseconds and its count, ascending.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

/// Histogram bins per doubling, for figures.
const BINS_A_DOUBLING: f64 = 8.0;

impl Latencies {
    /// Counts in bins whose upper limits, in nanoseconds, grow by an eighth of a doubling: a few hundred at most. Empty bins are left
    /// out.
    pub fn bins(&self) -> Vec<(f64, u64)> {
        let mut bins: Vec<(f64, u64)> = Vec::new();
        for (ns, count) in self.counts() {
            let number = ((ns as f64).log2() * BINS_A_DOUBLING).floor() + 1.0;
            let upper = (number / BINS_A_DOUBLING).exp2();
            match bins.last_mut() {
                Some(last) if last.0 == upper => last.1 += count,
                _ => bins.push((upper, count)),
            }
        }
        bins
    }
}

/// Between ranks, a histogram is sent as its distinct values, which are few.
impl Serialize for Latencies {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.counts())
    }
}

impl<'de> Deserialize<'de> for Latencies {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Latencies, D::Error> {
        let counts = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut latencies = Latencies::default();
        for (value, count) in counts {
            latencies.0.record_n(value, count).map_err(serde::de::Error::custom)?;
        }
        Ok(latencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// After serialization and merging, quantiles equal those of all values, within the precision of the histogram.
        #[test]
        fn merging_is_lossless(
            a in proptest::collection::vec(1_u64..10_000_000_000, 0..200),
            b in proptest::collection::vec(1_u64..10_000_000_000, 1..200),
        ) {
            let of = |values: &[u64]| {
                let mut latencies = Latencies::default();
                values.iter().for_each(|ns| latencies.record(*ns));
                latencies
            };
            let travelled = |values: &[u64]| -> Latencies {
                serde_json::from_slice(&serde_json::to_vec(&of(values)).unwrap()).unwrap()
            };
            let mut merged = travelled(&a);
            merged.add(&travelled(&b));
            let mut all = [a, b].concat();
            all.sort_unstable();
            prop_assert_eq!(merged.count(), all.len() as u64);
            let bins = merged.bins();
            prop_assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), all.len() as u64);
            prop_assert!(bins.is_sorted_by(|a, b| a.0 < b.0) && bins.len() <= 34 * 8);
            let found = merged.quantiles().unwrap();
            for (quantile, found) in [(0.5, found.median), (0.9, found.p90), (1.0, found.max)] {
                let rank = ((quantile * all.len() as f64).ceil() as usize).max(1);
                let expected = all[rank - 1] as f64 / 1e3;
                prop_assert!((found / expected - 1.0).abs() < 2.1e-3, "{quantile}: {found} {expected}");
            }
        }
    }
}
