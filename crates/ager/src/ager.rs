//! What every profile-driven ager takes, promises and gives.

use crate::fit::Fit;
use crate::tree::Tree;
use profile::Profile;
use serde::{Deserialize, Serialize};
use trace::{DirId, FileId, Op, Source};

/// How operations are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Backwards from the end: exact by construction at the bound (DESIGN §4).
    Planned,
    /// The published method of Geriatrix (geriatrix17, §3), for comparison.
    Greedy,
}

/// The most bytes that an aging may create, over the capacity: a million times is years of writing.
pub const MOST_OVERWRITES: f64 = 1e6;

/// The conditions of one aging.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// How operations are chosen.
    pub method: Method,
    /// What the file system is to look like.
    pub profile: Profile,
    /// Capacity that fullness and overwrites refer to, in bytes: the nominal size of the file system, so that
    /// the operations do not depend on what a kind of file system keeps for itself.
    pub capacity_bytes: u64,
    /// Share of the capacity that the live files take at the end, in whole blocks.
    pub fullness: f64,
    /// Seed of all that is random.
    pub seed: u64,
    /// Bytes created over capacity during the whole aging, the filling included; `None` is the bound.
    pub overwrites: Option<f64>,
}

/// A bin of the size histogram that is left out because its files do not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Sizes above this …
    pub lower_bytes: u64,
    /// … up to this.
    pub upper_bytes: u64,
    /// Share of the profile's files.
    pub share: f64,
}

/// What is known before the first operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Files that are to live at the end.
    pub live_files: u64,
    /// Bytes that they take, in whole blocks.
    pub live_bytes: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Creations and deletions of the whole aging, earlier legs included.
    pub operations: u64,
    /// The least number of creations and deletions that can meet the age histogram: live files · T/K.
    pub bound_operations: u64,
    /// The bytes created over capacity that go with the bound.
    pub bound_overwrites: f64,
    /// The age error that the plan leaves; `None` where the method cannot know.
    pub age_rms_error: Option<f64>,
    /// Sizes left out.
    pub left_out: Vec<LeftOut>,
}

/// What has been reached so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Creations and deletions of all legs.
    pub operations: u64,
    /// Files created.
    pub creations: u64,
    /// Files deleted.
    pub deletions: u64,
    /// Bytes created, every file in whole blocks, over capacity.
    pub overwrites: f64,
    /// Bytes created as the files' sizes have them, not rounded up to blocks.
    pub created_bytes: u64,
    /// Live bytes, every file in whole blocks, over capacity.
    pub fullness: f64,
    /// Live files.
    pub live_files: u64,
    /// Files by relative age.
    pub age: Fit,
    /// Files by size.
    pub size: Fit,
    /// Files by the depth of their directory.
    pub depth: Fit,
}

impl Reached {
    /// The least of the three histograms' chi-square p-values.
    pub fn p_value(&self) -> f64 {
        self.age.p_value().min(self.size.p_value()).min(self.depth.p_value())
    }
}

/// A live file as an ager knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// Its number.
    pub file: FileId,
    /// The directory that holds it.
    pub dir: DirId,
    /// Its size in bytes.
    pub size: u64,
    /// The operation that created it, counted from 1 over all legs.
    pub born: u64,
}

/// Where an aging stands; another can go on from here.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) tree: Tree,
    pub(crate) live: Vec<LiveFile>,
    pub(crate) counters: Counters,
}

impl State {
    /// An empty file system.
    pub fn empty() -> State {
        State { tree: Tree::new(), live: Vec::new(), counters: Counters::default() }
    }

    /// The live files, in no particular order.
    pub fn live(&self) -> &[LiveFile] {
        &self.live
    }
}

/// What has been done, over all legs. The next file's number is the number of creations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub creations: u64,
    pub deletions: u64,
    pub created_blocks: u64,
    pub created_bytes: u64,
    pub live_blocks: u64,
}

impl Counters {
    #[inline]
    pub fn operations(&self) -> u64 {
        self.creations + self.deletions
    }

    /// Counts a creation and gives the new file its number.
    #[inline]
    pub fn create(&mut self, size: u64) -> FileId {
        let file = FileId(self.creations);
        let blocks = crate::sizes::blocks(size);
        self.creations += 1;
        self.created_blocks += blocks;
        self.created_bytes += size;
        self.live_blocks += blocks;
        file
    }

    #[inline]
    pub fn delete(&mut self, size: u64) {
        self.deletions += 1;
        self.live_blocks -= crate::sizes::blocks(size);
    }
}

/// A source of operations that follows a profile.
pub trait Ager: Source {
    /// Clears `batch` and fills it with the next operations, at most `most`.
    fn advance(&mut self, most: usize, batch: &mut Vec<Op>);

    /// How many directories are still to be made: so many of the next operations make them, and none behind these does.
    fn directories_left(&self) -> u64;

    /// What was known before the first operation.
    fn plan(&self) -> &Plan;

    /// What the operations given out so far have reached. Looks at every live file.
    fn reached(&self) -> Reached;

    /// Where the aging stands after the operations given out so far.
    fn state(&self) -> State;
}
