//! What a benchmark of files runs on: an aged file system and its unaged copy, or one file system alone. What is written to
//! is afterwards what it was, as far as that can be; and what is measured is recorded at once.

use crate::Error;
use crate::compare::SUBJECTS;
use crate::compare::unaged::{self, Unaged};
use crate::kept::{Keeping, Restored, clean_first};
use crate::manifest::{Home, Made, Manifest};
use crate::scanned::HDD_MODEL;
use crate::throughput::{Once, Rates, Ratios, once};
use crate::watched::device_bytes;
use crate::work::Work;
use disk::model::Model;
use disk::{Scratch, Session};
use fs::{DirTarget, Target};
use probe::Transfer;
use results::{Measurement, NewRun, RunId, Store, Watch};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the directories that files are made in begin.
pub(crate) const SCRATCH: &str = "senesce-sequential";

/// What a benchmark runs on.
#[derive(Clone, Debug)]
pub enum On {
    /// An aged file system, and an unaged copy of it beside.
    Aged {
        /// Its work directory, whose store keeps the results.
        work: PathBuf,
        /// Its name there.
        name: String,
    },
    /// A directory, an image, a device or a modelled disk, alone.
    Alone {
        /// Where it is.
        path: PathBuf,
        /// The work directory whose store keeps the results; they are only told if there is none.
        work: Option<PathBuf>,
    },
}

impl On {
    /// The work directory whose store keeps the results.
    pub(crate) fn work(&self) -> Option<&Path> {
        match self {
            On::Aged { work, .. } => Some(work),
            On::Alone { work, .. } => work.as_deref(),
        }
    }
}

/// What a benchmark does to the file systems.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It reads files.
    Reads,
    /// It overwrites files that are there.
    Overwrites,
    /// It makes files, and deletes them.
    Makes,
}

/// One benchmark to be run.
pub(crate) struct Task<'a> {
    /// Its name.
    pub(crate) benchmark: &'static str,
    pub(crate) on: &'a On,
    pub(crate) access: Access,
    /// The model whose time is told: a built-in name or a TOML file. Without one it is that of the disk below, or else
    /// [`HDD_MODEL`].
    pub(crate) disk: Option<&'a str>,
    /// How it is to be run, for the record.
    pub(crate) options: serde_json::Value,
    pub(crate) command: &'a str,
}

/// One side.
pub(crate) struct Side<'a> {
    /// Its name in the store: `aged`, `unaged`, or empty where there is only one.
    pub(crate) subject: &'static str,
    target: &'a mut dyn Target,
    disk_bytes: Option<u64>,
}

/// The sides of a benchmark that runs.
pub(crate) struct Sides<'a> {
    /// The one side, or the aged and the unaged one.
    pub(crate) sides: Vec<Side<'a>>,
    pub(crate) session: &'a Arc<Session>,
    /// The model whose time is told.
    pub(crate) model: Model,
    pub(crate) watch: &'a mut dyn Watch,
    /// Whether the sides lie on the same disk.
    same_disk: bool,
    traced: bool,
    recording: Option<(&'a Store, RunId)>,
    name: String,
}

/// What a benchmark gave, and how what it ran on was kept.
pub(crate) struct Done<T> {
    pub(crate) name: String,
    pub(crate) kept: Restored,
    pub(crate) gave: T,
}

/// Opens what the benchmark runs on, runs `body` on it, and makes it what it was.
pub(crate) fn run<T>(
    task: &Task,
    watch: &mut dyn Watch,
    body: impl FnOnce(&mut Sides) -> Result<T, Error>,
) -> Result<Done<T>, Error> {
    let (place, work) = match task.on {
        On::Aged { work, name } => {
            clean_first(work, name, watch)?;
            let manifest = Manifest::load_aged(work, name)?.into();
            (Place::Aged { work, manifest }, Some(work))
        }
        On::Alone { path, work } => {
            clean_alone(path, watch)?;
            (Place::Alone(path), work.as_ref())
        }
    };
    task.disk.map(Model::find).transpose()?;
    let session = Session::begin()?;
    let work = work.map(|dir| Work::take(dir)).transpose()?;
    let opened = place.open(&session, task.access)?;
    let store = work.as_ref().map(Work::store).transpose()?;
    if let Some(work) = &work {
        work.keep();
    }
    let run = store.as_ref().map(|store| begin(store, task, &place)).transpose()?;
    let recording = store.as_ref().zip(run);
    let running = Running { task, place: &place, session: &session, recording };
    let result = match &store {
        Some(store) => running.on(opened, &mut store.noted(watch), body),
        None => running.on(opened, watch, body),
    };
    if let Some((store, run)) = recording {
        store.end_by(run, &result)?;
    }
    result
}

