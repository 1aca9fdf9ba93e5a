//! Planners: sources of operations that follow a profile. [`Method::Planned`] is exact by construction, [`Method::Greedy`] is the
//! published method. An aging can continue under changed conditions: it is a list of [`Segment`]s.

mod apportion;
mod calendar;
mod churn;
mod fit;
mod greedy;
mod planned;
mod segments;
mod sizes;
mod targets;
mod tree;

pub use churn::{Churn, ChurnStats};
pub use fit::Fit;
pub use segments::{Segment, begin, resume};
pub use sizes::BLOCK_BYTES;
pub(crate) use sizes::MAX_FILE_BYTES;
pub(crate) use targets::check_fullness;

use profile::Profile;
use serde::{Deserialize, Serialize};
use trace::{DirId, FileId, Op, Source};
use tree::Tree;

/// How operations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Works backwards from the end: exact by construction at the bound (DESIGN §4).
    Planned,
    /// The published method of Geriatrix (geriatrix17, §5), for comparison.
    Greedy,
}

/// Upper limit of [`Conditions::overwrites`]: a million times the capacity is years of writing.
pub const MAX_OVERWRITES: f64 = 1e6;

/// The conditions of one aging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How operations are chosen.
    pub method: Method,
    /// The target distributions of the file system.
    pub profile: Profile,
    /// Capacity that fullness and overwrites refer to, in bytes: the nominal size of the file system, so that
    /// the operations do not depend on how much space a kind of file system reserves.
    pub capacity_bytes: u64,
    /// Share of the capacity that the live files occupy at the end, in whole blocks.
    pub fullness: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Bytes created over capacity during the whole aging, the filling included; `None` means the bound. With
    /// [`Method::Greedy`] the most: it ends when the ages fit.
    pub overwrites: Option<f64>,
    /// Changes within live files, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<Churn>,
}

/// A bin of the size histogram that is omitted because its files do not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OmittedBin {
    /// Lower limit of the sizes, exclusive.
    pub lower_bytes: u64,
    /// Upper limit of the sizes, inclusive.
    pub upper_bytes: u64,
    /// Share of the profile's files.
    pub share: f64,
}

/// Figures known before the first operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Live files at the end.
    pub live_files: u64,
    /// Bytes of the live files at the end, in whole blocks.
    pub live_bytes: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Creations and deletions of the whole aging, earlier segments included.
    pub operations: u64,
    /// The least number of creations and deletions that can meet the age histogram: live files · T/K.
    pub bound_operations: u64,
    /// Overwrites at the bound: bytes created over capacity.
    pub bound_overwrites: f64,
    /// The remaining age error of the plan; `None` if the method cannot predict it.
    pub age_rms_error: Option<f64>,
    /// Bins of the size histogram that are omitted.
    #[serde(rename = "left_out")]
    pub omitted_bins: Vec<OmittedBin>,
}

/// Figures of an aging so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgingStats {
    /// Creations and deletions of all segments.
    pub operations: u64,
    /// Files created.
    pub creations: u64,
    /// Files deleted.
    pub deletions: u64,
    /// Bytes created, every file in whole blocks, over capacity.
    pub overwrites: f64,
    /// Bytes created, by file size, not rounded up to blocks.
    pub created_bytes: u64,
    /// Live bytes, every file in whole blocks, over capacity.
    pub fullness: f64,
    /// Live files.
    pub live_files: u64,
    /// Changes within live files; `None` without [`Churn`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub churn: Option<ChurnStats>,
    /// Files by relative age.
    pub age: Fit,
    /// Files by size.
    pub size: Fit,
    /// Files by the depth of their directory.
    pub depth: Fit,
}

impl AgingStats {
    /// The least of the three histograms' chi-square p-values.
    pub fn p_value(&self) -> f64 {
        self.age.p_value().min(self.size.p_value()).min(self.depth.p_value())
    }
}

/// A live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// Its number.
    pub file: FileId,
    /// The directory that holds it.
    pub dir: DirId,
    /// Its size in bytes.
    pub size: u64,
    /// The operation that created it, counted from 1 over all segments.
    pub born: u64,
}

/// The state of an aging, from which another can continue.
#[derive(Clone, Debug)]
pub struct AgingState {
    pub(crate) tree: Tree,
    pub(crate) live: Vec<LiveFile>,
    pub(crate) counters: Counters,
}

impl AgingState {
    /// An empty file system.
    pub fn empty() -> AgingState {
        AgingState { tree: Tree::new(), live: Vec::new(), counters: Counters::default() }
    }

    /// The live files, in no particular order.
    pub fn live(&self) -> &[LiveFile] {
        &self.live
    }
}

/// Totals over all segments. The number of creations is the number of the next file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub creations: u64,
    pub deletions: u64,
    pub created_blocks: u64,
    pub created_bytes: u64,
    pub live_blocks: u64,
    pub churn: ChurnStats,
}

impl Counters {
    #[inline]
    pub fn operations(&self) -> u64 {
        self.creations + self.deletions
    }

    /// Counts a creation and returns the number of the new file.
    #[inline]
    pub fn create(&mut self, size: u64) -> FileId {
        let file = FileId(self.creations);
        let blocks = sizes::blocks(size);
        self.creations += 1;
        self.created_blocks += blocks;
        self.created_bytes += size;
        self.live_blocks += blocks;
        file
    }

    #[inline]
    pub fn delete(&mut self, size: u64) {
        self.deletions += 1;
        self.live_blocks -= sizes::blocks(size);
    }
}

/// A source of operations that follows a profile.
pub trait Planner: Source {
    /// Clears `batch` and fills it with the next operations, at most `most`.
    fn advance(&mut self, most: usize, batch: &mut Vec<Op>);

    /// Directories still to be created. The next operations create them all; no later operation creates one.
    fn directories_left(&self) -> u64;

    /// Figures known before the first operation.
    fn plan(&self) -> &Plan;

    /// Figures after the operations given out so far. Visits every live file.
    fn stats(&self) -> AgingStats;

    /// The state after the operations given out so far.
    fn state(&self) -> AgingState;
}
