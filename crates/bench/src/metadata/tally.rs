//! The counts of a rank in a phase.

use super::latency::{Latencies, Op};
use super::timeline::Timeline;
use serde::{Deserialize, Serialize};

/// Number of failures whose reason is recorded.
const FAILURES_KEPT: usize = 5;

/// The counts of one kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Count {
    /// Successful operations.
    pub done: u64,
    /// Failed operations.
    pub errors: u64,
}

impl Count {
    /// Adds other counts.
    pub fn add(&mut self, other: Count) {
        self.done += other.done;
        self.errors += other.errors;
    }
}

/// The counts of a rank in a phase.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Seconds from the common start to the end of the rank.
    pub time_s: f64,
    /// Data sets created.
    pub sets_made: Count,
    /// Data sets removed.
    pub sets_removed: Count,
    /// Operations on objects, in the order of [`Op::ALL`].
    pub ops: [Count; 4],
    /// Latencies of successful operations, in the same order.
    pub latencies: [Latencies; 4],
    /// Latencies over the course of the phase.
    pub timeline: Timeline,
    /// Bytes written and read.
    pub bytes: u64,
    /// Iterations of the benchmark phase.
    pub iterations: u64,
    /// The first failures: action, object and reason.
    pub failures: Vec<String>,
    /// The reason why the rank cannot continue, if any.
    pub fatal: Option<String>,
}

impl Tally {
    /// The counts of this kind of operation.
    pub fn of(&self, op: Op) -> Count {
        self.ops[op as usize]
    }

    /// All failed operations.
    pub fn errors(&self) -> u64 {
        self.sets_made.errors + self.sets_removed.errors + self.ops.iter().map(|op| op.errors).sum::<u64>()
    }

    /// Records a failure's reason, if it is one of the first.
    pub fn fail(&mut self, why: impl FnOnce() -> String) {
        if self.failures.len() < FAILURES_KEPT {
            self.failures.push(why());
        }
    }

    /// Adds the counts of another rank; times are not added.
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
