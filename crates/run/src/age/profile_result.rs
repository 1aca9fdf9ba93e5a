//! The result of an aging by a profile.

use super::spec::AgeSpec;
use crate::Error;
use replay::Failure;
use results::measures::{self, Measure};
use results::{RunId, Store};
use serde::{Deserialize, Serialize};
use workload::profile::{ProfileOutcome, StoppedBy};
use workload::{AgingStats, OmittedBin};

/// The result of an aging by a profile, in numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProfileResult {
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

impl ProfileResult {
    pub(super) fn new(spec: &AgeSpec, outcome: ProfileOutcome, checker_clean: Option<bool>) -> ProfileResult {
        let ProfileOutcome { plan, stats, failures, applied, replay_s, .. } = outcome;
        ProfileResult {
            name: spec.name.clone(),
            fs: spec.volume.fs.clone(),
            profile: spec.source().to_owned(),
            seed: spec.seed,
            size_bytes: spec.volume.size_bytes,
            ranks: outcome.ranks,
            threads: outcome.threads,
            operations: stats.operations,
            creations: stats.creations,
            deletions: stats.deletions,
            overwrites: stats.overwrites,
            bound_operations: plan.bound_operations,
            bound_overwrites: plan.bound_overwrites,
            age_rms_error: stats.age.rms_error(),
            size_rms_error: stats.size.rms_error(),
            depth_rms_error: stats.depth.rms_error(),
            fit_p_value: stats.p_value(),
            stopped_by: outcome.stopped_by,
            operations_per_s: if applied == 0 { 0.0 } else { applied as f64 / replay_s },
            replay_s,
            fill_s: outcome.fill_s,
            live_files: stats.live_files,
            fullness: stats.fullness,
            directories: plan.directories,
            errors: failures.iter().map(|failure| failure.count).sum(),
            failures,
            trace_sha256: outcome.trace_sha256,
            checker_clean,
            left_out: plan.omitted_bins,
            reached: stats,
        }
    }

    /// The measures of the aging.
    pub fn values(&self) -> [(Measure, f64); 16] {
        [
            (measures::OPERATIONS, self.operations as f64),
            (measures::CREATIONS, self.creations as f64),
            (measures::DELETIONS, self.deletions as f64),
            (measures::OVERWRITES, self.overwrites),
            (measures::BOUND_OPERATIONS, self.bound_operations as f64),
            (measures::BOUND_OVERWRITES, self.bound_overwrites),
            (measures::AGE_RMS_ERROR, self.age_rms_error),
            (measures::SIZE_RMS_ERROR, self.size_rms_error),
            (measures::DEPTH_RMS_ERROR, self.depth_rms_error),
            (measures::FIT_P_VALUE, self.fit_p_value),
            (measures::OPERATIONS_PER_S, self.operations_per_s),
            (measures::REPLAY_S, self.replay_s),
            (measures::FILL_S, self.fill_s),
            (measures::LIVE_FILES, self.live_files as f64),
            (measures::FULLNESS, self.fullness),
            (measures::ERRORS, self.errors as f64),
        ]
    }

    /// Records the result of a run.
    pub(super) fn record(&self, store: &Store, run: RunId) -> Result<(), Error> {
        store.record_all(run, &self.values().map(|(measure, value)| measure.once("", value)))?;
        Ok(store.record_document(run, "", "aged", self)?)
    }
}
