//! Ages a file system: plan, make, replay, fill, check.

mod outcome;
mod plan_only;
mod rank_group;
mod resume;
mod stages;

pub use outcome::{Aged, StoppedBy};
pub use plan_only::{Planned, plan_only};
pub use rank_group::age_follow;
pub use stages::{age, age_among};

use fs::{Location, VolumeConfig};
use replay::{Data, OnFull};
use std::path::PathBuf;
use std::time::Duration;
use workload::Conditions;

/// Parameters of an aging.
#[derive(Clone, Debug)]
pub struct AgeSpec {
    /// Name of the aged file system in the work directory.
    pub name: String,
    /// The work directory: manifest, store, and the image unless another location was given.
    pub work: PathBuf,
    /// How the file system is made, and where.
    pub volume: VolumeConfig,
    /// The device that may be erased, as spelled by the user.
    pub erase: Option<String>,
    /// The conditions of the aging.
    pub conditions: Conditions,
    /// Time limit of the aging.
    pub time: Option<Duration>,
    /// The aging ends when the goodness of fit, a chi-square p-value, is at least this.
    pub fit: Option<f64>,
    /// Threads of the replay; `None` selects the best number for the file system.
    pub threads: Option<usize>,
    /// How files get their data.
    pub data: Data,
    /// What happens when the file system is full.
    pub on_full: OnFull,
    /// Whether the live files are filled with data at the end.
    pub fill: bool,
    /// File for the operation trace, if any.
    pub save_trace: Option<PathBuf>,
    /// Whether to continue an earlier aging.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

impl AgeSpec {
    /// How files get their data. If preallocated blocks have no location on disk, data must be written.
    pub(crate) fn data(&self) -> Data {
        let places = fs::find(&self.volume.fs).ok().is_none_or(|kind| kind.fallocate_assigns_blocks());
        if self.data == Data::Auto && !places { Data::Write } else { self.data }
    }

    /// The threads that the replay uses.
    pub(crate) fn threads(&self) -> Result<usize, crate::Error> {
        Ok(match (self.threads, &self.volume.location, self.volume.kind()?) {
            (Some(threads), ..) => threads,
            // Modelled disks promise reproducible results; several threads would allocate blocks in a different order each time.
            (None, Location::Modelled { .. }, _) | (None, _, None) => 1,
            (None, _, Some(kind)) => kind.default_threads(),
        })
    }
}
