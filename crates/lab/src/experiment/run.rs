//! Runs an experiment: cell after cell, each on file systems of its own in images; what fails is named, and the rest goes
//! on.

use super::gather::{checkpoints, gather};
use super::images;
use super::laboratory;
use super::metadata;
use super::outcome::{FailedCell, Outcome};
use super::personality;
use super::plan::{Job, Plan, Work};
use super::profiled;
use super::spec::Experiment;
use super::standing;
use super::transfer;
use super::verification;
use crate::Error;
use crate::compare_runs::CHECKPOINTS;
use crate::manifest::Home;
use crate::series::Series;
use crate::workload::interrupted;
use disk::Session;
use results::{NewRun, PartialResults, RunId, Store, StoreAt, Watch};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The experiment.
    pub experiment: Experiment,
    /// Its scale.
    pub scale: String,
    /// The work directory.
    pub work: PathBuf,
    /// Where results are kept; the store of the work directory if nothing else is named.
    pub store: Option<StoreAt>,
    /// Whether checkpoints that are in the store are taken from there.
    pub resume: bool,
    /// What carries out a run of the metadata benchmark in a process of its own: a command that calls
    /// [`bench::metadata::apart`].
    pub apart: fn() -> Command,
    /// The full command line, for the record.
    pub command: String,
}

impl RunSpec {
    /// Plans it, or refuses what cannot be run, as far as that can be told before anything is made.
    pub fn plan(&self) -> Result<Plan<'_>, Error> {
        Plan::new(self)
    }
}

/// Carries out the plan of an experiment. Each number is in the store as soon as it is known.
pub fn run(plan: &Plan, watch: &mut dyn Watch) -> Result<Outcome, Error> {
    let spec = plan.spec;
    let work = crate::Work::take(&spec.work)?;
    let store = spec.store.as_ref().map_or_else(|| work.store(), StoreAt::open)?;
    let figure = &spec.experiment.figure;
    let new = NewRun {
        kind: super::KIND,
        name: figure,
        command: &spec.command,
        seed: None,
        parameters: standing::parameters(&spec.experiment, &spec.scale),
    };
    let Some(run) = store.begin_alone(&new, |run| standing::is_at(run, &spec.scale))? else {
        return Err(Error::Busy(format!(
            "{figure} at scale {} is already running in another process with this store; wait for it",
            spec.scale
        )));
    };
    work.keep();
    let outcome = run_jobs(plan, &store, run, &mut store.noted(watch));
    store.end_by(run, &outcome)?;
    outcome
}

/// Runs all jobs. What they have measured so far is in the store as the outcome of the run, whenever it ends.
fn run_jobs(plan: &Plan, store: &Store, run: RunId, watch: &mut dyn Watch) -> Result<Outcome, Error> {
    let (spec, of) = (plan.spec, plan.jobs.len());
    take_down_what_is_left(watch);
    let session = Session::begin()?;
    // What was measured before takes no time now: to count it as steps done would promise an end that does not come.
    let to_do: Vec<bool> = plan
        .jobs
        .iter()
        .map(|job| Ok(!spec.resume || !is_measured(plan, job, store)?))
        .collect::<Result<_, Error>>()?;
    let (mut done, steps) = (0, to_do.iter().filter(|to_do| **to_do).count() as u64);
    let (begun, failed) = (Cell::new(0), RefCell::new(Vec::new()));
    let gathered = || {
        let jobs = &plan.jobs[..begun.get()];
        let outcome = gather(plan, jobs, store, failed.borrow().clone())?;
        store.record_document(run, "", CHECKPOINTS, &checkpoints(plan, jobs, store)?)?;
        store.record_document(run, "", super::OUTCOME, &outcome)?;
        Ok(outcome)
    };
    // One that cannot be drawn up now is drawn up in the end, or says then why not.
    let watch = &mut PartialResults::new(watch, || drop(gathered()));
    let start = Instant::now();
    for (at, (job, to_do)) in plan.jobs.iter().zip(to_do).enumerate() {
        begun.set(at + 1);
        watch.steps(done, steps);
        // Cells take about as long as each other.
        let left_s = start.elapsed().as_secs_f64() / done as f64 * (steps - done) as f64;
        let eta = if done == 0 { String::new() } else { format!(", about {left_s:.0} s left") };
        let figure = &spec.experiment.figure;
        watch.say(&format!("== {figure} {}: {} ({} of {of}{eta})", spec.scale, job.name(), at + 1));
        match run_job(plan, job, store, &session, watch) {
            Ok(()) => {}
            // Whatever was being done then says in its own way that it was broken off.
            Err(_) if disk::interrupted() => return Err(interrupted()),
            Err(e) => {
                watch.say(&format!("{} failed: {e}", job.name()));
                failed.borrow_mut().push(FailedCell { cell: job.name().to_owned(), why: e.to_string() });
            }
        }
        done += u64::from(to_do);
        watch.measured();
    }
    gathered()
}

