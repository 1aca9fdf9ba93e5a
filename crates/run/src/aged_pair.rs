//! The driver of all benchmarks on an aged file system and its unaged copy, or on a single file system. It opens the sides, makes the copy,
//! alternates which side goes first, stores each result immediately, and rolls back what was written to.

mod open;
mod recording;
mod turn;

pub use turn::Turn;

use crate::Error;
use crate::compare::unaged::Unaged;
use crate::rollback::{Restored, RollbackGuard};
use crate::scanned::HDD_MODEL;
use crate::throughput::{Rates, Ratios};
use crate::work::Work;
use disk::{Model, Session};
use fs::Target;
use open::{Found, Opened};
use recording::Recording;
use results::{Measurement, NewRun, RunId, Store, Watch};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The subject of a measurement.
#[derive(Clone, Debug)]
pub enum Subject {
    /// An aged file system, and its unaged copy unless that is left out.
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
}

impl Subject {
    fn work(&self) -> Option<&Path> {
        match self {
            Subject::Aged { work, .. } => Some(work),
            Subject::Alone { work, .. } => work.as_deref(),
        }
    }
}

/// The access of a measurement to the file systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads files.
    Reads,
    /// Overwrites existing files.
    Overwrites,
    /// Creates files, in separate directories.
    Creates,
}

/// The source of the time of a modelled disk.
#[derive(Clone, Copy, Debug)]
pub enum Timing<'a> {
    /// Requests are recorded, and a disk model computes their time: the named one, a built-in or a TOML file; otherwise that of the disk
    /// below, or [`HDD_MODEL`].
    Priced(Option<&'a str>),
    /// Modelled disks sleep their service times. An image is copied to a disk of the named model.
    Slept(Option<&'a str>),
}

impl<'a> Timing<'a> {
    fn model(self) -> Option<&'a str> {
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
    /// Whether the unaged copy of an aged file system is measured too.
    pub unaged: bool,
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
            run: Some(RunPlan { kind: "probe", seed: None, parameters, command }),
            subject,
            unaged: true,
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
        unaged: bool,
        disk: Option<&'a str>,
    ) -> Plan<'a> {
        Plan { run, subject, unaged, access: Access::Creates, rewinds: true, timing: Timing::Slept(disk) }
    }
}

/// A run in the store.
pub struct RunPlan<'a> {
    /// Kind of the run in the store.
    pub kind: &'static str,
    /// The random seed, if any.
    pub seed: Option<u64>,
    /// All parameters, as JSON.
    pub parameters: serde_json::Value,
    /// The full command line.
    pub command: &'a str,
}

/// The result of a measurement.
pub struct Measured<T> {
    /// Name of the aged file system, or path of a single one.
    pub name: String,
    /// How the file system was rolled back.
    pub restored: Restored,
    /// Model of the modelled disk below; `None` on a disk of this machine.
    pub disk: Option<String>,
    /// What was measured.
    pub result: T,
}

/// The file systems of a measurement.
pub struct AgedPair<'a> {
    /// Name of the aged file system, or path of a single one.
    pub name: String,
    /// The session that cleans up after a kill.
    pub session: &'a Arc<Session>,
    /// Receives the progress.
    pub watch: &'a mut dyn Watch,
    /// The model that computes the cost of requests.
    pub model: Model,
    store: Option<&'a Store>,
    recording: Recording<'a>,
    /// The aged or only side comes first.
    sides: Vec<Side>,
    rewinds: bool,
    same_disk: bool,
    traced: bool,
}

/// A side.
struct Side {
    /// Its name in the store: `aged`, `unaged`, or empty if there is only one.
    subject: &'static str,
    guard: RollbackGuard,
}

/// The name of a side for users.
pub fn named(subject: &'static str) -> &'static str {
    if subject.is_empty() { "alone" } else { subject }
}

/// Opens the file systems, runs `body` on them, and rolls them back, regardless of the result.
pub fn measure<T>(
    plan: &Plan,
    watch: &mut dyn Watch,
    body: impl FnOnce(&mut AgedPair) -> Result<T, Error>,
) -> Result<Measured<T>, Error> {
    plan.timing.model().map(Model::find).transpose()?;
    let found = Found::find(plan, watch)?;
    let session = Session::begin()?;
    let work = plan.subject.work().map(Work::take).transpose()?;
    let opened = found.open(plan, &session, watch)?;
    let store = work.as_ref().map(Work::store).transpose()?;
    if let Some(work) = &work {
        work.keep();
    }
    let run = store.as_ref().zip(plan.run.as_ref());
    let run = run.map(|(store, run)| begin(store, run, &found)).transpose()?;
    let mut recorded = store.as_ref().map(|store| store.record_progress(&mut *watch));
    let watch: &mut dyn Watch = match &mut recorded {
        Some(recorded) => recorded,
        None => watch,
    };
    let open = OpenPlan { plan, name: found.name(), session: &session, store: store.as_ref(), run };
    let result = open.run(opened, watch, body);
    if let (Some(store), Some(run)) = (&store, run) {
        store.end_with(run, &result)?;
    }
    result
}

fn begin(store: &Store, plan: &RunPlan, found: &Found) -> Result<RunId, Error> {
    let run = store.begin(&NewRun {
        kind: plan.kind,
        name: &found.name(),
        command: plan.command,
        seed: plan.seed,
        parameters: plan.parameters.clone(),
    })?;
    if let Found::Aged { manifest, .. } = found {
        store.record_document(run, "", "manifest", manifest)?;
    }
    Ok(run)
}

/// A plan with open file systems.
struct OpenPlan<'a> {
    plan: &'a Plan<'a>,
    name: String,
    session: &'a Arc<Session>,
    store: Option<&'a Store>,
    run: Option<RunId>,
}

