//! The manifest of an aged file system, next to its image: how it was made and aged, and the state of the aging. It is rewritten atomically
//! at every checkpoint, so that a killed aging can resume.

use crate::Error;
use crate::workload::Workload;
use disk::BlockDevice;
use disk::modelled::{Clock, DiskSettings, is_store};
use fs::{Place, Spec};
use replay::{Data, OnFull};
use results::RunId;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use workload::{Conditions, Segment};

/// The format version that this program writes and reads.
const VERSION: u32 = 1;

/// The location of an aged file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Home {
    /// In an image file.
    Image(PathBuf),
    /// On a block device.
    Device(PathBuf),
    /// In a directory of a mounted file system.
    Dir(PathBuf),
    /// On a modelled disk.
    Modelled {
        /// The directory of its store.
        dir: PathBuf,
        /// The disk model: a built-in name, or the absolute path of a TOML file.
        model: String,
        /// The use of its service times.
        clock: Clock,
    },
}

impl Home {
    /// Removes a useless image or modelled disk, if it exists. Devices and existing directories stay.
    pub(crate) fn remove_half_made(&self) -> Result<(), Error> {
        let (path, removed) = match self {
            Home::Image(path) => (path, std::fs::remove_file(path)),
            Home::Modelled { dir, .. } => (dir, std::fs::remove_dir_all(dir)),
            Home::Dir(_) | Home::Device(_) => return Ok(()),
        };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("removing the incomplete", path)(e))
            }
            _ => Ok(()),
        }
    }
}

/// How an aged file system was made; its unaged copy is made the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// The location.
    pub home: Home,
    /// Kind of file system, or `dir`.
    pub fs: String,
    /// Nominal size in bytes.
    pub size_bytes: u64,
    /// Options of mkfs required by the plan: space for its files.
    #[serde(default)]
    pub plan_mkfs_opts: Vec<String>,
    /// Further options of mkfs, from the user.
    pub mkfs_opts: Vec<String>,
    /// Mount options.
    pub mount_opts: Vec<String>,
    /// Read-ahead of the loop device in KiB.
    pub read_ahead_kb: u32,
    /// The kernel that mounts it, in a virtual machine; by default that of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<vm::Kernel>,
}

/// Read-ahead in KiB of existing file systems: the default of the kernel.
const READ_AHEAD_KB: u32 = 128;

impl Made {
    /// The parameters for opening an existing image, block device or modelled disk at `path`; `None` for a directory.
    pub fn found(path: &Path) -> Result<Option<Made>, Error> {
        use std::os::unix::fs::FileTypeExt as _;
        let file = std::fs::metadata(path).map_err(Error::io("checking", path))?;
        let place = std::path::absolute(path).map_err(Error::io("checking", path))?;
        let (home, kind) = if file.is_dir() && is_store(path) {
            let DiskSettings { model, clock, .. } = DiskSettings::read(path)?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            crate::rollback::check_clean(place.parent().unwrap_or(Path::new("/")), &name)?;
            (Home::Modelled { dir: place, model, clock }, fs::detect_modelled(path)?)
        } else if file.is_dir() {
            return Ok(None);
        } else if file.file_type().is_block_device() {
            (Home::Device(place), fs::detect(path)?)
        } else if file.is_file() {
            (Home::Image(place), fs::detect(path)?)
        } else {
            let path = path.display();
            return Err(Error::Refused(format!("{path} is not a directory, image or block device")));
        };
        Ok(Some(Made {
            home,
            fs: kind.name().to_owned(),
            size_bytes: file.len(),
            plan_mkfs_opts: Vec::new(),
            mkfs_opts: Vec::new(),
            mount_opts: Vec::new(),
            read_ahead_kb: READ_AHEAD_KB,
            kernel: None,
        }))
    }

    /// Refuses a device whose file system was not made by this program: it is never written to.
    pub(crate) fn may_be_written(&self) -> Result<(), Error> {
        let Home::Device(path) = &self.home else { return Ok(()) };
        if fs::find(&self.fs)?.is_ours(&BlockDevice::open(path)?)? {
            return Ok(());
        }
        Err(Error::Refused(format!(
            "{}: its file system was not created by senesce, and a benchmark would write to it; use an image \
             copy of it, or a directory on it",
            path.display()
        )))
    }

    /// Refuses, before planning, what cannot be made or, unless it is `fresh`, opened: a file system that this machine does not support, a
    /// device that must not be used, a path that cannot be recorded. `erase` is the device that may be erased.
    pub(crate) fn check(&self, erase: Option<&str>, fresh: bool) -> Result<(), Error> {
        let (Home::Image(path) | Home::Device(path) | Home::Dir(path) | Home::Modelled { dir: path, .. }) =
            &self.home;
        check_recordable(path)?;
        check_recordable(&disk::run_dir())?;
        let Some(mut spec) = self.spec()? else { return Ok(()) };
        if !fresh {
            if let Place::Device { path, .. } = &spec.place {
                BlockDevice::open(path)?;
            }
            return Ok(fs::ready(spec.kind)?);
        }
        if let Place::Device { erase: confirmed, .. } = &mut spec.place {
            *confirmed = erase.map(str::to_owned);
        }
        Ok(fs::check(&spec)?)
    }

    /// The parameters for the `fs` crate to make or open it; `None` for a directory.
    pub fn spec(&self) -> Result<Option<Spec>, Error> {
        let place = match &self.home {
            Home::Image(path) => Place::Image(path.clone()),
            Home::Device(path) => Place::Device { path: path.clone(), erase: None },
            Home::Dir(_) => return Ok(None),
            Home::Modelled { dir, model, clock } => {
                Place::Modelled { dir: dir.clone(), model: model.clone(), clock: *clock }
            }
        };
        Ok(Some(Spec {
            kind: fs::find(&self.fs)?,
            place,
            size_bytes: self.size_bytes,
            mkfs_opts: [self.plan_mkfs_opts.clone(), self.mkfs_opts.clone()].concat(),
            mount_opts: self.mount_opts.clone(),
            read_ahead_kb: self.read_ahead_kb,
        }))
    }
}

/// Refuses a path that is not UTF-8, because manifests and journals are text.
pub(crate) fn check_recordable(path: &Path) -> Result<(), Error> {
    // The parent of a bare name is the current directory.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).map_err(Error::io("finding", path))?;
    let existing = absolute.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
    match [Some(absolute), existing].into_iter().flatten().find(|path| path.to_str().is_none()) {
        None => Ok(()),
        Some(path) => Err(Error::Refused(format!(
            "directory {path:?} is not UTF-8, but run records are text; choose another directory"
        ))),
    }
}

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
    pub made: Made,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgedBy {
    /// The workload.
    pub workload: Workload,
    /// The random seed.
    pub seed: u64,
    /// The last round.
    pub round: u64,
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
            (_, Some(by)) => by.workload.name(),
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
