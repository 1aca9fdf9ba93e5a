//! What a run gave.

use super::kind::Kind;
use super::load::Personality;
use crate::metadata::{Latencies, LatencyBin, Quantiles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// What a run gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The personality.
    pub personality: String,
    /// How many threads ran.
    pub threads: u32,
    /// Seconds from the beginning of the first thread to the end of the last.
    pub time_s: f64,
    /// Operations that went well.
    pub operations: u64,
    /// The same a second.
    pub operations_per_s: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Both a second, in MiB.
    pub mib_per_s: f64,
    /// Operations that found no file to be done to, and with them the rest of their step.
    pub skipped: u64,
    /// Each kind of operation that there was, by its name.
    pub of: BTreeMap<String, OperationOutcome>,
}

/// What operations of one kind gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperationOutcome {
    /// How many went well.
    pub done: u64,
    /// The same a second.
    pub per_s: f64,
    /// How long they took, in microseconds.
    pub latency_us: Quantiles,
    /// When the longest began, in seconds since the run began.
    pub worst_at_s: f64,
    /// How many took how long, in few bins.
    pub latency_bins: Vec<LatencyBin>,
}

/// What a thread has done.
#[derive(Default)]
pub(super) struct Tally {
    latencies: [Latencies; Kind::ALL.len()],
    /// Of each kind the longest, and when it began, in nanoseconds.
    worst: [(u64, u64); Kind::ALL.len()],
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub skipped: u64,
    pub begun: Option<Instant>,
    pub ended: Option<Instant>,
    done: u64,
}

impl Tally {
    /// Notes an operation that went well, how long it took, and when it began.
    #[inline]
    pub fn record(&mut self, kind: Kind, took_ns: u64, begun_ns: impl FnOnce() -> u64) {
        self.done += 1;
        self.latencies[kind as usize].record(took_ns);
        if took_ns > self.worst[kind as usize].0 {
            self.worst[kind as usize] = (took_ns, begun_ns());
        }
    }

    /// Operations that went well.
    #[inline]
    pub fn operations(&self) -> u64 {
        self.done
    }
}

impl Outcome {
    /// What all threads together gave.
    pub(super) fn of(personality: &Personality, tallies: &[Tally]) -> Outcome {
        let begun = tallies.iter().filter_map(|tally| tally.begun).min();
        let ended = tallies.iter().filter_map(|tally| tally.ended).max();
        let time_s = begun.zip(ended).map_or(0.0, |(begun, ended)| (ended - begun).as_secs_f64());
        let a_second = |count: f64| if time_s > 0.0 { count / time_s } else { 0.0 };
        let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
        let (read_bytes, written_bytes) = (sum(|tally| tally.read_bytes), sum(|tally| tally.written_bytes));
        let operations = sum(Tally::operations);
        let of = Kind::ALL.iter().filter_map(|kind| {
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
            of: of.collect(),
        }
    }
}
