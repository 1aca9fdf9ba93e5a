//! The parameters of an aging.

use crate::Error;
use crate::series::{Identity, Schedule};
use disk::model::Model;
use fs::{Location, VolumeConfig};
use replay::{Data, OnFull};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workload::profile::ByProfile;
use workload::{Conditions, Terms, Workload};

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
    /// The workload.
    pub workload: Arc<dyn Workload>,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
    /// Measurements between rounds, if any.
    pub measure: Option<MeasureRounds>,
    /// Time limit of an aging by a profile.
    pub time: Option<Duration>,
    /// An aging by a profile ends when the goodness of fit, a chi-square p-value, is at least this.
    pub fit: Option<f64>,
    /// Threads of the replay of a profile; `None` selects the default of the file system.
    pub threads: Option<usize>,
    /// How the files of a profile get their data.
    pub data: Data,
    /// What happens when the file system is full, if a profile ages it.
    pub on_full: OnFull,
    /// Whether the live files are filled with data at the end.
    pub fill: bool,
    /// Whether the file system only serves a comparison, which removes it.
    pub replicate: bool,
    /// File for the operation trace of a profile, if any.
    pub save_trace: Option<PathBuf>,
    /// Whether to continue an earlier aging. An aging by a profile continues where it was; others start over and reuse their measurements.
    pub resume: bool,
    /// The full command line, for the record.
    pub command: String,
}

/// Measurements between rounds, of the aged file system and its unaged copy.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureRounds {
    /// Interval between measurements, in rounds.
    pub every: u64,
    /// Cold scans of each side.
    pub repeat: u64,
    /// Disk models used to compute the cost of the scans.
    pub disks: Vec<String>,
}

impl AgeSpec {
    /// An aging by a profile with the default options.
    pub fn new(
        name: &str,
        work: PathBuf,
        volume: VolumeConfig,
        workload: Arc<ByProfile>,
        seed: u64,
        command: &str,
    ) -> AgeSpec {
        AgeSpec {
            name: name.to_owned(),
            work,
            volume,
            erase: None,
            workload,
            seed,
            round: workload::profile::LAST_ROUND,
            measure: None,
            time: None,
            fit: None,
            threads: None,
            data: Data::Auto,
            on_full: OnFull::Skip,
            fill: true,
            replicate: false,
            save_trace: None,
            resume: false,
            command: command.to_owned(),
        }
    }

    /// What ages: the name of the profile, or the kind of the workload.
    pub fn source(&self) -> &str {
        self.workload.as_profile().map_or(self.workload.kind(), |by| &by.profile.name)
    }

    /// The conditions of an aging by a profile.
    pub fn conditions(&self) -> Option<Conditions> {
        let by = self.workload.as_profile()?;
        Some(by.conditions(&self.volume, self.seed))
    }

    /// How files get their data. It must be written if preallocated blocks have no location on disk, or if files are changed in place:
    /// that differs between written and preallocated blocks.
    pub(super) fn data(&self) -> Data {
        let located = fs::find(&self.volume.fs).ok().is_none_or(|kind| kind.fallocate_assigns_blocks());
        let churns = self.workload.as_profile().is_some_and(|by| by.churn.is_some());
        if self.data == Data::Auto && (churns || !located) { Data::Write } else { self.data }
    }

    /// The rules of an aging by a profile.
    pub(crate) fn terms(&self) -> Result<Terms, Error> {
        let by_kind = match (&self.volume.location, self.volume.kind()?) {
            // Modelled disks promise reproducible results.
            (Location::Modelled { .. }, _) | (_, None) => 1,
            (_, Some(kind)) => kind.default_threads(),
        };
        let threads = self.threads.unwrap_or(by_kind);
        Ok(Terms {
            threads,
            data: self.data(),
            on_full: self.on_full,
            fill: self.fill,
            time: self.time,
            fit: self.fit,
            save_trace: self.save_trace.clone(),
        })
    }

    /// The rounds, and what is measured after them.
    pub(super) fn schedule(&self) -> Schedule {
        let every = self.measure.as_ref().map_or(self.round, |measure| measure.every).max(1);
        let mut rounds: Vec<u64> = (1..self.round.div_ceil(every)).map(|n| n * every).collect();
        rounds.push(self.round);
        let measured = if self.measure.is_some() { rounds.clone() } else { Vec::new() };
        Schedule {
            rounds,
            measured,
            repeat: self.measure.as_ref().map_or(1, |measure| measure.repeat),
            quiet_s: 0,
            unaged: true,
            pictures: Vec::new(),
            memory_bytes: Vec::new(),
        }
    }

    /// The disks used to compute the cost of scans.
    pub(super) fn models(&self) -> Result<Vec<Model>, Error> {
        let disks = self.measure.iter().flat_map(|measure| &measure.disks);
        Ok(disks.map(|disk| Model::find(disk)).collect::<Result<_, _>>()?)
    }

    /// Identifies the measured rounds in the store.
    pub(super) fn identity(&self) -> Identity {
        let measure = self.measure.as_ref();
        let parameters = json!({
            "made": self.volume,
            "workload": self.workload,
            "seed": self.seed,
            "repeat": measure.map(|measure| measure.repeat),
            "disks": measure.map(|measure| &measure.disks),
        });
        Identity { name: self.name.clone(), parameters }
    }

    /// Everything that the result depends on, on the file system `volume`.
    pub(super) fn parameters(&self, volume: &VolumeConfig, ranks: u32) -> Value {
        let mut parameters = match self.conditions() {
            Some(conditions) => json!({ "made": volume, "conditions": conditions, "ranks": ranks }),
            None => json!({ "made": volume, "aged_by": self.aged_by() }),
        };
        if let Some(MeasureRounds { every, repeat, disks }) = &self.measure {
            parameters["every"] = json!(every);
            parameters["repeat"] = json!(repeat);
            parameters["disks"] = json!(disks);
        }
        parameters
    }

    /// The workload, if it is not a profile.
    pub(crate) fn aged_by(&self) -> Option<crate::AgedBy> {
        let by = || crate::AgedBy { workload: self.workload.clone(), seed: self.seed, round: self.round };
        self.workload.as_profile().is_none().then(by)
    }
}
