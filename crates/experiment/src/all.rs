//! Runs all figures that the store does not hold yet. A failed figure is reported and the rest continues; a killed figure resumes at its
//! last checkpoint.

use super::judge::Verdict;
use super::outcome::Outcome;
use super::plan::Plan;
use super::runner::{RunSpec, has_checkpoints, run};
use super::standing::is_done;
use results::Watch;
use run::Error;
use run::interrupted;
use serde::Serialize;
use std::time::Instant;

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

/// Runs all figures that are not complete in the store, in this order.
pub fn reproduce_all(specs: &[RunSpec], watch: &mut dyn Watch) -> Result<AllDone, Error> {
    let mut all = AllDone::default();
    // Only figures that this process ran from their beginning.
    let (mut took_s, mut expected_s) = (0.0, 0);
    for (at, spec) in specs.iter().enumerate() {
        let figure = &spec.experiment.figure;
        // Opened again before each figure, because other machines may fill the same store.
        if let Some(store) = spec.existing_store()?
            && is_done(&store, &spec.experiment, &spec.scale)?
        {
            all.already.push(figure.clone());
            continue;
        }
        let left_s = specs[at..].iter().map(estimated_s).sum::<u64>() as f64;
        // Scales the estimate by the speed of this machine so far.
        let pace = if expected_s == 0 { 1.0 } else { took_s / expected_s as f64 };
        watch.say(&format!(
            "==== {figure}, {} of {}, about {:.0} min left",
            at + 1,
            specs.len(),
            left_s * pace / 60.0
        ));
        let begun = Instant::now();
        let result = spec.plan().and_then(|plan| Ok((!has_part_of(&plan)?, run(&plan, watch)?)));
        if disk::interrupted() {
            return Err(interrupted());
        }
        match result {
            Ok((from_beginning, outcome)) if outcome.failed.is_empty() => {
                if from_beginning {
                    took_s += begun.elapsed().as_secs_f64();
                    expected_s += estimated_s(spec);
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

/// Whether the store holds part of a plan. The time of the rest then says nothing about the time of the whole.
fn has_part_of(plan: &Plan) -> Result<bool, Error> {
    plan.spec.existing_store()?.map_or(Ok(false), |store| has_checkpoints(plan, &store))
}

/// Estimated seconds for a figure.
fn estimated_s(spec: &RunSpec) -> u64 {
    spec.experiment.at(&spec.scale).map_or(0, |scale| scale.expected_s)
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