/// Takes down what killed runs have left: their images take the memory that those of this run need.
fn take_down_what_is_left(watch: &mut dyn Watch) {
    match disk::cleanup() {
        Ok(cleaned) => {
            cleaned
                .undone
                .iter()
                .for_each(|done| watch.say(&format!("cleaned up after a killed run: {done}")));
            cleaned.failed.iter().for_each(|why| watch.say(&format!("cleanup failed: {why}")));
        }
        // This run may go well all the same.
        Err(why) => watch.say(&format!("cleanup failed: {why}")),
    }
}

/// Whether any checkpoint of a plan is in the store.
pub(super) fn has_checkpoints(plan: &Plan, store: &Store) -> Result<bool, Error> {
    for job in &plan.jobs {
        for at in plan.schedule.checkpoints() {
            if job.identity.find(store, at)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether all of a job is in the store.
fn is_measured(plan: &Plan, job: &Job, store: &Store) -> Result<bool, Error> {
    for at in plan.schedule.checkpoints() {
        if job.identity.find(store, at)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn run_job(
    plan: &Plan,
    job: &Job,
    store: &Store,
    session: &Arc<Session>,
    watch: &mut dyn Watch,
) -> Result<(), Error> {
    let Plan { spec, scale, schedule, models, untraced, .. } = plan;
    let identity = &job.identity;
    if !spec.resume {
        identity.forget(store, schedule)?;
    }
    let images = || images::make(session, &spec.work, scale.size_bytes);
    match &job.work {
        Work::Disk { named, model, seed } => {
            let images = images()?;
            let images = images.path();
            transfer::Alone { scale, store, session, identity, command: &spec.command, images, watch }
                .measure(named, model, *seed)
        }
        Work::Metadata { cell, named, model } => {
            let images = images()?;
            metadata::Measuring {
                cell,
                disk: named,
                model: model.name(),
                scale,
                store,
                session,
                identity,
                apart: spec.apart,
                command: &spec.command,
                images: images.path(),
                watch,
            }
            .run()
        }
        Work::Laboratory(cell) => {
            laboratory::Simulating { cell, scale, store, identity, models, command: &spec.command, watch }
                .run()
        }
        Work::Verification(cell) => {
            let images = images()?;
            let images = images.path();
            let command = &spec.command;
            verification::Verifying { cell, scale, store, session, identity, command, images, watch }.run()
        }
        Work::Personality(cell) => {
            let images = images()?;
            let disks: Vec<_> = spec.experiment.disks.iter().cloned().zip(models.iter().cloned()).collect();
            let (command, images) = (&spec.command, images.path());
            personality::Serving { cell, scale, store, identity, disks: &disks, command, images, watch }.run()
        }
        Work::Profiled(cell) => {
            let images = images()?;
            let images = images.path();
            let command = &spec.command;
            profiled::Profiling { cell, scale, store, session, identity, command, images, watch }.run()
        }
        Work::Cell(cell) => {
            if let Some(why) = untraced {
                let name = job.name();
                watch.say(&format!("{name}: no modelled costs: block requests cannot be traced: {why}"));
            }
            let images = images()?;
            let home = Home::Image(images.path().join("aged.img"));
            let mut series = Series {
                session,
                store,
                identity,
                command: &spec.command,
                work: &spec.work,
                made: cell.made(scale.size_bytes, home, cell.task.inodes()?)?,
                erase: None,
                workload: &cell.task,
                seed: cell.seed,
                schedule,
                models,
                watch,
            };
            series.run()
        }
    }
}
