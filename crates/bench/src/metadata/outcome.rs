//! What a phase gave, over all ranks.

use super::latency::{Op, Quantiles};
use super::settings::Phase;
use super::tally::Tally;
use super::timeline::Slice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a phase gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseOutcome {
    /// The phase.
    pub phase: Phase,
    /// Which repeat of the benchmark phase, from 0.
    pub iteration: u32,
    /// Objects that the phase is about: made, read or deleted, as it is published.
    pub objects: u64,
    /// Data sets made or removed.
    pub data_sets: u64,
    /// Objects a second, over the time of the slowest rank.
    pub objects_per_s: f64,
    /// Operations a second: an object of the benchmark phase is four, or two if it is only read.
    pub operations_per_s: f64,
    /// Bytes written and read a second, in MiB.
    pub mib_per_s: f64,
    /// Operations that failed.
    pub errors: u64,
    /// Seconds that the slowest rank took.
    pub time_s: f64,
    /// Seconds that the quickest took.
    pub time_min_s: f64,
    /// Their mean over the ranks.
    pub time_mean_s: f64,
    /// Standard deviation over the ranks, of a sample; 0 for one rank.
    pub time_stddev_s: f64,
    /// The quickest over the slowest, in percent.
    pub balance: f64,
    /// Each kind of operation that there was, by its name.
    pub operations: BTreeMap<String, OpOutcome>,
    /// Latencies in microseconds, by operation and quantile.
    pub latency_us: BTreeMap<String, Quantiles>,
    /// How many of each kind took how long, in few bins.
    #[serde(default)]
    pub latency_bins: BTreeMap<String, Vec<LatencyBin>>,
    /// Latencies of each kind in the course of the phase, in few slices of time.
    #[serde(default)]
    pub timeline: BTreeMap<String, Vec<TimeSlice>>,
    /// Iterations of the rank that did most, where a stonewall could end them.
    pub stonewall_iterations: Option<u64>,
    /// What was waited after each operation, as a share of what it took.
    pub waiting: f64,
    /// Each rank alone.
    pub ranks: Vec<RankOutcome>,
    /// The first failures of each rank.
    pub failures: Vec<String>,
}

/// How often an operation was done, and how often it failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpOutcome {
    /// Went well.
    pub done: u64,
    /// Did not.
    pub errors: u64,
}

/// Operations of one kind that took about as long.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyBin {
    /// They took less than this, in microseconds, and no less than a bin before: an eighth of a doubling shorter.
    pub below_us: f64,
    /// How many.
    pub count: u64,
}

/// Operations of one kind that began at about the same time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimeSlice {
    /// The middle of that time, in seconds since the phase began.
    pub at_s: f64,
    /// How many.
    pub count: u64,
    /// Their mean latency, in microseconds.
    pub mean_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// What one rank gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankOutcome {
    /// Its number.
    pub rank: u32,
    /// Objects, as for the phase.
    pub objects: u64,
    /// Data sets made or removed.
    pub data_sets: u64,
    /// Objects a second over its own time.
    pub objects_per_s: f64,
    /// Operations a second.
    pub operations_per_s: f64,
    /// MiB a second.
    pub mib_per_s: f64,
    /// Operations that failed.
    pub errors: u64,
    /// Seconds.
    pub time_s: f64,
    /// The longest operation, in microseconds.
    pub latency_max_us: f64,
    /// Latencies in microseconds, by operation and quantile.
    pub latency_us: BTreeMap<String, Quantiles>,
}

/// What the numbers of a phase are made of, of one rank or of all.
struct Rates {
    objects: u64,
    data_sets: u64,
    operations: u64,
    mib: f64,
}

impl Rates {
    fn of(phase: Phase, tally: &Tally) -> Rates {
        let (objects, data_sets) = match phase {
            Phase::Precreate => (tally.of(Op::Create).done, tally.sets_made.done),
            Phase::Benchmark => (tally.of(Op::Read).done, 0),
            Phase::Cleanup => (tally.of(Op::Delete).done, tally.sets_removed.done),
        };
        let operations = data_sets + tally.ops.iter().map(|op| op.done).sum::<u64>();
        Rates { objects, data_sets, operations, mib: tally.bytes as f64 / (1u64 << 20) as f64 }
    }
}

/// A number a second; none pass in no time.
fn rate(number: f64, time_s: f64) -> f64 {
    if time_s > 0.0 { number / time_s } else { 0.0 }
}

