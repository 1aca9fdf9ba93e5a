//! `senesce run`, `senesce reproduce` and `senesce referee`.

mod held;
mod referee;
mod suite;

pub use referee::referee;

use super::vm_dispatch;
use crate::args::{HowToRun, Reproduce, Run};
use crate::messages::note;
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, bail};
use experiment::{AgedImages, Difference, Experiment, FailedCell, Judged, Outcome, Plan, RunSpec, Shard};
use held::Held;

/// The name that selects all figures.
const ALL: &str = "all";

pub fn run(args: &Run) -> Result<()> {
    let spec = spec(Experiment::load(&args.experiment)?, &args.how, &AgedImages::default())?;
    let held = Held::before([&spec])?;
    let outcome = carry_out(&spec.plan()?)?;
    if args.how.json {
        output::json(&outcome)?
    } else {
        show(&outcome)?
    }
    judge(&[outcome], &held)
}

pub fn reproduce(args: &Reproduce) -> Result<()> {
    let all = args.figures.iter().any(|figure| figure == ALL);
    if args.status {
        return suite::status(&args.how, args.markdown);
    }
    if args.claims {
        return suite::claims(&args.how, args.markdown);
    }
    if args.list || args.figures.is_empty() {
        return suite::list(args.how.json);
    }
    if all && args.figures.len() == 1 {
        return suite::all(&args.how, args.shard.unwrap_or(Shard::WHOLE));
    }
    if all || args.shard.is_some() {
        bail!(
            "--shard needs `all`, and `all` excludes other figures: use `reproduce all --shard 1/4`, or name figures"
        );
    }
    let aged_images = AgedImages::default();
    let specs = args
        .figures
        .iter()
        .map(|figure| spec(Experiment::find(figure)?, &args.how, &aged_images))
        .collect::<Result<Vec<_>>>()?;
    // Plans all experiments first, so that an invalid one fails before any runs.
    let plans = specs.iter().map(RunSpec::plan).collect::<Result<Vec<_>, _>>()?;
    let held = Held::before(&specs)?;
    let mut outcomes = Vec::new();
    let mut ended = Ok(());
    for plan in &plans {
        match carry_out(plan) {
            Ok(outcome) => {
                if !args.how.json {
                    show(&outcome)?;
                }
                outcomes.push(outcome);
            }
            Err(error) => {
                ended = Err(error);
                break;
            }
        }
    }
    match outcomes.as_slice() {
        _ if !args.how.json => {}
        [] => {}
        [outcome] if plans.len() == 1 => output::json(outcome)?,
        outcomes => output::json(&outcomes)?,
    }
    ended?;
    judge(&outcomes, &held)
}

/// The experiment with the number of agings that is asked for.
fn with_agings(experiment: Experiment, how: &HowToRun) -> Result<Experiment> {
    Ok(match how.agings {
        Some(agings) => experiment.with_agings(agings)?,
        None => experiment,
    })
}

fn spec(experiment: Experiment, how: &HowToRun, aged_images: &AgedImages) -> Result<RunSpec> {
    let experiment = with_agings(experiment, how)?;
    let experiment = match &how.repo {
        Some(repository) => experiment.with_repository(&workload::git::local(repository, note)?)?,
        None => experiment,
    };
    Ok(RunSpec {
        experiment,
        scale: how.scale.clone(),
        fs: how.fs.clone(),
        work: how.work.work.clone(),
        image_dir: how.image_dir.clone(),
        store: how.store.named(),
        resume: how.resume,
        aged_images: aged_images.clone(),
        subprocess: || super::bench::self_command("metadata-subprocess"),
        other_kernel: vm_dispatch::OTHER_KERNEL,
        command: super::command_line(),
    })
}

fn carry_out(plan: &Plan) -> Result<Outcome> {
    Ok(experiment::run(plan, &mut Progress::new())?)
}

fn show(outcome: &Outcome) -> Result<()> {
    for Difference { published, here, missing } in &outcome.differs {
        let instead = if missing.is_empty() { here.clone() } else { format!("missing: {missing}") };
        output::line(&format!("published: {published}; here: {instead}"))?;
    }
    output::table(&[&outcome.figure, "published", "measured", ""], outcome.claims.iter().map(claim_row))?;
    match outcome.verdict {
        Some(verdict) => output::line(&format!("{}: {}", outcome.figure, verdict.words())),
        None => Ok(()),
    }
}

/// A claim as a row of a table: what it states, published, measured, verdict.
fn claim_row(judged: &Judged) -> Vec<String> {
    let claim = format!("{} ({})", judged.claim.states, judged.claim.section);
    vec![claim, judged.published(), judged.measured(), judged.verdict.words().to_owned()]
}

/// Fails if a cell failed, or if a claim that held does not hold any more. Claims that never held are a result, not an error.
fn judge(outcomes: &[Outcome], held: &Held) -> Result<()> {
    let failed: Vec<&FailedCell> = outcomes.iter().flat_map(|outcome| &outcome.failed).collect();
    if failed.is_empty() {
        return held.check(outcomes.iter().map(|outcome| (&*outcome.figure, &*outcome.claims)));
    }
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    for FailedCell { cell, why } in &failed {
        match causes.iter_mut().find(|(other, _)| other == why) {
            Some((_, cells)) => cells.push(cell),
            None => causes.push((why, vec![cell])),
        }
    }
    let causes = causes.into_iter().map(|(why, cells)| format!("{} ({why})", cells.join("; ")));
    let cells = if failed.len() == 1 { "cell" } else { "cells" };
    bail!(
        "{} {cells} failed; the results of the others are stored: {}",
        failed.len(),
        causes.collect::<Vec<_>>().join("; ")
    )
}
