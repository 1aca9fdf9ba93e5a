//! What to measure, and on which file systems.

use super::open::Found;
use crate::Error;
use fs::VolumeConfig;
use results::Watch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An aged file system, and an unaged one unless that is left out.
    Aged {
        /// Its work directory, whose store holds the results.
        work: PathBuf,
        /// Its name there.
        name: String,
    },
    /// A single directory, image, device or modelled disk.
    Alone {
        /// Its path.
        path: PathBuf,
        /// The work directory whose store holds the results; without one they are only printed.
        work: Option<PathBuf>,
    },
    /// A file system on a disk that ends with this machine: nothing is rolled back.
    Disposable(VolumeConfig),
}

impl Subject {
    pub(crate) fn work(&self) -> Option<&Path> {
        match self {
            Subject::Aged { work, .. } => Some(work),
            Subject::Alone { work, .. } => work.as_deref(),
            Subject::Disposable(_) => None,
        }
    }

    /// Its file system; `None` for a directory of the user. If a killed benchmark left it changed, rolls it back first.
    pub fn volume(&self, watch: &mut dyn Watch) -> Result<Option<VolumeConfig>, Error> {
        Ok(Found::find(self, watch)?.volume().cloned())
    }
}

/// The file system that an aged one is compared with, of the same kind, size and options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnagedSide {
    /// A fresh one with the same files, copied.
    Copy,
    /// A fresh one without files.
    Empty,
}

/// The access of a measurement to the file systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads files.
    Reads,
    /// Reads files, and creates one that it deletes again: the tree stays the same, so nothing is rolled back.
    Samples,
    /// Overwrites existing files.
    Overwrites,
    /// Creates files, in separate directories.
    Creates,
}

/// The source of the time of a modelled disk.
#[derive(Clone, Copy, Debug)]
pub enum Timing<'a> {
    /// Requests are recorded, and a disk model computes their time: the named one, a built-in or a TOML file; otherwise that of the disk
    /// below, or [`HDD_MODEL`](crate::HDD_MODEL).
    Priced(Option<&'a str>),
    /// Modelled disks sleep their service times. An image is copied to a disk of the named model.
    Slept(Option<&'a str>),
}

impl<'a> Timing<'a> {
    pub(super) fn model(self) -> Option<&'a str> {
        let (Timing::Priced(model) | Timing::Slept(model)) = self;
        model
    }
}

/// A measurement.
pub struct Plan<'a> {
    /// The run in the store; without one, the sides record their results themselves.
    pub run: Option<RunPlan<'a>>,
    /// The subject.
    pub subject: &'a Subject,
    /// What an aged file system is measured beside, if anything.
    pub unaged: Option<UnagedSide>,
    /// The access to the file systems.
    pub access: Access,
    /// Whether each repetition starts on the unchanged file system.
    pub rewinds: bool,
    /// The source of the time of a modelled disk.
    pub timing: Timing<'a>,
}

impl<'a> Plan<'a> {
    /// A probe of files whose requests are priced on the model `disk`.
    pub fn probe(
        name: &str,
        subject: &'a Subject,
        access: Access,
        disk: Option<&'a str>,
        options: &serde_json::Value,
        command: &'a str,
    ) -> Plan<'a> {
        let parameters = serde_json::json!({ "benchmark": name, "disk": disk, "options": options });
        Plan {
            run: Some(RunPlan { kind: "probe", seed: None, parameters, command, resume: false }),
            subject,
            unaged: Some(UnagedSide::Copy),
            access,
            rewinds: false,
            timing: Timing::Priced(disk),
        }
    }

    /// A benchmark that starts on the unchanged file system in each repetition. Modelled disks sleep; an image is copied to one of the
    /// model `disk`.
    pub fn benchmark(
        run: Option<RunPlan<'a>>,
        subject: &'a Subject,
        unaged: Option<UnagedSide>,
        disk: Option<&'a str>,
    ) -> Plan<'a> {
        Plan { run, subject, unaged, access: Access::Creates, rewinds: true, timing: Timing::Slept(disk) }
    }
}

/// A run in the store.
pub struct RunPlan<'a> {
    /// Kind of the run in the store.
    pub kind: &'static str,
    /// The random seed, if any; otherwise that of the aging is recorded.
    pub seed: Option<u64>,
    /// All parameters: a JSON object. The run of the aging is added.
    pub parameters: serde_json::Value,
    /// The full command line.
    pub command: &'a str,
    /// Whether the last run with the same parameters continues if it did not complete.
    pub resume: bool,
}
