//! One repetition on one side.

use super::recording::Recording;
use crate::Error;
use crate::io_capture::device_bytes;
use crate::throughput::{Once, once};
use disk::{Model, Scratch, Session};
use fs::{Location, Target, VolumeConfig};
use probe::Transfer;
use results::{Measure, Measurement, Store, Watch};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of the files of a benchmark, below the root of the tree.
const PLACE: &str = "senesce-benchmark";

/// One repetition on one side.
pub struct Turn<'a> {
    /// The name of the side in the store: `aged`, `unaged`, or empty if there is only one.
    pub subject: &'static str,
    /// From 1.
    pub repetition: u64,
    /// The file system.
    pub target: &'a mut dyn Target,
    /// Receives the progress.
    pub watch: &'a mut dyn Watch,
    /// The store of the work directory.
    pub store: Option<&'a Store>,
    /// The session that cleans up after a kill.
    pub session: &'a Arc<Session>,
    /// Whether block requests can be traced.
    pub traced: bool,
    pub(super) volume: Option<&'a VolumeConfig>,
    pub(super) recording: Recording<'a>,
    pub(super) model: &'a Model,
    /// Whether the file system is rolled back after the repetition, so that files need not be deleted.
    pub(super) keeps_files: bool,
}

/// An empty directory for one repetition.
pub struct OwnDir {
    path: PathBuf,
    /// Deletes the directory.
    _scratch: Option<Scratch>,
}

impl OwnDir {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Turn<'_> {
    /// The name of the side for users.
    pub fn name(&self) -> &'static str {
        super::named(self.subject)
    }

    /// The size of the disk for modelled time, the same on both sides: that of the file system, or for a directory that of its device.
    pub fn disk_bytes(&self) -> Option<u64> {
        match self.volume {
            Some(volume) if !matches!(volume.location, Location::Dir(_)) => Some(volume.size_bytes),
            volume => device_bytes(self.target).or(volume.map(|volume| volume.size_bytes)),
        }
    }

    /// Makes an empty directory for this repetition.
    pub fn own_dir(&self) -> Result<OwnDir, Error> {
        let root = self.target.root();
        if self.keeps_files {
            let path = root.join(PLACE);
            std::fs::create_dir(&path).map_err(Error::io("creating", &path))?;
            return Ok(OwnDir { path, _scratch: None });
        }
        let scratch = Scratch::make(self.session, root, PLACE)?;
        Ok(OwnDir { path: scratch.path().to_owned(), _scratch: Some(scratch) })
    }

    /// Runs a phase from a cold cache, and records its rates under names with the prefix `what`.
    pub fn cold(
        &mut self,
        what: &str,
        phase: impl FnOnce(&dyn Target) -> Result<Transfer, Error>,
    ) -> Result<Once, Error> {
        self.target.drop_caches()?;
        let once = once(self.target, self.traced, self.model, self.disk_bytes(), phase)?;
        self.record(&once.numbers(self.subject, what, self.repetition))?;
        Ok(once)
    }

    /// Records measurements.
    pub fn record(&self, numbers: &[Measurement]) -> Result<(), results::Error> {
        self.recording.numbers(numbers)
    }

    /// Records the values of measures that have one.
    pub fn record_known(&self, values: &[(Measure, Option<f64>)]) -> Result<(), results::Error> {
        let known = values.iter().filter_map(|(measure, value)| {
            value.map(|value| measure.measurement(self.subject, self.repetition, value))
        });
        self.record(&known.collect::<Vec<_>>())
    }

    /// Records a document of this side.
    pub fn record_document(&self, name: &str, body: &impl Serialize) -> Result<(), results::Error> {
        self.recording.document(self.subject, name, body)
    }

    /// Records a document of this repetition.
    pub fn record_repetition(&self, name: &str, body: &impl Serialize) -> Result<(), results::Error> {
        self.record_document(&format!("{name} {}", self.repetition), body)
    }
}
