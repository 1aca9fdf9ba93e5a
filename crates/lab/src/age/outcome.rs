//! The result of an aging.

use replay::Failure;
use serde::{Deserialize, Serialize};
use workload::{AgingStats, Conditions, OmittedBin, Plan};

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

/// The result of an aging, in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Aged {
    /// Name in the work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Profile.
    pub profile: String,
    /// Seed.
    pub seed: u64,
    /// Nominal size in bytes.
    pub size_bytes: u64,
    /// Processes that shared the replay.
    #[serde(default = "one")]
    pub ranks: u32,
    /// Threads of the replay per process.
    pub threads: usize,
    /// Creations and deletions.
    pub operations: u64,
    /// Files created.
    pub creations: u64,
    /// Files deleted.
    pub deletions: u64,
    /// Bytes created, in whole blocks, over capacity.
    pub overwrites: f64,
    /// The minimum number of operations that can meet the age histogram.
    pub bound_operations: u64,
    /// The overwrites of that minimum.
    pub bound_overwrites: f64,
    /// Root-mean-square error of the age histogram.
    pub age_rms_error: f64,
    /// Root-mean-square error of the size histogram.
    pub size_rms_error: f64,
    /// Root-mean-square error of the depth histogram.
    pub depth_rms_error: f64,
    /// The smallest of the chi-square p-values of the three histograms.
    pub fit_p_value: f64,
    /// Why the aging ended.
    pub stopped_by: StoppedBy,
    /// Operations (directories included) replayed per second in this run.
    pub operations_per_s: f64,
    /// Seconds of replay in this run.
    pub replay_s: f64,
    /// Seconds of filling in this run.
    pub fill_s: f64,
    /// Live files.
    pub live_files: u64,
    /// Bytes of live files, in whole blocks, over capacity.
    pub fullness: f64,
    /// Directories below the root.
    pub directories: u64,
    /// Operations that failed.
    pub errors: u64,
    /// The failed operations, with the reasons.
    pub failures: Vec<Failure>,
    /// Digest of all operations since the start.
    pub trace_sha256: String,
    /// Whether the checker of the file system found no errors: `None` if it has no checker.
    pub checker_clean: Option<bool>,
    /// Sizes left out because they do not fit.
    pub left_out: Vec<OmittedBin>,
    /// The reached state, with the histograms.
    pub reached: AgingStats,
}

/// The default for outcomes of earlier versions.
fn one() -> u32 {
    1
}

/// The fields of [`Aged`] that follow from the plan and the reached state.
pub(super) fn aged(name: &str, fs: &str, conditions: &Conditions, plan: &Plan, reached: AgingStats) -> Aged {
    Aged {
        name: name.to_owned(),
        fs: fs.to_owned(),
        profile: conditions.profile.name.clone(),
        seed: conditions.seed,
        size_bytes: conditions.capacity_bytes,
        ranks: 1,
        threads: 0,
        operations: reached.operations,
        creations: reached.creations,
        deletions: reached.deletions,
        overwrites: reached.overwrites,
        bound_operations: plan.bound_operations,
        bound_overwrites: plan.bound_overwrites,
        age_rms_error: reached.age.rms_error(),
        size_rms_error: reached.size.rms_error(),
        depth_rms_error: reached.depth.rms_error(),
        fit_p_value: reached.p_value(),
        stopped_by: if conditions.overwrites.is_some() { StoppedBy::Overwrites } else { StoppedBy::Bound },
        operations_per_s: 0.0,
        replay_s: 0.0,
        fill_s: 0.0,
        live_files: reached.live_files,
        fullness: reached.fullness,
        directories: plan.directories,
        errors: 0,
        failures: Vec::new(),
        trace_sha256: String::new(),
        checker_clean: None,
        left_out: plan.omitted_bins.clone(),
        reached,
    }
}
