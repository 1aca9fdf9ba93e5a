//! Runs all figures that the store does not hold yet. A failed figure is reported and the rest continues; a killed figure resumes at its
//! last checkpoint.

use super::aged_images::AgedImages;
use super::judge::Verdict;
use super::other_kernel::OtherKernel;
use super::outcome::Outcome;
use super::plan::Plan;
use super::runner::{RunSpec, has_checkpoints, run};
use super::spec::Experiment;
use super::standing::is_done;
use results::{StoreLocation, Watch};
use run::Error;
use run::interrupted;
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// Parameters for reproducing several figures.
#[derive(Clone, Debug)]
pub struct AllSpec {
    /// The figures, in the order of execution.
    pub experiments: Vec<Experiment>,
    /// Their scale.
    pub scale: String,
    /// The file systems whose cells are measured; see [`RunSpec::fs`].
    pub fs: Vec<String>,
    /// The work directory.
    pub work: PathBuf,
    /// Directory of the images; see [`RunSpec::image_dir`].
    pub image_dir: Option<PathBuf>,
    /// Result store; by default the store of the work directory.
    pub store: Option<StoreLocation>,
    /// Command that runs the metadata benchmark in a separate process; see [`RunSpec::subprocess`].
    pub subprocess: fn() -> Command,
    /// Measures file systems that this kernel lacks.
    pub other_kernel: OtherKernel,
    /// The full command line, for the record.
    pub command: String,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AllDone {
    /// The figures that completed.
    pub done: Vec<String>,
    /// The figures that the store already held.
    pub already: Vec<String>,
    /// The figures that another process was running.
    pub elsewhere: Vec<String>,
    /// The figures that failed, with the reason.
    pub failed: Vec<(String, String)>,
}

impl AllSpec {
    fn at(&self) -> StoreLocation {
        self.store.clone().unwrap_or_else(|| StoreLocation::of_work_dir(&self.work))
    }

    /// Whether a figure is in the store. Checked again before each figure, because other machines may fill the same store.
    fn has(&self, experiment: &Experiment) -> Result<bool, Error> {
        match self.at() {
            StoreLocation::File(path) if !path.is_file() => Ok(false),
            at => is_done(&at.open()?, experiment, &self.scale),
        }
    }

    fn of(&self, experiment: &Experiment, aged_images: &AgedImages) -> RunSpec {
        RunSpec {
            experiment: experiment.clone(),
            scale: self.scale.clone(),
            fs: self.fs.iter().filter(|name| experiment.fs.contains(name)).cloned().collect(),
            work: self.work.clone(),
            image_dir: self.image_dir.clone(),
            store: self.store.clone(),
            resume: true,
            aged_images: aged_images.clone(),
            subprocess: self.subprocess,
            other_kernel: self.other_kernel,
            command: self.command.clone(),
        }
    }

    /// Whether the store holds part of a plan. The time of the rest then says nothing about the time of the whole.
    fn has_part_of(&self, plan: &Plan) -> Result<bool, Error> {
        match self.at() {
            StoreLocation::File(path) if !path.is_file() => Ok(false),
            at => has_checkpoints(plan, &at.open()?),
        }
    }

    /// Estimated seconds for the figures from this one on.
    fn expected_s(&self, from: usize) -> u64 {
        let of = |experiment: &Experiment| experiment.at(&self.scale).map_or(0, |scale| scale.expected_s);
        self.experiments[from..].iter().map(of).sum()
    }
}

/// Runs all figures that are not complete in the store.
pub fn reproduce_all(spec: &AllSpec, watch: &mut dyn Watch) -> Result<AllDone, Error> {
    let mut all = AllDone::default();
    // Only figures that this process ran from their beginning.
    let (mut took_s, mut expected_s) = (0.0, 0);
    let (count, aged_images) = (spec.experiments.len(), AgedImages::default());
    for (at, experiment) in spec.experiments.iter().enumerate() {
        let figure = &experiment.figure;
        if spec.has(experiment)? {
            all.already.push(figure.clone());
            continue;
        }
        let left_s = spec.expected_s(at) as f64;
        // Scales the estimate by the speed of this machine so far.
        let pace = if expected_s == 0 { 1.0 } else { took_s / expected_s as f64 };
        watch.say(&format!(
            "==== {figure}, {} of {count}, about {:.0} min left",
            at + 1,
            left_s * pace / 60.0
        ));
        let (begun, run_spec) = (Instant::now(), spec.of(experiment, &aged_images));
        let result = run_spec.plan().and_then(|plan| Ok((!spec.has_part_of(&plan)?, run(&plan, watch)?)));
        if disk::interrupted() {
            return Err(interrupted());
        }
        match result {
            Ok((from_beginning, outcome)) if outcome.failed.is_empty() => {
                if from_beginning {
                    took_s += begun.elapsed().as_secs_f64();
                    expected_s += experiment.at(&spec.scale)?.expected_s;
                }
                watch.say(&summary(&outcome));
                all.done.push(figure.clone());
            }
            Ok((_, outcome)) => {
                watch.say(&summary(&outcome));
                let cells: Vec<&str> = outcome.failed.iter().map(|cell| cell.cell.as_str()).collect();
                all.failed.push((figure.clone(), format!("cells failed: {}", cells.join(", "))));
            }
            Err(Error::Busy(_)) => {
                watch.say(&format!("{figure} is skipped: another process runs it"));
                all.elsewhere.push(figure.clone());
            }
            // All other figures would fail the same way.
            Err(error @ Error::Disk(disk::Error::WorkInUse { .. })) => return Err(error),
            Err(error) => {
                watch.say(&format!("{figure} failed: {error}"));
                all.failed.push((figure.clone(), error.to_string()));
            }
        }
    }
    Ok(all)
}

fn summary(outcome: &Outcome) -> String {
    let count = |least| outcome.claims.iter().filter(|claim| claim.verdict >= least).count();
    let (hold, follow) = (count(Verdict::Holds), count(Verdict::TrendOnly));
    format!(
        "{}: of {} claims {hold} hold, {} in their trend only",
        outcome.figure,
        outcome.claims.len(),
        follow - hold
    )
}
