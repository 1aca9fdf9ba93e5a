//! The result of an aging by a profile.

use crate::{AgingStats, Conditions, Plan};
use replay::Failure;
use serde::{Deserialize, Serialize};

/// Why an aging ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// All operations of the bound were applied.
    Bound,
    /// The requested overwrites were reached.
    Overwrites,
    /// The time limit was reached.
    Time,
    /// The goodness of fit was reached.
    Fit,
    /// The file system was full and the policy was to stop.
    Full,
}

/// The result of an aging by a profile.
#[derive(Clone, Debug)]
pub struct ProfileOutcome {
    /// What was known before the first operation.
    pub plan: Plan,
    /// What was reached.
    pub stats: AgingStats,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// Processes that shared the replay.
    pub ranks: u32,
    /// Threads of the replay per process.
    pub threads: usize,
    /// Operations (directories included) replayed in this run.
    pub applied: u64,
    /// Seconds of replay in this run.
    pub replay_s: f64,
    /// Seconds of filling in this run.
    pub fill_s: f64,
    /// The failed operations, with the reasons.
    pub failures: Vec<Failure>,
    /// Digest of all operations since the start.
    pub trace_sha256: String,
}

impl ProfileOutcome {
    /// An outcome as planned, with nothing applied.
    pub(super) fn planned(
        plan: Plan,
        stats: AgingStats,
        conditions: &Conditions,
        trace_sha256: String,
    ) -> ProfileOutcome {
        let stopped_by =
            if conditions.overwrites.is_some() { StoppedBy::Overwrites } else { StoppedBy::Bound };
        ProfileOutcome {
            plan,
            stats,
            stopped_by,
            ranks: 1,
            threads: 0,
            applied: 0,
            replay_s: 0.0,
            fill_s: 0.0,
            failures: Vec::new(),
            trace_sha256,
        }
    }
}
