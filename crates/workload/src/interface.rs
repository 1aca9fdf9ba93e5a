//! The interface of every workload.

use crate::Error;
use crate::planner::{Plan, Segment};
use crate::profile::{ByProfile, ProfileOutcome};
use disk::Session;
use fs::{Target, VolumeConfig};
use ranks::Group;
use replay::{Data, OnFull};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What ages a file system, with its parameters, as in an experiment file. It works in rounds; each kind says what a round is.
///
/// A new kind is a file with a struct that implements this trait under `#[typetag::serde(name = "KIND")]`: every command finds it by that
/// name.
#[typetag::serde(tag = "kind")]
pub trait Workload: Debug + Send + Sync {
    /// The kind, as in an experiment file.
    fn kind(&self) -> &'static str {
        self.typetag_name()
    }

    /// Refuses what cannot run in `rounds`, ascending, as far as that is known before anything is created.
    fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error>;

    /// Starts the workload, which plans here what it plans in advance.
    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error>;

    /// The last round if the user names none; `None` if the user must name one.
    fn default_last_round(&self) -> Option<u64> {
        None
    }

    /// Reads the input of a workload that is identified by its contents. `None` without such input.
    fn pin(&self) -> Result<Option<Pinned>, Error> {
        Ok(None)
    }

    /// A fingerprint of the input up to round `last_round`: two runs that name the same file are equal only if its contents are equal. `None`
    /// without input.
    fn fingerprint(&self, last_round: u64) -> Result<Option<String>, Error> {
        let _ = last_round;
        Ok(None)
    }

    /// Maximum number of files and directories in a round, if known.
    fn inodes(&self) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// The same workload on a repository; `None` if it uses none.
    fn with_repository(&self, repository: &Path) -> Option<Arc<dyn Workload>> {
        let _ = repository;
        None
    }

    /// The profile of a workload that follows one. Such a workload continues after a kill; the others start over.
    fn as_profile(&self) -> Option<&ByProfile> {
        None
    }
}

impl PartialEq for dyn Workload {
    fn eq(&self, other: &dyn Workload) -> bool {
        let written = |workload| serde_json::to_value(workload).expect("plain data");
        written(self) == written(other)
    }
}

/// A workload whose input was read.
pub struct Pinned {
    /// The workload, which refuses changed input.
    pub workload: Arc<dyn Workload>,
    /// The last round of the input.
    pub last_round: u64,
    /// What the input lacks, for the user.
    pub warnings: Vec<String>,
}

/// The circumstances of an aging.
pub struct Start<'a> {
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub last_round: u64,
    /// The file system.
    pub volume: &'a VolumeConfig,
    /// Directory for files outside of the file system.
    pub work: &'a Path,
    /// The session that cleans up after a kill.
    pub session: &'a Arc<Session>,
    /// The rules of the replay.
    pub terms: &'a Terms,
    /// The segments of an aging by a profile so far, the last one in progress; empty at the beginning.
    pub segments: &'a [Segment],
    /// Operations of the last segment that may have been applied beyond those that are recorded.
    pub redo_to: u64,
    /// Name and version of the program, for the record.
    pub tool: &'a str,
}

/// The rules of an aging by a profile.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Threads of the replay.
    pub threads: usize,
    /// How files get their data.
    pub data: Data,
    /// What happens when the file system is full.
    pub on_full: OnFull,
    /// Whether the live files are filled with data at the end.
    pub fill: bool,
    /// Time limit.
    pub time: Option<Duration>,
    /// The aging ends when the goodness of fit, a chi-square p-value, is at least this.
    pub fit: Option<f64>,
    /// File for the operation trace, if any.
    pub save_trace: Option<PathBuf>,
}

impl Default for Terms {
    /// One thread, as for a single process, without filling and limits.
    fn default() -> Terms {
        Terms {
            threads: 1,
            data: Data::Auto,
            on_full: OnFull::Skip,
            fill: false,
            time: None,
            fit: None,
            save_trace: None,
        }
    }
}

/// A workload in progress.
pub trait Driver {
    /// Whether each round starts on a fresh file system; otherwise it continues after the previous round.
    fn is_fresh(&self) -> bool {
        false
    }

    /// Brings the tree to the end of `round`. Afterwards no file of it is open and no process uses it.
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error>;

    /// Whether the workload ended early, so that no round follows.
    fn is_over(&self) -> bool {
        false
    }

    /// The plan of a workload that plans in advance.
    fn plan(&self) -> Option<&Plan> {
        None
    }

    /// Ends the workload after its last round. Returns what an aging by a profile reached.
    fn finish(&mut self, site: &mut Site) -> Result<Option<ProfileOutcome>, Error> {
        let _ = site;
        Ok(None)
    }
}

/// Where a workload works.
pub struct Site<'a> {
    /// The file system.
    pub target: &'a dyn Target,
    /// The directory that the other ranks open, if the file system is a directory.
    pub shared_dir: Option<&'a Path>,
    /// The ranks that share the work.
    pub group: &'a mut dyn Group,
    /// Receives the progress.
    pub observer: &'a mut dyn Observer,
}

/// Receives the progress of a workload.
pub trait Observer {
    /// A phase begins; `total` is its size, if known.
    fn phase(&mut self, name: &str, total: Option<u64>);

    /// `done` of the phase is complete.
    fn at(&mut self, done: u64);

    /// A message for the user.
    fn say(&mut self, line: &str);

    /// Saves where the workload can continue after a kill.
    fn save(&mut self, point: &ResumePoint) -> Result<(), Error>;
}

/// Where an aging by a profile can continue after a kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResumePoint {
    /// Operations of the last segment that are applied and on disk.
    pub done: u64,
    /// Operations of it that may be applied.
    pub redo_to: u64,
    /// Whether the live files are being filled with data.
    pub filling: bool,
}

/// The last of the rounds of a workload.
pub(crate) fn last_of(rounds: &[u64]) -> u64 {
    *rounds.last().expect("a workload has a round")
}
