//! What comparisons and checkpoints measure of an aged file system and its unaged copy. Each probe is one file below `survey/`; it submits
//! itself and records its results immediately.

mod free_space;
mod layout;
mod new_file;
mod scan;
mod tree;

pub use layout::PICTURE;

use crate::Error;
use crate::aged_pair::AgedPair;
use disk::Model;
use probe::Reader;
use results::measures::MeasureInstance;
use std::time::Duration;

/// What to measure.
pub(crate) struct Survey<'a> {
    /// Scans of each side.
    pub repeat: u64,
    /// Time without any access before a cold scan, in which the file system can finish what it does in the background.
    pub quiet: Duration,
    /// The cache during scans.
    pub cache: Cache,
    /// The costs of a scan: measures, and the models of the disks they are for.
    pub costs: &'a [(MeasureInstance, Model)],
    /// The disk for which the causes of the cost of the first scan are told apart; `None` if they are not.
    pub causes_on: Option<&'a Model>,
    /// What is recorded beside the measures.
    pub detail: Detail,
    /// Whether a new large file is written and deleted.
    pub new_file: bool,
}

/// The cache during scans.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cache {
    /// Cold.
    Cold(Reader),
    /// Warm, filled by a scan before within this much memory.
    Warm {
        /// The memory in bytes.
        memory_bytes: u64,
    },
}

/// What is recorded beside the measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    /// Nothing.
    Measures,
    /// The positions of the files of the aged side.
    Picture,
    /// All documents. Messages say what cannot be measured.
    Documents,
}

/// What a probe does to the file system. Probes run in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Effect {
    /// Reads metadata.
    ReadsMetadata,
    /// Unmounts it in the meantime.
    Unmounts,
    /// Reads all files.
    ReadsFiles,
    /// Writes and deletes files.
    Writes,
}

/// A probe of a survey.
pub(crate) trait Probe: Sync {
    /// What it does to the file system.
    fn effect(&self) -> Effect;

    /// Measures all sides, except what an earlier, incomplete run has recorded.
    fn measure(&self, survey: &Survey, pair: &mut AgedPair) -> Result<(), Error>;
}

/// A probe, submitted by its file.
pub(crate) struct ProbeSubmission(pub &'static dyn Probe);

inventory::collect!(ProbeSubmission);

impl Survey<'_> {
    /// Runs all probes.
    pub fn run(&self, pair: &mut AgedPair) -> Result<(), Error> {
        let mut probes: Vec<_> =
            inventory::iter::<ProbeSubmission>().map(|submission| submission.0).collect();
        probes.sort_by_key(|probe| probe.effect());
        probes.into_iter().try_for_each(|probe| probe.measure(self, pair))
    }

    /// Says what cannot be measured.
    fn explain(&self, pair: &mut AgedPair, why: &str) {
        if self.detail == Detail::Documents {
            pair.watch.say(why);
        }
    }
}