/// Makes what is named by its path what it was, if a benchmark that was killed has left it otherwise.
pub(crate) fn clean_alone(path: &Path, watch: &mut dyn Watch) -> Result<(), Error> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    clean_first(path.parent().unwrap_or(Path::new("")), &name, watch)
}

/// Begins the run in the store.
fn begin(store: &Store, task: &Task, place: &Place) -> Result<RunId, Error> {
    let run = store.begin(&NewRun {
        kind: "probe",
        name: &place.name(),
        command: task.command,
        seed: None,
        parameters: serde_json::json!({
            "benchmark": task.benchmark, "disk": task.disk, "options": task.options,
        }),
    })?;
    if let Place::Aged { manifest, .. } = place {
        store.record_document(run, "", "manifest", manifest)?;
    }
    Ok(run)
}

/// What a benchmark runs on, as it was found.
enum Place<'a> {
    Aged { work: &'a Path, manifest: Box<Manifest> },
    Alone(&'a Path),
}

/// The first side, opened.
struct Opened {
    keeping: Keeping,
    /// The directory that all is made in, below a directory that is not ours.
    _scratch: Option<Scratch>,
}

impl Place<'_> {
    /// What it is, for people.
    fn name(&self) -> String {
        match self {
            Place::Aged { manifest, .. } => manifest.name.clone(),
            Place::Alone(path) => path.display().to_string(),
        }
    }

    fn open(&self, session: &Arc<Session>, access: Access) -> Result<Opened, Error> {
        let open = |made: &Made, notes: &Path, name: &str| match access {
            Access::Reads => Keeping::read_only(session, made),
            Access::Overwrites | Access::Makes => Keeping::open(session, notes, name, made),
        };
        let path = match self {
            Place::Aged { work, manifest } => {
                let keeping = open(&manifest.made, work, &manifest.name)?;
                return Ok(Opened { keeping, _scratch: None });
            }
            Place::Alone(path) => std::fs::canonicalize(path).map_err(Error::io("opening", path))?,
        };
        if let Some(made) = Made::found(&path)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let keeping = match &made.home {
                // There is no directory of ours to save an image of it in.
                Home::Device(_) if access != Access::Reads => Keeping::as_it_is(session, &made)?,
                _ => open(&made, path.parent().unwrap_or(Path::new("/")), &name)?,
            };
            return Ok(Opened { keeping, _scratch: None });
        }
        let makes = access == Access::Makes;
        let scratch = makes.then(|| Scratch::make(session, &path, SCRATCH)).transpose()?;
        let target = DirTarget::any(scratch.as_ref().map_or(path.as_path(), Scratch::path))?;
        Ok(Opened { keeping: Keeping::of_dir(session, target, access != Access::Reads), _scratch: scratch })
    }
}

/// A benchmark on its way.
struct Running<'a> {
    task: &'a Task<'a>,
    place: &'a Place<'a>,
    session: &'a Arc<Session>,
    recording: Option<(&'a Store, RunId)>,
}