fn latencies(tally: &Tally) -> BTreeMap<String, Quantiles> {
    let of = |op: &Op| Some((op.name().to_owned(), tally.latencies[*op as usize].quantiles()?));
    Op::ALL.iter().filter_map(of).collect()
}

fn latency_bins(tally: &Tally) -> BTreeMap<String, Vec<LatencyBin>> {
    let bin = |(below_ns, count)| LatencyBin { below_us: below_ns / 1e3, count };
    let of =
        |op: &Op| (op.name().to_owned(), tally.latencies[*op as usize].bins().into_iter().map(bin).collect());
    Op::ALL.iter().map(of).filter(|(_, bins): &(String, Vec<_>)| !bins.is_empty()).collect()
}

fn timeline(tally: &Tally) -> BTreeMap<String, Vec<TimeSlice>> {
    let slice = |(at_s, slice): (f64, Slice)| TimeSlice {
        at_s,
        count: slice.count,
        mean_us: slice.sum_ns as f64 / slice.count as f64 / 1e3,
        max_us: slice.max_ns as f64 / 1e3,
    };
    let of = |op: &Op| (op.name().to_owned(), tally.timeline.of(*op).map(slice).collect());
    Op::ALL.iter().map(of).filter(|(_, slices): &(String, Vec<_>)| !slices.is_empty()).collect()
}

impl PhaseOutcome {
    /// What all ranks gave together.
    pub fn of(
        phase: Phase,
        iteration: u32,
        waiting: f64,
        stonewalled: bool,
        tallies: &[Tally],
    ) -> PhaseOutcome {
        let mut all = Tally::default();
        tallies.iter().for_each(|tally| all.add(tally));
        let times: Vec<f64> = tallies.iter().map(|tally| tally.time_s).collect();
        let time_s = times.iter().copied().fold(0.0, f64::max);
        let time_min_s = times.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        let stddev = if times.len() > 1 { (squares / (times.len() - 1) as f64).sqrt() } else { 0.0 };
        let rates = Rates::of(phase, &all);
        let used = Op::ALL.iter().filter(|op| all.of(**op).done + all.of(**op).errors > 0);
        PhaseOutcome {
            phase,
            iteration,
            objects: rates.objects,
            data_sets: rates.data_sets,
            objects_per_s: rate(rates.objects as f64, time_s),
            operations_per_s: rate(rates.operations as f64, time_s),
            mib_per_s: rate(rates.mib, time_s),
            errors: all.errors(),
            time_s,
            time_min_s,
            time_mean_s: mean,
            time_stddev_s: stddev,
            balance: if time_s > 0.0 { 100.0 * time_min_s / time_s } else { 100.0 },
            operations: used
                .map(|op| {
                    let count = all.of(*op);
                    (op.name().to_owned(), OpOutcome { done: count.done, errors: count.errors })
                })
                .collect(),
            latency_us: latencies(&all),
            latency_bins: latency_bins(&all),
            timeline: timeline(&all),
            stonewall_iterations: stonewalled
                .then(|| tallies.iter().map(|tally| tally.iterations).max().unwrap_or(0)),
            waiting,
            ranks: (0..).zip(tallies).map(|(rank, tally)| RankOutcome::of(phase, rank, tally)).collect(),
            failures: (0..)
                .zip(tallies)
                .flat_map(|(rank, tally)| tally.failures.iter().map(move |why| format!("rank {rank}: {why}")))
                .collect(),
        }
    }

    /// The longest operation, in microseconds.
    pub fn latency_max_us(&self) -> f64 {
        self.latency_us.values().map(|quantiles| quantiles.max).fold(0.0, f64::max)
    }
}

impl RankOutcome {
    fn of(phase: Phase, rank: u32, tally: &Tally) -> RankOutcome {
        let rates = Rates::of(phase, tally);
        let latency_us = latencies(tally);
        RankOutcome {
            rank,
            objects: rates.objects,
            data_sets: rates.data_sets,
            objects_per_s: rate(rates.objects as f64, tally.time_s),
            operations_per_s: rate(rates.operations as f64, tally.time_s),
            mib_per_s: rate(rates.mib, tally.time_s),
            errors: tally.errors(),
            time_s: tally.time_s,
            latency_max_us: latency_us.values().map(|quantiles| quantiles.max).fold(0.0, f64::max),
            latency_us,
        }
    }
}
