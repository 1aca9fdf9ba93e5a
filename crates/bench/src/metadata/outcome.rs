//! The result of a phase, over all ranks.

use super::latency::{Op, Quantiles};
use super::settings::Phase;
use super::tally::Tally;
use super::timeline::SliceStats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseOutcome {
    /// The phase.
    pub phase: Phase,
    /// The repeat of the benchmark phase, from 0.
    pub iteration: u32,
    /// Objects created, read or deleted, as counted in published results.
    pub objects: u64,
    /// Data sets created or removed.
    pub data_sets: u64,
    /// Objects per second, over the time of the slowest rank.
    pub objects_per_s: f64,
    /// Operations per second: four per object of the benchmark phase, or two if it only reads.
    pub operations_per_s: f64,
    /// MiB written and read per second.
    pub mib_per_s: f64,
    /// Failed operations.
    pub errors: u64,
    /// Seconds of the slowest rank.
    pub time_s: f64,
    /// Seconds of the fastest rank.
    pub time_min_s: f64,
    /// Mean seconds over the ranks.
    pub time_mean_s: f64,
    /// Sample standard deviation over the ranks; 0 for one rank.
    pub time_stddev_s: f64,
    /// Time of the fastest rank over that of the slowest, in percent.
    pub balance: f64,
    /// Counts of each kind of operation in the phase, by name.
    pub operations: BTreeMap<String, OpOutcome>,
    /// Latencies in microseconds, by operation and quantile.
    pub latency_us: BTreeMap<String, Quantiles>,
    /// Latency histograms of each kind, in few bins.
    #[serde(default)]
    pub latency_bins: BTreeMap<String, Vec<LatencyBin>>,
    /// Latencies of each kind over the course of the phase, in few time slices.
    #[serde(default)]
    pub timeline: BTreeMap<String, Vec<TimeSlice>>,
    /// Maximum iterations of a rank, if a stonewall could end the phase.
    pub stonewall_iterations: Option<u64>,
    /// The wait after each operation, as a fraction of its duration.
    pub waiting: f64,
    /// Results of each rank.
    pub ranks: Vec<RankOutcome>,
    /// The first failures of each rank.
    pub failures: Vec<String>,
}

/// Counts of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OpOutcome {
    /// Successful operations.
    pub done: u64,
    /// Failed operations.
    pub errors: u64,
}

/// Operations of one kind with similar latency.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LatencyBin {
    /// Upper limit in microseconds, excluded; the lower limit is an eighth of a doubling less.
    pub below_us: f64,
    /// Number of operations.
    pub count: u64,
}

/// Operations of one kind that started at about the same time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimeSlice {
    /// The middle of the slice, in seconds since the start of the phase.
    pub at_s: f64,
    /// Number of operations.
    pub count: u64,
    /// Their mean latency, in microseconds.
    pub mean_us: f64,
    /// Maximum latency, in microseconds.
    pub max_us: f64,
}

/// The result of one rank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankOutcome {
    /// The rank.
    pub rank: u32,
    /// Objects, counted as for the phase.
    pub objects: u64,
    /// Data sets created or removed.
    pub data_sets: u64,
    /// Objects per second, over the time of this rank.
    pub objects_per_s: f64,
    /// Operations per second.
    pub operations_per_s: f64,
    /// MiB per second.
    pub mib_per_s: f64,
    /// Failed operations.
    pub errors: u64,
    /// Seconds.
    pub time_s: f64,
    /// Maximum latency, in microseconds.
    pub latency_max_us: f64,
    /// Latencies in microseconds, by operation and quantile.
    pub latency_us: BTreeMap<String, Quantiles>,
}

/// The counts behind the rates of a phase, of one rank or of all.
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

/// `number` per second; 0 if no time passed.
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
    let slice = |(at_s, slice): (f64, SliceStats)| TimeSlice {
        at_s,
        count: slice.count,
        mean_us: slice.sum_ns as f64 / slice.count as f64 / 1e3,
        max_us: slice.max_ns as f64 / 1e3,
    };
    let of = |op: &Op| (op.name().to_owned(), tally.timeline.of(*op).map(slice).collect());
    Op::ALL.iter().map(of).filter(|(_, slices): &(String, Vec<_>)| !slices.is_empty()).collect()
}

impl PhaseOutcome {
    /// The combined result of all ranks.
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
