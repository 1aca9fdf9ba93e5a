//! Figure after figure, as long as there is one that the store does not hold yet. What fails is named and the rest goes on; what was
//! killed goes on where it was.

use super::outcome::Outcome;
use super::plan::Plan;
use super::run::{RunSpec, has_checkpoints, run};
use super::spec::Experiment;
use super::standing::is_done;
use crate::Error;
use crate::workload::interrupted;
use results::{StoreAt, Watch};
use serde::Serialize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// What is to be reproduced.
#[derive(Clone, Debug)]
pub struct AllSpec {
    /// The figures, in the order in which they are run.
    pub experiments: Vec<Experiment>,
    /// Their scale.
    pub scale: String,
    /// The work directory.
    pub work: PathBuf,
    /// Where results are kept; the store of the work directory if nothing else is named.
    pub store: Option<StoreAt>,
    /// What carries out a run of the metadata benchmark in a process of its own; see [`RunSpec::apart`].
    pub apart: fn() -> Command,
    /// The full command line, for the record.
    pub command: String,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AllDone {
    /// The figures that were run to their end.
    pub done: Vec<String>,
    /// Those that the store held already.
    pub already: Vec<String>,
    /// Those that another process was at.
    pub elsewhere: Vec<String>,
    /// Those that failed, with why.
    pub failed: Vec<(String, String)>,
}

impl AllSpec {
    fn at(&self) -> StoreAt {
        self.store.clone().unwrap_or_else(|| StoreAt::of_work(&self.work))
    }

    /// Whether a figure is in the store. It is asked anew before each, for other machines may fill it too.
    fn has(&self, experiment: &Experiment) -> Result<bool, Error> {
        match self.at() {
            StoreAt::File(path) if !path.is_file() => Ok(false),
            at => is_done(&at.open()?, experiment, &self.scale),
        }
    }

    fn of(&self, experiment: &Experiment) -> RunSpec {
        RunSpec {
            experiment: experiment.clone(),
            scale: self.scale.clone(),
            work: self.work.clone(),
            store: self.store.clone(),
            resume: true,
            apart: self.apart,
            command: self.command.clone(),
        }
    }

    /// Whether something of a plan is in the store, so that the time that the rest takes tells nothing of the whole.
    fn has_of(&self, plan: &Plan) -> Result<bool, Error> {
        match self.at() {
            StoreAt::File(path) if !path.is_file() => Ok(false),
            at => has_checkpoints(plan, &at.open()?),
        }
    }

    /// About how many seconds the figures from this one on take.
    fn expected_s(&self, from: usize) -> u64 {
        let of = |experiment: &Experiment| experiment.at(&self.scale).map_or(0, |scale| scale.expected_s);
        self.experiments[from..].iter().map(of).sum()
    }
}

/// Runs all figures that are not done in the store.
pub fn reproduce_all(spec: &AllSpec, watch: &mut dyn Watch) -> Result<AllDone, Error> {
    let mut all = AllDone::default();
    // Of the figures that this start has done from their beginning.
    let (mut took_s, mut expected_s) = (0.0, 0);
    let count = spec.experiments.len();
    for (at, experiment) in spec.experiments.iter().enumerate() {
        let figure = &experiment.figure;
        if spec.has(experiment)? {
            all.already.push(figure.clone());
            continue;
        }
        let left_s = spec.expected_s(at) as f64;
        // This machine is as fast as it has shown itself to be.
        let pace = if expected_s == 0 { 1.0 } else { took_s / expected_s as f64 };
        watch.say(&format!(
            "==== {figure}, {} of {count}, about {:.0} min left",
            at + 1,
            left_s * pace / 60.0
        ));
        let (begun, run_spec) = (Instant::now(), spec.of(experiment));
        let result = run_spec.plan().and_then(|plan| Ok((!spec.has_of(&plan)?, run(&plan, watch)?)));
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
            // So would every other figure.
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
    let held = outcome.checks.iter().filter(|check| check.holds == Some(true)).count();
    format!("{}: {held} of {} claims hold", outcome.figure, outcome.checks.len())
}
