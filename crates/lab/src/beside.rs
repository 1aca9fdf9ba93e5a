//! Benchmarks that write to a file system, aged beside unaged or alone: each repetition begins on what the file system was, and so
//! does whoever uses it afterwards.

use crate::Error;
use crate::compare::SUBJECTS;
use crate::compare::unaged::{self, Unaged};
use crate::kept::{Keeping, Restored, clean_first};
use crate::manifest::{Home, Made, Manifest};
use crate::sides::{On, clean_alone};
use crate::work::Work;
use disk::modelled::Clock;
use disk::{Model, Scratch, Session};
use fs::{DirTarget, Target};
use results::{Measurement, NewRun, RunId, Store, Watch};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of what a benchmark makes, below the root of the tree.
const PLACE: &str = "senesce-benchmark";

/// A benchmark that is to be run.
pub(crate) struct Bench<'a> {
    /// The kind of its run in the store.
    pub kind: &'static str,
    /// What it does, for people.
    pub what: &'a str,
    pub on: &'a On,
    /// Whether an aged file system is compared with an unaged copy of it.
    pub against: bool,
    /// The model of a disk that an aged image is put on: a built-in name or a TOML file.
    pub disk: Option<&'a str>,
    pub repeat: u64,
    pub seed: Option<u64>,
    /// All parameters, for the record.
    pub parameters: serde_json::Value,
    pub command: &'a str,
}

/// A side of it at a repetition.
pub(crate) struct Side<'a> {
    /// Its name in the store: `aged`, `unaged`, or empty where there is only one.
    pub subject: &'static str,
    /// From 1.
    pub repetition: u64,
    pub target: &'a mut dyn Target,
    /// An empty directory of its own.
    pub place: PathBuf,
    recording: Option<(&'a Store, RunId)>,
}

/// What it gave.
pub(crate) struct Measured<T> {
    /// What it ran on.
    pub name: String,
    pub kept: Restored,
    /// The model of the disk that it ran on, if that was a modelled one.
    pub disk: Option<String>,
    /// By side, in the order of the repetitions.
    pub sides: Vec<(&'static str, Vec<T>)>,
}

impl Side<'_> {
    /// Its name for people.
    pub fn name(&self) -> &'static str {
        named(self.subject)
    }

    /// Records numbers.
    pub fn record(&self, numbers: &[Measurement]) -> Result<(), results::Error> {
        self.recording.map_or(Ok(()), |(store, run)| store.record_all(run, numbers))
    }

    /// Records all that a repetition gave.
    pub fn record_document(&self, name: &str, body: &impl Serialize) -> Result<(), results::Error> {
        let name = format!("{name} {}", self.repetition);
        self.recording.map_or(Ok(()), |(store, run)| store.record_document(run, self.subject, &name, body))
    }
}

