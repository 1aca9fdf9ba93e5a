//! The driver of all benchmarks on an aged file system and an unaged one, or on a single file system. It makes the unaged one, opens the sides,
//! alternates which side goes first, stores each result immediately, and rolls back what was written to.

mod open;
mod plan;
mod recording;
mod side;
mod turn;

pub use plan::{Access, Plan, RunPlan, Subject, Timing, UnagedSide};
pub use turn::Turn;

use crate::Error;
use crate::compare::unaged::Unaged;
use crate::error::interrupted;
use crate::manifest::Manifest;
use crate::rollback::Restored;
use crate::scanned::HDD_MODEL;
use crate::throughput::{Rates, Ratios};
use crate::work::Work;
use disk::{Model, Session};
use fs::{Location, Target, VolumeConfig};
pub(crate) use open::Found;
use open::{Opened, check_device};
use recording::Recording;
use results::{Measure, Measurement, NewRun, RunId, Store, Watch};
use serde::Serialize;
use side::{FileSystem, Side};
use std::path::Path;
use std::sync::Arc;

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

impl<T> Measured<T> {
    /// The same measurement with another form of the result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Measured<U> {
        let Measured { name, restored, disk, result } = self;
        Measured { name, restored, disk, result: change(result) }
    }
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
    /// The aged file system; `None` for a directory of the user.
    pub volume: Option<&'a VolumeConfig>,
    /// The work directory.
    pub work: Option<&'a Path>,
    /// Whether files hold data.
    pub filled: bool,
    store: Option<&'a Store>,
    recording: Recording<'a>,
    /// The aged or only side comes first.
    sides: Vec<Side<'a>>,
    rewinds: bool,
    same_disk: bool,
    traced: bool,
}

/// Parts of a pair whose file systems are open.
pub struct OpenPair<'a> {
    /// Name for users.
    pub name: String,
    /// The session that cleans up after a kill.
    pub session: &'a Arc<Session>,
    /// Receives the progress.
    pub watch: &'a mut dyn Watch,
    /// The run that results are recorded in.
    pub run: (&'a Store, RunId),
    /// The model that computes the cost of requests.
    pub model: Model,
    /// The aged file system.
    pub volume: &'a VolumeConfig,
    /// The work directory.
    pub work: &'a Path,
    /// The sides by their names in the store; the aged or only side comes first.
    pub sides: Vec<(&'static str, &'a mut dyn Target)>,
}

/// The name of a side for users.
pub fn named(subject: &str) -> &str {
    if subject.is_empty() { "alone" } else { subject }
}

/// Opens the file systems, runs `body` on them, and rolls them back, regardless of the result.
pub fn measure<T>(
    plan: &Plan,
    watch: &mut dyn Watch,
    body: impl FnOnce(&mut AgedPair) -> Result<T, Error>,
) -> Result<Measured<T>, Error> {
    plan.timing.model().map(Model::find).transpose()?;
    let found = Found::find(plan.subject, watch)?;
    found.volume().map_or(Ok(()), |volume| check_device(volume, plan.timing))?;
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
    let open = OpenPlan { plan, found: &found, session: &session, store: store.as_ref(), run };
    let result = open.run(opened, watch, body);
    if let (Some(store), Some(run)) = (&store, run) {
        store.end_with(run, &result)?;
    }
    result
}

/// The run to record under: a new one, or the last incomplete one with the same parameters. It describes how its file system was aged.
pub(crate) fn begin(store: &Store, plan: &RunPlan, found: &Found) -> Result<RunId, Error> {
    let (name, manifest) = (found.name(), found.manifest());
    let mut parameters = plan.parameters.clone();
    if let Some(manifest) = manifest {
        parameters["aged_run"] = manifest.run.into();
    }
    let same = |run: &results::Run| {
        run.kind == plan.kind && run.name == name && run.state != "done" && run.parameters == parameters
    };
    if plan.resume
        && let Some(run) = store.runs()?.into_iter().rev().find(same)
    {
        store.resume(run.id)?;
        return Ok(run.id);
    }
    let seed = plan.seed.or_else(|| manifest.and_then(Manifest::seed));
    let new = NewRun { kind: plan.kind, name: &name, command: plan.command, seed, parameters };
    let run = store.begin(&new)?;
    if let Some(manifest) = manifest {
        store.record_document(run, "", "manifest", manifest)?;
        if let Some(aged) = store.document::<serde_json::Value>(manifest.run(), "", "aged")? {
            store.record_document(run, "", "aged", &aged)?;
        }
    }
    Ok(run)
}

/// A plan with open file systems.
struct OpenPlan<'a> {
    plan: &'a Plan<'a>,
    found: &'a Found<'a>,
    session: &'a Arc<Session>,
    store: Option<&'a Store>,
    run: Option<RunId>,
}

