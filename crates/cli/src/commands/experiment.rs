//! `senesce run` and `senesce reproduce`.

use crate::args::{HowToRun, Reproduce, Run};
use crate::output;
use crate::progress::Progress;
use anyhow::{Result, bail};
use lab::{Experiment, Outcome, RunSpec};

pub fn run(args: &Run) -> Result<()> {
    let outcome = carry_out(Experiment::load(&args.experiment)?, &args.how)?;
    if args.how.json {
        output::json(&outcome)?
    } else {
        show(&outcome)?
    }
    judge(&[outcome])
}

pub fn reproduce(args: &Reproduce) -> Result<()> {
    if args.figures.is_empty() {
        return list(args.how.json);
    }
    let experiments =
        args.figures.iter().map(|figure| Experiment::find(figure)).collect::<Result<Vec<_>, _>>()?;
    let mut outcomes = Vec::new();
    for experiment in experiments {
        let outcome = carry_out(experiment, &args.how)?;
        if !args.how.json {
            show(&outcome)?;
        }
        outcomes.push(outcome);
    }
    match outcomes.as_slice() {
        [outcome] if args.how.json => output::json(outcome)?,
        outcomes if args.how.json => output::json(&outcomes)?,
        _ => {}
    }
    judge(&outcomes)
}

fn list(json: bool) -> Result<()> {
    let all = Experiment::builtin().map(Experiment::find).collect::<Result<Vec<_>, _>>()?;
    if json {
        return output::json(&all);
    }
    let row = |experiment: &Experiment| vec![experiment.figure.clone(), experiment.title.clone()];
    output::table(&["figure", "what it shows"], all.iter().map(row))
}

fn carry_out(experiment: Experiment, how: &HowToRun) -> Result<Outcome> {
    let experiment = match &how.repo {
        Some(repository) => experiment.with_repository(&std::path::absolute(repository)?)?,
        None => experiment,
    };
    let spec = RunSpec {
        experiment,
        scale: how.scale.clone(),
        work: how.work.work.clone(),
        resume: how.resume,
        command: super::command_line(),
    };
    Ok(lab::run(&spec, &mut Progress::new())?)
}

fn show(outcome: &Outcome) -> Result<()> {
    let holds = |holds| match holds {
        Some(true) => "holds",
        Some(false) => "does NOT hold",
        None => "not judged",
    };
    output::table(
        &[&outcome.figure, "measured", ""],
        outcome.checks.iter().map(|check| {
            let measured = if check.holds.is_some() { &check.measured } else { &check.why };
            vec![check.claim.clone(), measured.clone(), holds(check.holds).to_owned()]
        }),
    )
}

/// A figure of which a cell failed is not reproduced; one whose claims do not hold is a finding.
fn judge(outcomes: &[Outcome]) -> Result<()> {
    let failed: Vec<String> = outcomes
        .iter()
        .flat_map(|outcome| outcome.failed.iter().map(|cell| format!("{} ({})", cell.cell, cell.why)))
        .collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => bail!("{} cells failed, the others are stored: {}", failed.len(), failed.join("; ")),
    }
}
