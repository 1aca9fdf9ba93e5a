//! The result of an aging.

use super::{Aging, ProfileResult};
use crate::Error;
use crate::checkpoint::{CheckpointPair, CheckpointSide, SeriesKey, TreeAt, read_checkpoint, read_trees};
use crate::compare_runs::{CHECKPOINTS, CheckpointRun};
use fs::Location;
use results::{RunId, Store};
use serde::{Deserialize, Serialize};

/// The result of an aging.
#[derive(Clone, Debug)]
pub struct Aged {
    /// What an aging by a profile reached; `None` for other workloads.
    pub profile: Option<ProfileResult>,
    /// The measurements between rounds.
    pub rounds: RoundsResult,
}

/// The rounds of an aging, with their measurements.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundsResult {
    /// Name in the work directory.
    pub name: String,
    /// Kind of file system.
    pub fs: String,
    /// Kind of the workload, or name of the profile.
    pub workload: String,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// All sides of all checkpoints.
    pub checkpoints: Vec<CheckpointSide>,
    /// Pairs of aged and unaged sides.
    pub pairs: Vec<CheckpointPair>,
    /// The layout of the trees, for a file system that stores a tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeAt>,
    /// Whether the checker of the file system found no errors; `None` if it has no checker.
    pub checker_clean: Option<bool>,
}

/// The document that holds the rounds of an aging.
const OUTCOME: &str = "outcome";

/// The rounds measured so far, and the runs that hold them.
pub(super) fn read(
    aging: &Aging,
    checker_clean: Option<bool>,
) -> Result<(RoundsResult, Vec<CheckpointRun>), Error> {
    let (spec, store) = (aging.spec, aging.store);
    let mut runs = Vec::new();
    let mut result = RoundsResult {
        name: spec.name.clone(),
        fs: spec.volume.fs.clone(),
        workload: spec.source().to_owned(),
        seed: spec.seed,
        round: spec.round,
        checkpoints: Vec::new(),
        pairs: Vec::new(),
        trees: Vec::new(),
        checker_clean,
    };
    let disks: Vec<String> = aging.models.iter().map(|model| model.name().to_owned()).collect();
    for at in aging.schedule.checkpoints() {
        if let Some(run) = aging.identity.find(store, at)? {
            // The unaged copy of a device is an image.
            let one_disk = !matches!(spec.volume.location, Location::Device(_));
            let key = SeriesKey { fs: &spec.volume.fs, option: "", seed: spec.seed, one_disk };
            let (sides, pairs) = read_checkpoint(store, run, key, at.number(), &disks)?;
            result.checkpoints.extend(sides);
            result.pairs.extend(pairs);
            result.trees.extend(read_trees(store, run, key, at.number())?);
            let (at, run) = (format!("round {}", at.number()), store.uid(run)?);
            runs.push(CheckpointRun { at, seed: Some(spec.seed), run });
        }
    }
    Ok((result, runs))
}

impl RoundsResult {
    /// Records the rounds of an aging, which other `runs` hold.
    pub(super) fn record(&self, store: &Store, run: RunId, runs: &[CheckpointRun]) -> Result<(), Error> {
        store.record_document(run, "", CHECKPOINTS, &runs)?;
        Ok(store.record_document(run, "", OUTCOME, self)?)
    }

    /// The recorded rounds of an aging, if it has any.
    pub fn load(store: &Store, run: RunId) -> Result<Option<RoundsResult>, results::Error> {
        store.document(run, "", OUTCOME)
    }
}
