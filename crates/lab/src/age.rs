//! Ages a file system: plan, make, replay, fill, check.

pub(crate) use stages::{make_target, open};

mod outcome;
mod plan_only;
mod rank_group;
mod resume;
mod stages;

pub use outcome::{Aged, StoppedBy};
pub use plan_only::{Planned, plan_only};
pub use rank_group::age_follow;
pub use stages::{age, age_among};

use crate::manifest::Made;
use ager::Conditions;
use fs::{Place, Spec};
use replay::{Data, OnFull};
use std::path::PathBuf;
use std::time::Duration;

/// What an aging is asked to be.
#[derive(Clone, Debug)]
pub struct AgeSpec {
    /// Name of the aged file system in the work directory.
    pub name: String,
    /// The work directory: manifest, store, and the image unless another place was named for it.
    pub work: PathBuf,
    /// How the file system is made, and where.
    pub made: Made,
    /// The device that may be erased, spelt as its user spelt it.
    pub erase: Option<String>,
    /// How it is aged.
    pub conditions: Conditions,
    /// The aging ends after this time at the latest.
    pub time: Option<Duration>,
    /// The aging ends as soon as the goodness of fit, a chi-square p-value, is at least this.
    pub fit: Option<f64>,
    /// Threads of the replay; `None` is the best number for the file system.
    pub threads: Option<usize>,
    /// How data comes.
    pub data: Data,
    /// What happens when the file system is full.
    pub on_full: OnFull,
    /// Whether survivors are filled with data at the end.
    pub fill: bool,
    /// Where the operations are kept, if they are to be.
    pub save_trace: Option<PathBuf>,
    /// Whether an earlier aging goes on.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

impl AgeSpec {
    /// How data comes: where preallocated blocks have no places, it must be written to age anything.
    pub(crate) fn data(&self) -> Data {
        let places = fs::find(&self.made.fs).ok().is_none_or(|kind| kind.places_when_preallocated());
        if self.data == Data::Auto && !places { Data::Write } else { self.data }
    }

    /// The threads that the replay uses.
    pub(crate) fn threads(&self) -> Result<usize, crate::Error> {
        Ok(match (self.threads, self.made.spec()?) {
            (Some(threads), _) => threads,
            // Who models a disk wants to do it again and see the same: several threads ask for blocks in another order each time.
            (None, Some(Spec { place: Place::Modelled { .. }, .. }) | None) => 1,
            (None, Some(spec)) => spec.kind.default_threads(),
        })
    }
}