impl Running<'_> {
    /// Runs `body` and makes all what it was, whatever comes of it.
    fn on<T>(
        &self,
        mut opened: Opened,
        watch: &mut dyn Watch,
        body: impl FnOnce(&mut Sides) -> Result<T, Error>,
    ) -> Result<Done<T>, Error> {
        let name = self.place.name();
        let measured = self.sides(opened.keeping.target(), watch, body);
        let kept = opened.keeping.restore()?;
        match measured {
            Err(_) if disk::interrupted() => Err(Error::Interrupted(kept.said_of(&name))),
            measured => Ok(Done { name, kept, gave: measured? }),
        }
    }

    /// Runs `body` on all sides, of which `target` is the first.
    fn sides<T>(
        &self,
        target: &mut dyn Target,
        watch: &mut dyn Watch,
        body: impl FnOnce(&mut Sides) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let model = match (self.task.disk, target.modelled()) {
            (Some(name), _) => Model::find(name)?,
            (None, Some(disk)) => disk.model()?,
            (None, None) => Model::find(HDD_MODEL)?,
        };
        let traced = probe::blocktrace::available();
        if let (Err(why), None) = (&traced, target.modelled()) {
            watch.say(&format!("no modelled time: block requests cannot be traced: {why}"));
        }
        let (mut unaged, same_disk) = match self.place {
            Place::Aged { work, manifest } => {
                let Manifest { name, made, fill, .. } = &**manifest;
                watch.phase(&format!("{name}: copying to a fresh file system"), None);
                let unaged = unaged::make(self.session, work, name, made, *fill, target)?;
                (Some(unaged), !matches!(made.home, Home::Device(_)))
            }
            Place::Alone(_) => (None, true),
        };
        let sides = match &mut unaged {
            Some(unaged) => {
                vec![Side::of(SUBJECTS[0], target), Side::of(SUBJECTS[1], unaged.target_mut())]
            }
            None => vec![Side::of("", target)],
        };
        let measured = body(&mut Sides {
            sides,
            session: self.session,
            model,
            watch,
            same_disk,
            traced: traced.is_ok(),
            recording: self.recording,
            name: self.place.name(),
        });
        let removed = unaged.map_or(Ok(()), Unaged::remove);
        measured.and_then(|measured| removed.map(|()| measured))
    }
}

impl<'a> Side<'a> {
    fn of(subject: &'static str, target: &'a mut dyn Target) -> Side<'a> {
        Side { subject, disk_bytes: device_bytes(target), target }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &'static str {
        if self.subject.is_empty() { "alone" } else { self.subject }
    }

    /// The file system.
    pub(crate) fn target(&self) -> &dyn Target {
        self.target
    }
}

impl Sides<'_> {
    /// Does something `runs` times on every side; what it gave, by side. `what` it is is for people; repetitions count from 1.
    pub(crate) fn repeat<T>(
        &mut self,
        what: &str,
        runs: u64,
        mut work: impl FnMut(&mut Self, usize, u64) -> Result<T, Error>,
    ) -> Result<Vec<Vec<T>>, Error> {
        let mut gave: Vec<Vec<T>> = self.sides.iter().map(|_| Vec::new()).collect();
        let mut order: Vec<usize> = (0..gave.len()).collect();
        self.watch.phase(&format!("{}: {what}", self.name), Some(runs * gave.len() as u64));
        let mut done = 0;
        for repetition in 1..=runs {
            for &side in &order {
                gave[side].push(work(self, side, repetition)?);
                done += 1;
                self.watch.at(done);
            }
            // Each repetition begins with the other side, so that a drift of the machine meets both.
            order.reverse();
        }
        Ok(gave)
    }

    /// Does a phase on a side from a cold cache, and records its rates; `what` is how the names of the numbers begin.
    pub(crate) fn cold(
        &mut self,
        side: usize,
        what: &str,
        repetition: u64,
        phase: impl FnOnce(&dyn Target) -> Result<Transfer, Error>,
    ) -> Result<Once, Error> {
        let side = &mut self.sides[side];
        side.target.chill()?;
        let once = once(side.target, self.traced, &self.model, side.disk_bytes, phase)?;
        if let Some((store, run)) = self.recording {
            store.record_all(run, &once.numbers(side.subject, what, repetition))?;
        }
        Ok(once)
    }

    /// Aged over unaged, of the rates of all sides; none where there is one.
    pub(crate) fn ratio(&self, rates: &[Rates]) -> Option<Ratios> {
        match rates {
            [aged, unaged] => Some(Ratios::of(aged, unaged, self.same_disk)),
            _ => None,
        }
    }

    /// Records numbers.
    pub(crate) fn record(&self, numbers: &[Measurement]) -> Result<(), results::Error> {
        self.recording.map_or(Ok(()), |(store, run)| store.record_all(run, numbers))
    }

    /// Records all that the benchmark gave.
    pub(crate) fn record_document(&self, name: &str, body: &impl Serialize) -> Result<(), results::Error> {
        self.recording.map_or(Ok(()), |(store, run)| store.record_document(run, "", name, body))
    }
}
