//! What a rank did in a phase.

use super::latency::{Latencies, Op};
use super::timeline::Timeline;
use serde::{Deserialize, Serialize};

/// Failures of which the reason is kept.
const FAILURES_KEPT: usize = 5;

/// How many operations of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// Went well.
    pub done: u64,
    /// Did not.
    pub errors: u64,
}

impl Count {
    /// Adds another.
    pub fn add(&mut self, other: Count) {
        self.done += other.done;
        self.errors += other.errors;
    }
}

/// What a rank did in a phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Seconds from the common start to the rank's end.
    pub time_s: f64,
    /// Data sets made.
    pub sets_made: Count,
    /// Data sets removed.
    pub sets_removed: Count,
    /// Operations on objects, in the order of [`Op::ALL`].
    pub ops: [Count; 4],
    /// How long those that went well took, in the same order.
    pub latencies: [Latencies; 4],
    /// The same in the course of the phase.
    pub timeline: Timeline,
    /// Bytes written and read.
    pub bytes: u64,
    /// Iterations of the benchmark phase.
    pub iterations: u64,
    /// The first failures: what was tried, on what, and why it failed.
    pub failures: Vec<String>,
    /// Why the rank cannot go on, if so.
    pub fatal: Option<String>,
}

impl Tally {
    /// An operation of this kind.
    pub fn of(&self, op: Op) -> Count {
        self.ops[op as usize]
    }

    /// All that went wrong.
    pub fn errors(&self) -> u64 {
        self.sets_made.errors + self.sets_removed.errors + self.ops.iter().map(|op| op.errors).sum::<u64>()
    }

    /// Keeps the reason of a failure, if it is one of the first.
    pub fn fail(&mut self, why: impl FnOnce() -> String) {
        if self.failures.len() < FAILURES_KEPT {
            self.failures.push(why());
        }
    }

    /// Adds what another rank did; the times are not added.
    pub fn add(&mut self, other: &Tally) {
        self.sets_made.add(other.sets_made);
        self.sets_removed.add(other.sets_removed);
        for (own, more) in self.ops.iter_mut().zip(&other.ops) {
            own.add(*more);
        }
        for (own, more) in self.latencies.iter_mut().zip(&other.latencies) {
            own.add(more);
        }
        self.timeline.add(&other.timeline);
        self.bytes += other.bytes;
    }
}
