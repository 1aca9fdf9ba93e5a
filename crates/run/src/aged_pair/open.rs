//! Finds and opens the file systems of a measurement.

use super::{Access, Plan, Subject, Timing, UnagedSide};
use crate::Error;
use crate::compare::SUBJECTS;
use crate::compare::unaged::{self, Unaged};
use crate::manifest::Manifest;
use crate::rollback::{RollbackGuard, clean_first};
use disk::modelled::Clock;
use disk::{BlockDevice, Model, Scratch, Session};
use fs::{DirTarget, Location, VolumeConfig};
use results::Watch;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prefix of the directories created in a directory of the user.
const SCRATCH: &str = "senesce-benchmark";

/// The subject of a measurement, closed.
pub(crate) enum Found<'a> {
    Aged {
        work: &'a Path,
        manifest: Box<Manifest>,
    },
    Alone {
        /// As the user named it.
        named: &'a Path,
        path: PathBuf,
        volume: Option<Box<VolumeConfig>>,
    },
    Disposable(&'a VolumeConfig),
}

/// The subject of a measurement, open.
pub(super) struct Opened {
    /// The names of the sides in the store, and their file systems.
    pub sides: Vec<(&'static str, RollbackGuard)>,
    pub unaged: Option<Unaged>,
    pub same_disk: bool,
    /// The directory that all files are created in, below a directory of the user.
    pub scratch: Option<Scratch>,
}

impl<'a> Found<'a> {
    /// Looks up the subject. If a killed benchmark left it changed, rolls it back first.
    pub fn find(subject: &'a Subject, watch: &mut dyn Watch) -> Result<Found<'a>, Error> {
        match subject {
            Subject::Aged { work, name } => {
                clean_first(work, name, watch)?;
                let manifest = Manifest::load_aged(work, name)?;
                Ok(Found::Aged { work, manifest: manifest.into() })
            }
            Subject::Alone { path: named, .. } => {
                let path = std::fs::canonicalize(named).map_err(Error::io("opening", named))?;
                let (dir, name) = dir_and_name(&path);
                clean_first(dir, &name, watch)?;
                let volume = crate::volume::existing_volume(&path)?;
                Ok(Found::Alone { named, path, volume: volume.map(Box::new) })
            }
            Subject::Disposable(volume) => Ok(Found::Disposable(volume)),
        }
    }

    /// The name for users.
    pub fn name(&self) -> String {
        match self {
            Found::Aged { manifest, .. } => manifest.name.clone(),
            Found::Alone { named, .. } => named.display().to_string(),
            Found::Disposable(volume) => volume.location.path().display().to_string(),
        }
    }

    /// The manifest of an aged file system.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Found::Aged { manifest, .. } => Some(manifest),
            Found::Alone { .. } | Found::Disposable(_) => None,
        }
    }

    /// The file system; `None` for a directory of the user.
    pub fn volume(&self) -> Option<&VolumeConfig> {
        match self {
            Found::Aged { manifest, .. } => Some(&manifest.volume),
            Found::Alone { volume, .. } => volume.as_deref(),
            Found::Disposable(volume) => Some(volume),
        }
    }

    /// Makes the unaged side, and opens all sides.
    pub(super) fn open(
        &self,
        plan: &Plan,
        session: &Arc<Session>,
        watch: &mut dyn Watch,
    ) -> Result<Opened, Error> {
        match self {
            Found::Aged { work, manifest } => {
                let Manifest { name, volume, .. } = &**manifest;
                let make = |side| make_unaged(side, plan.timing, session, work, manifest, watch);
                let mut unaged = plan.unaged.map(make).transpose()?;
                watch.phase(&format!("{name}: preparing"), None);
                let subject = if unaged.is_some() { SUBJECTS[0] } else { "" };
                let guard = guard(plan, session, work, name, volume)?;
                let mut sides = vec![(subject, guard)];
                if let Some(unaged) = &mut unaged {
                    let volume = with_clock(unaged.close()?, plan.timing, Clock::Real);
                    let guard = match plan.rewinds {
                        true => RollbackGuard::spare(session, &volume)?,
                        false => RollbackGuard::as_it_is(session, &volume)?,
                    };
                    sides.push((SUBJECTS[1], guard));
                }
                let same_disk = !matches!(volume.location, Location::Device(_));
                Ok(Opened { sides, unaged, same_disk, scratch: None })
            }
            Found::Alone { path, volume: Some(volume), .. } => {
                let (dir, name) = dir_and_name(path);
                let guard = match (&volume.location, plan.timing) {
                    // There is no work directory with an image to restore the device from.
                    (Location::Device(_), Timing::Priced(_) | Timing::Slept(None))
                        if plan.access != Access::Reads =>
                    {
                        RollbackGuard::as_it_is(session, volume)?
                    }
                    _ => guard(plan, session, dir, &name, volume)?,
                };
                Ok(Opened::alone(guard, None))
            }
            Found::Disposable(volume) => Ok(Opened::alone(RollbackGuard::as_it_is(session, volume)?, None)),
            Found::Alone { path, volume: None, .. } => {
                if let Timing::Slept(Some(_)) = plan.timing {
                    return Err(no_disk(&format!("{} is a directory", path.display())));
                }
                let creates = plan.access == Access::Creates;
                let scratch = creates.then(|| Scratch::make(session, path, SCRATCH)).transpose()?;
                let target = DirTarget::open_any(scratch.as_ref().map_or(path.as_path(), Scratch::path))?;
                let guard = RollbackGuard::of_dir(session, target, plan.access != Access::Reads);
                Ok(Opened::alone(guard, scratch))
            }
        }
    }
}