impl OpenPlan<'_> {
    /// Whether `--resume` continues the run.
    fn resumes(&self) -> bool {
        self.plan.access == Access::Samples
    }

    fn run<T>(
        self,
        opened: Opened,
        watch: &mut dyn Watch,
        body: impl FnOnce(&mut AgedPair) -> Result<T, Error>,
    ) -> Result<Measured<T>, Error> {
        let Opened { sides, unaged, same_disk, scratch } = opened;
        let name = self.found.name();
        let own = sides[0].1.shared().modelled().map(|disk| disk.model()).transpose()?;
        let disk = own.as_ref().map(|model| model.name().to_owned());
        let model = match (self.plan.timing, own) {
            (Timing::Priced(Some(name)), _) => Model::find(name)?,
            (_, Some(own)) if !own.costs_nothing() => own,
            (_, _) => Model::find(HDD_MODEL)?,
        };
        let traced = probe::blocktrace::available();
        if let (Err(why), Timing::Priced(_), None) = (&traced, self.plan.timing, &disk) {
            watch.say(&format!("no modelled time: block requests cannot be traced: {why}"));
        }
        let mut pair = AgedPair {
            name: name.clone(),
            session: self.session,
            watch,
            model,
            volume: self.found.volume(),
            work: self.plan.subject.work(),
            filled: self.found.manifest().is_none_or(|manifest| manifest.fill),
            store: self.store,
            recording: Recording(self.store.zip(self.run)),
            sides: sides
                .into_iter()
                .map(|(subject, guard)| Side { subject, file_system: FileSystem::Guarded(guard.into()) })
                .collect(),
            rewinds: self.plan.rewinds,
            same_disk,
            traced: traced.is_ok(),
        };
        let result = body(&mut pair);
        let AgedPair { sides, watch, .. } = pair;
        let mut sides = sides.into_iter();
        let aged = match sides.next().expect("there is a side").file_system {
            FileSystem::Guarded(aged) => aged,
            FileSystem::Open(_) => unreachable!("the file systems of a plan are guarded"),
        };
        // The unaged side is removed, so it need not be rolled back.
        drop(sides);
        let restored = aged.restore();
        drop(scratch);
        let removed = unaged.map_or(Ok(()), Unaged::remove);
        let restored = restored?;
        match result {
            Err(_) if disk::interrupted() && self.resumes() => Err(interrupted()),
            Err(_) if disk::interrupted() => Err(Error::Interrupted(restored.message(&name))),
            Err(error) => {
                if self.plan.access != Access::Samples {
                    watch.say(&restored.message(&name));
                }
                Err(error)
            }
            Ok(result) => removed.map(|()| Measured { name, restored, disk, result }),
        }
    }
}

impl<'a> AgedPair<'a> {
    /// A pair whose file systems are open, and stay so. Its files hold data.
    pub fn of_open(open: OpenPair<'a>) -> AgedPair<'a> {
        let OpenPair { name, session, watch, run, model, volume, work, sides } = open;
        let side = |(subject, target)| Side { subject, file_system: FileSystem::Open(target) };
        AgedPair {
            name,
            session,
            watch,
            model,
            volume: Some(volume),
            work: Some(work),
            filled: true,
            store: Some(run.0),
            recording: Recording(Some(run)),
            sides: sides.into_iter().map(side).collect(),
            rewinds: false,
            same_disk: !matches!(volume.location, Location::Device(_)),
            traced: probe::blocktrace::available().is_ok(),
        }
    }
}

impl AgedPair<'_> {
    /// The names of the sides in the store, and their file systems.
    pub fn targets(&self) -> impl Iterator<Item = (&'static str, &dyn Target)> {
        self.sides.iter().map(|side| (side.subject, side.shared()))
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
        self.alternate(what, repetitions, |side, turn| {
            results[side].1.push(work(turn)?);
            Ok(())
        })?;
        Ok(results)
    }

    /// Repeats `work`, which records `measure` last, on every side. Skips repetitions that the run already holds.
    pub fn record_each(
        &mut self,
        what: &str,
        repetitions: u64,
        measure: Measure,
        mut work: impl FnMut(&mut Turn) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let recorded = self.recording.recorded()?;
        self.alternate(what, repetitions, |_, turn| {
            let is_this = |number: &Measurement| {
                number.subject == turn.subject
                    && number.measure == measure.name
                    && number.repetition == turn.repetition
            };
            if recorded.iter().any(is_this) { Ok(()) } else { work(turn) }
        })
    }

    /// Gives each side, by its number, its turn in each repetition.
    fn alternate(
        &mut self,
        what: &str,
        repetitions: u64,
        mut act: impl FnMut(usize, &mut Turn) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.sides.len()).collect();
        self.watch.phase(&format!("{}: {what}", self.name), Some(repetitions * order.len() as u64));
        let mut done = 0;
        for repetition in 1..=repetitions {
            for &side in &order {
                if self.rewinds && repetition > 1 {
                    self.sides[side].rewind()?;
                }
                act(side, &mut self.turn(side, repetition))?;
                if disk::interrupted() {
                    return Err(interrupted());
                }
                done += 1;
                self.watch.at(done);
            }
            // The next repetition starts with the other side, so that a drift of the machine affects both.
            order.reverse();
        }
        Ok(())
    }

    fn turn(&mut self, side: usize, repetition: u64) -> Turn<'_> {
        let side = &mut self.sides[side];
        Turn {
            subject: side.subject,
            repetition,
            keeps_files: self.rewinds && !side.is_cleaned_up(),
            target: side.target(),
            session: self.session,
            watch: &mut *self.watch,
            store: self.store,
            volume: self.volume,
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

    /// The run that results are recorded in, if any.
    pub fn run(&self) -> Option<(&Store, RunId)> {
        self.recording.0
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
