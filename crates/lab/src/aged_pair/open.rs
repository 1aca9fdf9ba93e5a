//! Finds and opens the file systems of a measurement.

use super::{Access, Plan, Side, Subject, Timing};
use crate::Error;
use crate::compare::SUBJECTS;
use crate::compare::unaged::{self, Unaged};
use crate::manifest::{Home, Made, Manifest};
use crate::rollback::{RollbackGuard, clean_first};
use disk::modelled::Clock;
use disk::{Model, Scratch, Session};
use fs::DirTarget;
use results::Watch;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Prefix of the directories created in a directory of the user.
const SCRATCH: &str = "senesce-benchmark";

/// The subject of a measurement, closed.
pub(super) enum Found<'a> {
    Aged {
        work: &'a Path,
        manifest: Box<Manifest>,
    },
    Alone {
        /// As the user named it.
        named: &'a Path,
        path: PathBuf,
        made: Option<Box<Made>>,
    },
}

/// The subject of a measurement, open.
pub(super) struct Opened {
    pub sides: Vec<Side>,
    pub unaged: Option<Unaged>,
    pub same_disk: bool,
    /// The directory that all files are created in, below a directory of the user.
    pub scratch: Option<Scratch>,
}

impl<'a> Found<'a> {
    /// Looks up the subject. If a killed benchmark left it changed, rolls it back first.
    pub fn find(plan: &Plan<'a>, watch: &mut dyn Watch) -> Result<Found<'a>, Error> {
        match plan.subject {
            Subject::Aged { work, name } => {
                clean_first(work, name, watch)?;
                let manifest = Manifest::load_aged(work, name)?;
                check_device(&manifest.made, plan.timing)?;
                Ok(Found::Aged { work, manifest: manifest.into() })
            }
            Subject::Alone { path: named, .. } => {
                let path = std::fs::canonicalize(named).map_err(Error::io("opening", named))?;
                let (dir, name) = dir_and_name(&path);
                clean_first(dir, &name, watch)?;
                let made = Made::found(&path)?;
                made.as_ref().map_or(Ok(()), |made| check_device(made, plan.timing))?;
                Ok(Found::Alone { named, path, made: made.map(Box::new) })
            }
        }
    }

    /// The name for users.
    pub fn name(&self) -> String {
        match self {
            Found::Aged { manifest, .. } => manifest.name.clone(),
            Found::Alone { named, .. } => named.display().to_string(),
        }
    }

    /// Makes the unaged copy, and opens all sides.
    pub fn open(&self, plan: &Plan, session: &Arc<Session>, watch: &mut dyn Watch) -> Result<Opened, Error> {
        match self {
            Found::Aged { work, manifest } => {
                let Manifest { name, made, .. } = &**manifest;
                let mut unaged = None;
                if plan.unaged {
                    watch.phase(&format!("{name}: copying to a fresh file system"), None);
                    unaged = Some(copy(plan, session, work, manifest)?);
                }
                watch.phase(&format!("{name}: preparing"), None);
                let subject = if unaged.is_some() { SUBJECTS[0] } else { "" };
                let guard = guard(plan, session, work, name, made)?;
                let mut sides = vec![Side { subject, guard }];
                if let Some(unaged) = &mut unaged {
                    let made = with_clock(unaged.close()?, plan.timing);
                    let guard = match plan.rewinds {
                        true => RollbackGuard::spare(session, &made)?,
                        false => RollbackGuard::as_it_is(session, &made)?,
                    };
                    sides.push(Side { subject: SUBJECTS[1], guard });
                }
                let same_disk = !matches!(made.home, Home::Device(_));
                Ok(Opened { sides, unaged, same_disk, scratch: None })
            }
            Found::Alone { path, made: Some(made), .. } => {
                let (dir, name) = dir_and_name(path);
                let guard = match (&made.home, plan.timing) {
                    // There is no work directory with an image to restore the device from.
                    (Home::Device(_), Timing::Priced(_) | Timing::Slept(None))
                        if plan.access != Access::Reads =>
                    {
                        RollbackGuard::as_it_is(session, made)?
                    }
                    _ => guard(plan, session, dir, &name, made)?,
                };
                Ok(Opened::alone(guard, None))
            }
            Found::Alone { path, made: None, .. } => {
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
        Opened { sides: vec![Side { subject: "", guard }], unaged: None, same_disk: true, scratch }
    }
}

/// Refuses to run a benchmark on a device that senesce did not make. Probes may write to any device that the user names.
fn check_device(made: &Made, timing: Timing) -> Result<(), Error> {
    match timing {
        Timing::Slept(_) => made.may_be_written(),
        Timing::Priced(_) => Ok(()),
    }
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
    made: &Made,
) -> Result<RollbackGuard, Error> {
    if plan.access == Access::Reads {
        return RollbackGuard::read_only(session, made);
    }
    let Timing::Slept(Some(model)) = plan.timing else {
        return RollbackGuard::open(session, dir, name, &with_clock(made, plan.timing));
    };
    match &made.home {
        Home::Image(image) => RollbackGuard::on_disk(session, made, image, model),
        Home::Modelled { dir: store, .. } => {
            if disk::modelled::model_of(store)? != Model::find(model)? {
                return Err(no_disk(&format!("{name} is already on another modelled disk")));
            }
            RollbackGuard::open(session, dir, name, &with_clock(made, plan.timing))
        }
        Home::Device(_) | Home::Dir(_) => Err(no_disk(&format!("{name} is not an image"))),
    }
}

fn no_disk(why: &str) -> Error {
    Error::Refused(format!("{why}, but only images can be put on a modelled disk: leave --disk out"))
}

/// The same file system; if its modelled disk has to sleep service times, with a clock that sleeps.
fn with_clock(made: &Made, timing: Timing) -> Made {
    match (&made.home, timing) {
        (Home::Modelled { dir, model, .. }, Timing::Slept(_)) => on_clock(made, dir, model, Clock::Real),
        _ => made.clone(),
    }
}

fn on_clock(made: &Made, dir: &Path, model: &str, clock: Clock) -> Made {
    let home = Home::Modelled { dir: dir.to_owned(), model: model.to_owned(), clock };
    Made { home, ..made.clone() }
}

/// Makes the unaged copy of an aged file system without sleeping, and closes it.
fn copy(plan: &Plan, session: &Arc<Session>, work: &Path, manifest: &Manifest) -> Result<Unaged, Error> {
    let Manifest { name, made, fill, .. } = manifest;
    let made = match (&made.home, plan.timing) {
        (Home::Modelled { dir, model, .. }, Timing::Slept(_)) => on_clock(made, dir, model, Clock::Model),
        _ => made.clone(),
    };
    let mut aged = RollbackGuard::read_only(session, &made)?;
    let mut unaged = match (&made.home, plan.timing) {
        (Home::Image(image), Timing::Slept(Some(model))) => {
            unaged::make_on_disk(session, image, name, &made, model, *fill, aged.target())?
        }
        _ => unaged::make(session, work, name, &made, *fill, aged.target())?,
    };
    unaged.close()?;
    aged.restore()?;
    Ok(unaged)
}