impl Opened {
    fn alone(guard: RollbackGuard, scratch: Option<Scratch>) -> Opened {
        Opened { sides: vec![("", guard)], unaged: None, same_disk: true, scratch }
    }
}

/// Refuses to run a benchmark on a device that senesce did not make. Probes may write to any device that the user names.
pub(super) fn check_device(volume: &VolumeConfig, timing: Timing) -> Result<(), Error> {
    match timing {
        Timing::Slept(_) => refuse_foreign_device(volume),
        Timing::Priced(_) => Ok(()),
    }
}

/// Refuses a device whose file system was not made by this program: it is never written to.
fn refuse_foreign_device(volume: &VolumeConfig) -> Result<(), Error> {
    let Location::Device(path) = &volume.location else { return Ok(()) };
    if fs::find(&volume.fs)?.is_ours(&BlockDevice::open(path)?)? {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{}: its file system was not created by senesce, and a benchmark would write to it; use an image copy of it, or a directory on it",
        path.display()
    )))
}

/// The directory of a file system without a work directory, and its name there.
fn dir_and_name(path: &Path) -> (&Path, Cow<'_, str>) {
    (path.parent().unwrap_or(Path::new("/")), path.file_stem().unwrap_or_default().to_string_lossy())
}

/// Opens a file system so that it is rolled back if the measurement writes to it.
fn guard(
    plan: &Plan,
    session: &Arc<Session>,
    dir: &Path,
    name: &str,
    volume: &VolumeConfig,
) -> Result<RollbackGuard, Error> {
    match plan.access {
        Access::Reads => return RollbackGuard::read_only(session, volume),
        Access::Samples => return RollbackGuard::as_it_is(session, volume),
        Access::Overwrites | Access::Creates => {}
    }
    let Timing::Slept(Some(model)) = plan.timing else {
        return RollbackGuard::open(session, dir, name, &with_clock(volume, plan.timing, Clock::Real));
    };
    match &volume.location {
        Location::Image(image) => RollbackGuard::on_disk(session, volume, image, model),
        Location::Modelled { dir: store, .. } => {
            if disk::modelled::model_of(store)? != Model::find(model)? {
                return Err(no_disk(&format!("{name} is already on another modelled disk")));
            }
            RollbackGuard::open(session, dir, name, &with_clock(volume, plan.timing, Clock::Real))
        }
        Location::Device(_) | Location::Dir(_) => Err(no_disk(&format!("{name} is not an image"))),
    }
}

fn no_disk(why: &str) -> Error {
    Error::Refused(format!("{why}, but only images can be put on a modelled disk: leave --disk out"))
}

/// The same file system; if its modelled disk has to sleep service times, with this clock.
fn with_clock(volume: &VolumeConfig, timing: Timing, clock: Clock) -> VolumeConfig {
    match (&volume.location, timing) {
        (Location::Modelled { dir, model, .. }, Timing::Slept(_)) => {
            volume.at(Location::Modelled { dir: dir.clone(), model: model.clone(), clock })
        }
        _ => volume.clone(),
    }
}

/// Makes the unaged side of an aged file system without sleeping, and closes it.
fn make_unaged(
    side: UnagedSide,
    timing: Timing,
    session: &Arc<Session>,
    work: &Path,
    manifest: &Manifest,
    watch: &mut dyn Watch,
) -> Result<Unaged, Error> {
    let Manifest { name, volume, fill, .. } = manifest;
    let volume = with_clock(volume, timing, Clock::Model);
    let fresh = volume.at(match (&volume.location, timing) {
        (Location::Image(image), Timing::Slept(Some(model))) => unaged::location_on_disk(image, model),
        _ => unaged::location(work, name, &volume),
    });
    let mut unaged = match side {
        UnagedSide::Copy => {
            watch.phase(&format!("{name}: copying to a fresh file system"), None);
            let mut aged = RollbackGuard::read_only(session, &volume)?;
            let unaged = unaged::copy(session, work, name, fresh, *fill, aged.target())?;
            aged.restore()?;
            unaged
        }
        UnagedSide::Empty => {
            watch.phase(&format!("{name}: making an empty file system"), None);
            Unaged::make(session, fresh)?
        }
    };
    unaged.close()?;
    Ok(unaged)
}