/// The name of a side for people.
pub(crate) fn named(subject: &'static str) -> &'static str {
    if subject.is_empty() { "alone" } else { subject }
}

/// Runs it: `each` is one repetition on one side.
pub(crate) fn run<T>(
    bench: &Bench,
    watch: &mut dyn Watch,
    each: &mut dyn FnMut(&mut Side) -> Result<T, Error>,
) -> Result<Measured<T>, Error> {
    bench.disk.map(Model::find).transpose()?;
    let place = Place::find(bench.on, watch)?;
    let session = Session::begin()?;
    let work = bench.on.work().map(Work::take).transpose()?;
    let ground = place.ground(bench, &session, watch)?;
    let store = work.as_ref().map(Work::store).transpose()?;
    if let Some(work) = &work {
        work.keep();
    }
    let begin = |store: &Store| begin(store, bench, &place);
    let recording = store.as_ref().map(|store| Ok::<_, Error>((store, begin(store)?))).transpose()?;
    let mut noted = store.as_ref().map(|store| store.noted(&mut *watch));
    let watch: &mut dyn Watch = match &mut noted {
        Some(noted) => noted,
        None => watch,
    };
    let result = ground.measure(bench, &place.name(), &session, recording, watch, each);
    if let Some((store, run)) = recording {
        store.end_by(run, &result)?;
    }
    result
}

fn begin(store: &Store, bench: &Bench, place: &Place) -> Result<RunId, Error> {
    let run = store.begin(&NewRun {
        kind: bench.kind,
        name: &place.name(),
        command: bench.command,
        seed: bench.seed,
        parameters: bench.parameters.clone(),
    })?;
    if let Place::Aged { manifest, .. } = place {
        store.record_document(run, "", "manifest", manifest)?;
    }
    Ok(run)
}

/// What it runs on, as it was found.
enum Place<'a> {
    Aged { work: &'a Path, manifest: Box<Manifest> },
    Alone { path: PathBuf, made: Option<Box<Made>> },
}

impl<'a> Place<'a> {
    fn find(on: &'a On, watch: &mut dyn Watch) -> Result<Place<'a>, Error> {
        Ok(match on {
            On::Aged { work, name } => {
                clean_first(work, name, watch)?;
                let manifest = Manifest::load_aged(work, name)?;
                manifest.made.may_be_written()?;
                Place::Aged { work, manifest: manifest.into() }
            }
            On::Alone { path, .. } => {
                let path = std::fs::canonicalize(path).map_err(Error::io("opening", path))?;
                clean_alone(&path, watch)?;
                let made = Made::found(&path)?;
                made.as_ref().map_or(Ok(()), Made::may_be_written)?;
                Place::Alone { path, made: made.map(Box::new) }
            }
        })
    }

    /// What it is, for people.
    fn name(&self) -> String {
        match self {
            Place::Aged { manifest, .. } => manifest.name.clone(),
            Place::Alone { path, .. } => path.display().to_string(),
        }
    }

    /// Opens all sides.
    fn ground(&self, bench: &Bench, session: &Arc<Session>, watch: &mut dyn Watch) -> Result<Ground, Error> {
        match self {
            Place::Aged { work, manifest } => {
                let unaged = || -> Result<Unaged, Error> {
                    watch.phase(&format!("{}: copying to a fresh file system", manifest.name), None);
                    unaged_of(session, work, manifest, bench.disk)
                };
                let unaged = bench.against.then(unaged).transpose()?;
                watch.phase(&format!("{}: preparing", manifest.name), None);
                let aged = opened(session, work, &manifest.name, &manifest.made, bench.disk)?;
                Ground::of(session, aged, unaged)
            }
            Place::Alone { path, made: Some(made) } => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let dir = path.parent().unwrap_or(Path::new("/"));
                let alone = match (&made.home, bench.disk) {
                    // There is no directory of ours to save an image of it in.
                    (Home::Device(_), None) => Keeping::as_it_is(session, made)?,
                    _ => opened(session, dir, &name, made, bench.disk)?,
                };
                Ok(Ground::alone(alone))
            }
            Place::Alone { path, made: None } => {
                if bench.disk.is_some() {
                    return Err(no_disk(&format!("{} is a directory", path.display())));
                }
                Ok(Ground::alone(Keeping::of_dir(session, DirTarget::any(path)?, true)))
            }
        }
    }
}

/// Opens a file system to be written to: on a disk of this model, if one is named, or on its own, which sleeps its service times.
fn opened(
    session: &Arc<Session>,
    dir: &Path,
    name: &str,
    made: &Made,
    disk: Option<&str>,
) -> Result<Keeping, Error> {
    match (&made.home, disk) {
        (Home::Image(image), Some(model)) => Keeping::on_disk(session, made, image, model),
        (Home::Modelled { dir: store, .. }, Some(model))
            if disk::modelled::model_of(store)? != Model::find(model)? =>
        {
            Err(no_disk(&format!("{name} is already on another modelled disk")))
        }
        (Home::Device(_) | Home::Dir(_), Some(_)) => Err(no_disk(&format!("{name} is not an image"))),
        _ => Keeping::open(session, dir, name, &by(made, Clock::Real)),
    }
}

fn no_disk(why: &str) -> Error {
    Error::Refused(format!("{why}, but only images can be put on a modelled disk: leave --disk out"))
}

/// The same with this clock, if it is on a modelled disk.
fn by(made: &Made, clock: Clock) -> Made {
    match &made.home {
        Home::Modelled { dir, model, .. } => {
            let home = Home::Modelled { dir: dir.clone(), model: model.clone(), clock };
            Made { home, ..made.clone() }
        }
        _ => made.clone(),
    }
}

/// The unaged copy of an aged file system, closed. Making it takes no modelled time.
fn unaged_of(
    session: &Arc<Session>,
    work: &Path,
    manifest: &Manifest,
    disk: Option<&str>,
) -> Result<Unaged, Error> {
    let Manifest { name, made, fill, .. } = manifest;
    let made = by(made, Clock::Model);
    let mut reader = Keeping::read_only(session, &made)?;
    let mut unaged = match (&made.home, disk) {
        (Home::Image(image), Some(model)) => {
            unaged::make_on_disk(session, image, name, &made, model, *fill, reader.target())?
        }
        _ => unaged::make(session, work, name, &made, *fill, reader.target())?,
    };
    unaged.close()?;
    reader.restore()?;
    Ok(unaged)
}

/// The file systems that a benchmark runs on.
pub(crate) struct Ground {
    // The aged one or the only one is first.
    sides: Vec<(&'static str, Keeping)>,
    unaged: Option<Unaged>,
}

impl Ground {
    fn alone(keeping: Keeping) -> Ground {
        Ground { sides: vec![("", keeping)], unaged: None }
    }

    /// An aged side, and an unaged one that is closed.
    pub fn of(session: &Arc<Session>, aged: Keeping, unaged: Option<Unaged>) -> Result<Ground, Error> {
        let mut ground = Ground { sides: vec![(SUBJECTS[0], aged)], unaged };
        match &mut ground.unaged {
            Some(unaged) => {
                let made = by(unaged.close()?, Clock::Real);
                ground.sides.push((SUBJECTS[1], Keeping::spare(session, &made)?));
            }
            None => ground.sides[0].0 = "",
        }
        Ok(ground)
    }

    /// Runs all repetitions on all sides, and makes all what it was, whatever comes of it.
    pub fn measure<T>(
        mut self,
        bench: &Bench,
        name: &str,
        session: &Arc<Session>,
        recording: Option<(&Store, RunId)>,
        watch: &mut dyn Watch,
        each: &mut dyn FnMut(&mut Side) -> Result<T, Error>,
    ) -> Result<Measured<T>, Error> {
        let model = self.sides[0].1.target().modelled().map(|disk| disk.model()).transpose()?;
        let measured = self.repeat(bench, name, session, recording, watch, each);
        let subjects: Vec<&'static str> = self.sides.iter().map(|(subject, _)| *subject).collect();
        let mut sides = self.sides.into_iter();
        let (_, first) = sides.next().expect("there is a side");
        // The unaged one goes, so that it need not be what it was.
        drop(sides);
        let kept = first.restore();
        let removed = self.unaged.map_or(Ok(()), Unaged::remove);
        let kept = kept?;
        match measured {
            Err(_) if disk::interrupted() => Err(Error::Interrupted(kept.said_of(name))),
            Err(error) => {
                watch.say(&kept.said_of(name));
                Err(error)
            }
            Ok(measured) => {
                let sides = subjects.into_iter().zip(measured).collect();
                removed?;
                let disk = model.map(|model| model.name().to_owned());
                Ok(Measured { name: name.to_owned(), kept, disk, sides })
            }
        }
    }

    fn repeat<T>(
        &mut self,
        bench: &Bench,
        name: &str,
        session: &Arc<Session>,
        recording: Option<(&Store, RunId)>,
        watch: &mut dyn Watch,
        each: &mut dyn FnMut(&mut Side) -> Result<T, Error>,
    ) -> Result<Vec<Vec<T>>, Error> {
        let mut gave: Vec<Vec<T>> = self.sides.iter().map(|_| Vec::new()).collect();
        let mut order: Vec<usize> = (0..gave.len()).collect();
        for repetition in 1..=bench.repeat {
            for &at in &order {
                let (subject, keeping) = &mut self.sides[at];
                let title =
                    format!("{name}: {}, {} {repetition} of {}", bench.what, named(subject), bench.repeat);
                watch.phase(&title, None);
                if repetition > 1 {
                    keeping.rewind()?;
                }
                let cleaned_up = keeping.is_cleaned_up();
                let target = keeping.target();
                let scratch = cleaned_up.then(|| Scratch::make(session, target.root(), PLACE)).transpose()?;
                let place = match &scratch {
                    Some(scratch) => scratch.path().to_owned(),
                    None => made_in(target.root())?,
                };
                let mut side = Side { subject, repetition, target, place, recording };
                gave[at].push(each(&mut side)?);
            }
            // Each repetition begins with the other side, so that a drift of the machine meets both.
            order.reverse();
        }
        Ok(gave)
    }
}

/// A new directory that goes when the file system is made what it was.
fn made_in(root: &Path) -> Result<PathBuf, Error> {
    let place = root.join(PLACE);
    std::fs::create_dir(&place).map_err(Error::io("creating", &place))?;
    Ok(place)
}