impl OpenPlan<'_> {
    fn run<T>(
        self,
        opened: Opened,
        watch: &mut dyn Watch,
        body: impl FnOnce(&mut AgedPair) -> Result<T, Error>,
    ) -> Result<Measured<T>, Error> {
        let Opened { mut sides, unaged, same_disk, scratch } = opened;
        let first = sides[0].guard.target();
        let own = first.modelled().map(|disk| disk.model()).transpose()?;
        let disk = own.as_ref().map(|model| model.name().to_owned());
        let model = match (self.plan.timing, own) {
            (Timing::Priced(Some(name)), _) => Model::find(name)?,
            (_, Some(own)) => own,
            (_, None) => Model::find(HDD_MODEL)?,
        };
        let traced = probe::blocktrace::available();
        if let (Err(why), Timing::Priced(_), None) = (&traced, self.plan.timing, &disk) {
            watch.say(&format!("no modelled time: block requests cannot be traced: {why}"));
        }
        let mut pair = AgedPair {
            name: self.name.clone(),
            session: self.session,
            watch,
            model,
            store: self.store,
            recording: Recording(self.store.zip(self.run)),
            sides,
            rewinds: self.plan.rewinds,
            same_disk,
            traced: traced.is_ok(),
        };
        let result = body(&mut pair);
        let AgedPair { sides, watch, .. } = pair;
        let mut sides = sides.into_iter();
        let aged = sides.next().expect("there is a side").guard;
        // The unaged copy is removed, so it need not be rolled back.
        drop(sides);
        let restored = aged.restore();
        drop(scratch);
        let removed = unaged.map_or(Ok(()), Unaged::remove);
        let restored = restored?;
        match result {
            Err(_) if disk::interrupted() => Err(Error::Interrupted(restored.message(&self.name))),
            Err(error) => {
                watch.say(&restored.message(&self.name));
                Err(error)
            }
            Ok(result) => removed.map(|()| Measured { name: self.name, restored, disk, result }),
        }
    }
}

impl AgedPair<'_> {
    /// The names of the sides in the store, and their file systems.
    pub fn targets(&self) -> impl Iterator<Item = (&'static str, &dyn Target)> {
        self.sides.iter().map(|side| (side.subject, side.guard.shared()))
    }

    /// Repeats `work` on every side. Returns the results by side; `what` is shown to users.
    pub fn each<T>(
        &mut self,
        what: &str,
        repetitions: u64,
        mut work: impl FnMut(&mut Turn) -> Result<T, Error>,
    ) -> Result<Vec<(&'static str, Vec<T>)>, Error> {
        let mut results: Vec<(&'static str, Vec<T>)> =
            self.sides.iter().map(|side| (side.subject, Vec::new())).collect();
        let mut order: Vec<usize> = (0..results.len()).collect();
        self.watch.phase(&format!("{}: {what}", self.name), Some(repetitions * results.len() as u64));
        let mut done = 0;
        for repetition in 1..=repetitions {
            for &side in &order {
                if self.rewinds && repetition > 1 {
                    self.sides[side].guard.rewind()?;
                }
                results[side].1.push(work(&mut self.turn(side, repetition))?);
                done += 1;
                self.watch.at(done);
            }
            // The next repetition starts with the other side, so that a drift of the machine affects both.
            order.reverse();
        }
        Ok(results)
    }

    fn turn(&mut self, side: usize, repetition: u64) -> Turn<'_> {
        let side = &mut self.sides[side];
        Turn {
            subject: side.subject,
            repetition,
            keeps_files: self.rewinds && !side.guard.is_cleaned_up(),
            target: side.guard.target(),
            session: self.session,
            watch: &mut *self.watch,
            store: self.store,
            recording: self.recording,
            model: &self.model,
            traced: self.traced,
        }
    }

    /// Ratios of the rates, aged over unaged; `None` if there is only one side.
    pub fn ratio(&self, rates: &[Rates]) -> Option<Ratios> {
        match rates {
            [aged, unaged] => Some(Ratios::of(aged, unaged, self.same_disk)),
            _ => None,
        }
    }

    /// Records measurements.
    pub fn record(&self, numbers: &[Measurement]) -> Result<(), results::Error> {
        self.recording.numbers(numbers)
    }

    /// Records a document of the run.
    pub fn record_document(&self, name: &str, body: &impl Serialize) -> Result<(), results::Error> {
        self.recording.document("", name, body)
    }
}
