//! The result of a run.

use super::kind::OperationKind;
use super::load::Personality;
use crate::metadata::{Latencies, LatencyBin, Quantiles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The personality.
    pub personality: String,
    /// Number of threads.
    pub threads: u32,
    /// Seconds from the start of the first thread to the end of the last.
    pub time_s: f64,
    /// Successful operations.
    pub operations: u64,
    /// Successful operations per second.
    pub operations_per_s: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// MiB read and written per second.
    pub mib_per_s: f64,
    /// Operations without a suitable file, including the rest of their steps.
    pub skipped: u64,
    /// Results of each kind of operation in the run, by name.
    #[serde(rename = "of")]
    pub by_kind: BTreeMap<String, OperationOutcome>,
}

/// The result of the operations of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationOutcome {
    /// Successful operations.
    pub done: u64,
    /// Successful operations per second.
    pub per_s: f64,
    /// Latencies, in microseconds.
    pub latency_us: Quantiles,
    /// Start of the longest operation, in seconds since the start of the run.
    pub worst_at_s: f64,
    /// Latency histogram, in few bins.
    pub latency_bins: Vec<LatencyBin>,
}

/// The counts of a thread.
#[derive(Default)]
pub(super) struct Tally {
    latencies: [Latencies; OperationKind::ALL.len()],
    /// The longest operation of each kind: latency and start, in nanoseconds.
    worst: [(u64, u64); OperationKind::ALL.len()],
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub skipped: u64,
    pub begun: Option<Instant>,
    pub ended: Option<Instant>,
    done: u64,
}

impl Tally {
    /// Records a successful operation, with its latency and start.
    #[inline]
    pub fn record(&mut self, kind: OperationKind, took_ns: u64, begun_ns: impl FnOnce() -> u64) {
        self.done += 1;
        self.latencies[kind as usize].record(took_ns);
        if took_ns > self.worst[kind as usize].0 {
            self.worst[kind as usize] = (took_ns, begun_ns());
        }
    }

    /// Successful operations.
    #[inline]
    pub fn operations(&self) -> u64 {
        self.done
    }
}

impl Outcome {
    /// The combined result of all threads.
    pub(super) fn of(personality: &Personality, tallies: &[Tally]) -> Outcome {
        let begun = tallies.iter().filter_map(|tally| tally.begun).min();
        let ended = tallies.iter().filter_map(|tally| tally.ended).max();
        let time_s = begun.zip(ended).map_or(0.0, |(begun, ended)| (ended - begun).as_secs_f64());
        let a_second = |count: f64| if time_s > 0.0 { count / time_s } else { 0.0 };
        let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        let (read_bytes, written_bytes) = (sum(|tally| tally.read_bytes), sum(|tally| tally.written_bytes));
        let operations = sum(Tally::operations);
        let by_kind = OperationKind::ALL.iter().filter_map(|kind| {
            let mut all = Latencies::default();
            tallies.iter().for_each(|tally| all.add(&tally.latencies[*kind as usize]));
            let worst = tallies.iter().map(|tally| tally.worst[*kind as usize]).max().unwrap_or_default();
            let bin = |(ns, count)| LatencyBin { below_us: ns / 1e3, count };
            let outcome = OperationOutcome {
                done: all.count(),
                per_s: a_second(all.count() as f64),
                latency_us: all.quantiles()?,
                worst_at_s: worst.1 as f64 / 1e9,
                latency_bins: all.bins().into_iter().map(bin).collect(),
            };
            Some((kind.name().to_owned(), outcome))
        });
        Outcome {
            personality: personality.name.clone(),
            threads: personality.threads,
            time_s,
            operations,
            operations_per_s: a_second(operations as f64),
            read_bytes,
            written_bytes,
            mib_per_s: a_second((read_bytes + written_bytes) as f64 / f64::from(1 << 20)),
            skipped: sum(|tally| tally.skipped),
            by_kind: by_kind.collect(),
        }
    }
}
