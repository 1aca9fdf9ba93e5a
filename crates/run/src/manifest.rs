//! The manifest of an aged file system, next to its image: how it was made and aged, and the state of the aging. It is rewritten atomically
//! at every checkpoint, so that a killed aging can resume.

use crate::Error;
use crate::volume::check_recordable;
use fs::VolumeConfig;
use replay::{Data, OnFull};
use results::RunId;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::{Conditions, ResumePoint, Segment, Workload};

/// The format version that this program writes and reads.
const VERSION: u32 = 1;

/// The stage of an aging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The file system is being made; nothing in it is worth keeping yet.
    Making,
    /// The operations are being replayed.
    Replaying,
    /// The live files are being filled with data.
    Filling,
    /// The aging is complete.
    Done,
}

/// An aged file system and its history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version of this file.
    pub version: u32,
    /// Name of the aged file system in its work directory.
    pub name: String,
    /// How it was made.
    #[serde(rename = "made")]
    pub volume: VolumeConfig,
    /// The mkfs command line.
    pub mkfs: Option<String>,
    /// Versions of the programs and driver of the file system.
    pub fs_version: String,
    /// How files get their data.
    pub data: Data,
    /// What happens when the file system is full.
    pub on_full: OnFull,
    /// Whether the live files are filled with data at the end.
    pub fill: bool,
    /// Whether it only serves a comparison, which removes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replicate: bool,
    /// The aging by a profile so far; empty if a workload aged the file system. `done` of the last segment is the number of operations that
    /// are applied and on disk.
    #[serde(rename = "legs")]
    pub segments: Vec<Segment>,
    /// The workload that aged the file system, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aged_by: Option<AgedBy>,
    /// Operations of the last segment that may have been applied beyond `done`.
    pub redo_to: u64,
    /// The stage.
    pub stage: Stage,
    /// The run in the store.
    pub run: i64,
}

/// A workload that aged a file system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgedBy {
    /// The workload.
    pub workload: Arc<dyn Workload>,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
}

impl PartialEq for AgedBy {
    fn eq(&self, other: &AgedBy) -> bool {
        (self.seed, self.round) == (other.seed, other.round) && *self.workload == *other.workload
    }
}

impl Manifest {
    /// The path of the manifest of `name`.
    pub fn path(work: &Path, name: &str) -> PathBuf {
        work.join(format!("{name}.json"))
    }

    /// The run in the store.
    pub fn run(&self) -> RunId {
        RunId(self.run)
    }

    /// The conditions of the last segment, if a profile aged the file system.
    pub fn conditions(&self) -> Option<&Conditions> {
        self.segments.last().map(|segment| &segment.conditions)
    }

    /// The name of the profile or the kind of the workload.
    pub fn source(&self) -> &str {
        match (self.conditions(), &self.aged_by) {
            (_, Some(by)) => by.workload.kind(),
            (Some(conditions), None) => &conditions.profile.name,
            (None, None) => "nothing",
        }
    }

    /// The random seed.
    pub fn seed(&self) -> Option<u64> {
        self.aged_by.as_ref().map(|by| by.seed).or(self.conditions().map(|conditions| conditions.seed))
    }

    /// Loads the manifest of `name`, if it exists. Refuses an aged file system that a killed benchmark left changed.
    pub fn load(work: &Path, name: &str) -> Result<Option<Manifest>, Error> {
        check_recordable(work)?;
        let path = Manifest::path(work, name);
        crate::rollback::check_clean(work, name)?;
        let text = match input::read(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(Error::io("reading", &path))?,
        };
        let manifest = Manifest::parse(&text).map_err(|why| {
            Error::Refused(format!("{} does not describe an aged file system: {why}", path.display()))
        })?;
        Ok(Some(manifest))
    }

    fn parse(text: &[u8]) -> Result<Manifest, String> {
        let manifest: Manifest = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        if manifest.version != VERSION {
            return Err(format!(
                "layout {} is not supported; this program reads {VERSION}",
                manifest.version
            ));
        }
        if manifest.segments.is_empty() && manifest.aged_by.is_none() {
            return Err("no aging conditions".to_owned());
        }
        for segment in &manifest.segments {
            segment.conditions.profile.check().map_err(|e| e.to_string())?;
        }
        Ok(manifest)
    }

    /// Loads the manifest of a completely aged file system; otherwise returns an error.
    pub fn load_aged(work: &Path, name: &str) -> Result<Manifest, Error> {
        let Some(manifest) = Manifest::load(work, name)? else {
            let work = work.display();
            return Err(Error::Refused(format!(
                "{work} contains no aged file system named {name}; create one with `senesce age --work \
                 {work}`"
            )));
        };
        if manifest.stage != Stage::Done {
            return Err(Error::Refused(format!(
                "the aging of {name} is incomplete; finish it with `senesce age --resume`"
            )));
        }
        Ok(manifest)
    }

    /// Replaces the manifest atomically; it is on disk when this returns.
    pub fn save(&self, work: &Path) -> Result<(), Error> {
        let path = Manifest::path(work, &self.name);
        let new = work.join(format!(".{}.json.new", self.name));
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| Error::Refused(format!("writing {}: {e}; choose other names", path.display())))?;
        let mut file = std::fs::File::create(&new).map_err(Error::io("creating", &new))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(Error::io("writing", &new))?;
        std::fs::rename(&new, &path).map_err(Error::io("replacing", &path))
    }

    /// Saves where an aging by a profile can continue after a kill.
    pub(crate) fn save_point(&mut self, work: &Path, point: &ResumePoint) -> Result<(), Error> {
        self.segments.last_mut().expect("an aging by a profile has a segment").done = point.done;
        self.redo_to = point.redo_to;
        self.stage = if point.filling { Stage::Filling } else { Stage::Replaying };
        self.save(work)
    }

    /// Removes the manifest.
    pub(crate) fn remove(&self, work: &Path) -> Result<(), Error> {
        let path = Manifest::path(work, &self.name);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("removing", &path)(e)),
            _ => Ok(()),
        }
    }

    /// After an interrupt, tells how an aging by a profile continues.
    pub(crate) fn continued(&self, error: Error) -> Error {
        let name = &self.name;
        match (error, self.stage, self.segments.last()) {
            (Error::Interrupted(_), Stage::Filling, Some(_)) => {
                Error::Interrupted(format!("{name} is aged but not filled; fill it with --resume"))
            }
            (Error::Interrupted(_), _, Some(segment)) => Error::Interrupted(format!(
                "{} operations of {name} are applied and on disk; continue with the same command and --resume",
                segment.done
            )),
            (error, ..) => error,
        }
    }

    /// The format version of this program.
    pub(crate) fn version() -> u32 {
        VERSION
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Manifest::parse(&bytes).is_err());
        }
    }
}
