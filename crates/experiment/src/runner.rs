//! Runs an experiment cell after cell, each on separate file systems in images. A failed cell is reported and the rest continues.

use super::aged_images::AgedImages;
use super::claim::Claim;
use super::gather::{checkpoints, gather};
use super::other_kernel::{self, OtherKernel};
use super::outcome::{FailedCell, Outcome};
use super::plan::{Job, Plan};
use super::spec::Experiment;
use super::standing;
use super::task::Measuring;
use disk::Session;
use results::{NewRun, PartialResults, RunId, Store, StoreLocation, Watch};
use run::CHECKPOINTS;
use run::Error;
use run::interrupted;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Parameters of an experiment run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The experiment.
    pub experiment: Experiment,
    /// Its scale.
    pub scale: String,
    /// The file systems whose cells are measured, of those of the experiment; all if empty. The others are read from the store.
    pub fs: Vec<String>,
    /// The work directory.
    pub work: PathBuf,
    /// Directory of the images; by default memory, or the work directory.
    pub image_dir: Option<PathBuf>,
    /// Result store; by default the store of the work directory.
    pub store: Option<StoreLocation>,
    /// Whether checkpoints that the store already holds are reused.
    pub resume: bool,
    /// Aged file systems of earlier experiments of this process; this one adds its own.
    pub aged_images: AgedImages,
    /// Command that runs the metadata benchmark in a separate process by calling [`bench::metadata::subprocess_main`].
    pub subprocess: fn() -> Command,
    /// Measures file systems that this kernel lacks.
    pub other_kernel: OtherKernel,
    /// The full command line, for the record.
    pub command: String,
}

impl RunSpec {
    /// Plans the run. Refuses what cannot run, as far as that is known before anything is created.
    pub fn plan(&self) -> Result<Plan<'_>, Error> {
        Plan::new(self)
    }

    /// The claims that hold in the last run of the experiment, if the store has one that ended.
    pub fn held(&self) -> Result<Vec<Claim>, Error> {
        match self.existing_store()? {
            Some(store) => standing::held(&store, &self.experiment.figure, &self.scale),
            None => Ok(Vec::new()),
        }
    }

    /// The result store, if it exists already.
    pub(super) fn existing_store(&self) -> Result<Option<Store>, Error> {
        let at = self.store.clone().unwrap_or_else(|| StoreLocation::of_work_dir(&self.work));
        Ok(at.open_if_exists()?)
    }
}

/// Executes the plan of an experiment. Each measurement is stored immediately.
pub fn run(plan: &Plan, watch: &mut dyn Watch) -> Result<Outcome, Error> {
    let spec = plan.spec;
    let failed_there = other_kernel::measure(plan, watch)?;
    let work = run::Work::take(&spec.work)?;
    let store = spec.store.as_ref().map_or_else(|| work.store(), StoreLocation::open)?;
    let figure = &spec.experiment.figure;
    let new = NewRun {
        kind: super::KIND,
        name: figure,
        command: &spec.command,
        seed: None,
        parameters: standing::parameters(&spec.experiment, &spec.scale),
    };
    let Some(run) = store.begin_exclusive(&new, |run| standing::is_at(run, &spec.scale))? else {
        return Err(Error::Busy(format!(
            "{figure} at scale {} is already running in another process with this store; wait for it",
            spec.scale
        )));
    };
    work.keep();
    let outcome = run_jobs(plan, &store, run, failed_there.as_deref(), &mut store.record_progress(watch));
    store.end_with(run, &outcome)?;
    outcome
}

/// Runs all jobs. Whenever the run ends, the store holds the outcome so far.
fn run_jobs(
    plan: &Plan,
    store: &Store,
    run: RunId,
    failed_there: Option<&str>,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    let (spec, of) = (plan.spec, plan.jobs.len());
    remove_leftovers(watch);
    let session = Session::begin()?;
    // Jobs measured before take no time now, so they do not count as steps: the estimated end would be wrong.
    let to_do: Vec<bool> = plan
        .jobs
        .iter()
        .map(|job| Ok(job.is_here() && (!spec.resume || !is_measured(plan, job, store)?)))
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
    // If the partial outcome fails, the final one reports the error.
    let watch = &mut PartialResults::new(watch, || drop(gathered()));
    let start = Instant::now();
    for (at, (job, to_do)) in plan.jobs.iter().zip(to_do).enumerate() {
        begun.set(at + 1);
        if !job.is_here() {
            if job.is_asked && !is_measured(plan, job, store)? {
                let why = job.why_not_here(failed_there);
                failed.borrow_mut().push(FailedCell { cell: job.name().to_owned(), why });
            }
            continue;
        }
        watch.steps(done, steps);
        // Cells take about the same time each.
        let left_s = start.elapsed().as_secs_f64() / done as f64 * (steps - done) as f64;
        let eta = if done == 0 { String::new() } else { format!(", about {left_s:.0} s left") };
        let figure = &spec.experiment.figure;
        watch.say(&format!("== {figure} {}: {} ({} of {of}{eta})", spec.scale, job.name(), at + 1));
        match run_job(plan, job, store, &session, watch) {
            Ok(()) => {}
            // After an interrupt, the error of the job depends on where it stopped; replace it by one message.
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

/// Removes the leftovers of killed runs: their images occupy memory that this run needs.
fn remove_leftovers(watch: &mut dyn Watch) {
    match disk::cleanup() {
        Ok(cleaned) => {
            cleaned
                .undone
                .iter()
                .for_each(|done| watch.say(&format!("cleaned up after a killed run: {done}")));
            cleaned.failed.iter().for_each(|why| watch.say(&format!("cleanup failed: {why}")));
        }
        // This run may still succeed.
        Err(why) => watch.say(&format!("cleanup failed: {why}")),
    }
}

/// Whether the store holds any checkpoint of a plan.
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

/// Whether the store holds all checkpoints of a job.
pub(super) fn is_measured(plan: &Plan, job: &Job, store: &Store) -> Result<bool, Error> {
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
    let Plan { spec, scale, schedule, untraced, .. } = plan;
    if !spec.resume {
        job.identity.forget(store, schedule)?;
    }
    job.cell.task.measure(&mut Measuring {
        cell: &job.cell,
        disks: &job.disks,
        spec,
        scale,
        schedule,
        store,
        session,
        identity: &job.identity,
        untraced: untraced.as_deref(),
        watch,
    })
}
