//! The outcome of an experiment, read back from the store, so that the output shows exactly the stored data.

use super::judge::{FigureVerdict, Judged};
use super::spec::{Axis, Difference, Plot};
use probe::FileMap;
use results::Correlation;
use run::checkpoint::{CheckpointPair, CheckpointSide, TreeAt};
use serde::{Deserialize, Serialize};

/// The outcome of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The reproduced figure.
    pub figure: String,
    /// The title.
    pub title: String,
    /// The publication.
    pub source: String,
    /// The scale.
    pub scale: String,
    /// The published claims and their verdicts. Earlier versions recorded others.
    #[serde(default)]
    pub claims: Vec<Judged>,
    /// The verdict on the figure; `None` if it has none, as a series.
    #[serde(default)]
    pub verdict: Option<FigureVerdict>,
    /// The differences from the published experiment.
    #[serde(default)]
    pub differs: Vec<Difference>,
    /// The correlations that the claims use.
    #[serde(default)]
    pub correlations: Vec<Correlated>,
    /// All sides of all checkpoints.
    pub checkpoints: Vec<CheckpointSide>,
    /// Pairs of aged and unaged sides.
    pub pairs: Vec<CheckpointPair>,
    /// The layout of the trees, for file systems that store a tree.
    #[serde(default)]
    pub trees: Vec<TreeAt>,
    /// The position of files on disk.
    pub pictures: Vec<Picture>,
    /// The failed cells.
    pub failed: Vec<FailedCell>,
    /// The cells that were neither asked for nor measured before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The meaning of a round.
    pub round: Axis,
    /// The plots.
    pub plots: Vec<Plot>,
}

impl Outcome {
    /// Whether every cell was measured.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.left_out.is_empty()
    }
}

/// The correlation of two measures over the rounds and agings of some lines of the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlated {
    /// The file system, setting and disk, as far as the lines have one in common.
    pub lines: String,
    /// `aged` or `unaged`.
    pub side: String,
    /// The first measure.
    pub measure: String,
    /// The second measure.
    pub with: String,
    /// Pearson's r with its 95 % interval.
    #[serde(flatten)]
    pub found: Correlation,
}

/// The position of the files of a cell on disk after a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Kind of file system.
    pub fs: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    #[serde(default)]
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// One row per file.
    pub files: Vec<FileMap>,
}

/// A cell that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    /// Name of the cell.
    pub cell: String,
    /// The error.
    pub why: String,
}
