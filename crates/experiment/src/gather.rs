//! Reads back the measurements of a run and judges them.

use super::judge::{FigureVerdict, Judge};
use super::outcome::{FailedCell, Outcome, Picture};
use super::plan::{Job, Plan};
use super::runner::is_measured;
use probe::FileMap;
use results::Store;
use results::measures;
use run::CheckpointRun;
use run::Error;
use run::PICTURE;
use run::SUBJECTS;
use run::checkpoint::{CheckpointPair, CheckpointSide, SeriesKey, read_checkpoint, read_trees};
use run::series::Checkpoint;

/// The outcome of a run, from the given jobs.
pub(super) fn gather(
    plan: &Plan,
    jobs: &[Job],
    store: &Store,
    failed: Vec<FailedCell>,
) -> Result<Outcome, Error> {
    let experiment = &plan.spec.experiment;
    let mut outcome = Outcome {
        figure: experiment.figure.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        scale: plan.spec.scale.clone(),
        claims: Vec::new(),
        verdict: None,
        differs: experiment.differs.clone(),
        correlations: Vec::new(),
        checkpoints: Vec::new(),
        pairs: Vec::new(),
        trees: Vec::new(),
        pictures: Vec::new(),
        failed,
        left_out: Vec::new(),
        round: experiment.round.clone(),
        plots: experiment.plot.clone(),
    };
    for job in jobs {
        read_job(plan, job, store, &mut outcome)?;
        if !job.is_asked && !is_measured(plan, job, store)? {
            outcome.left_out.push(job.name().to_owned());
        }
    }
    let (lines, rounds, untraced) = (plan.lines(), plan.scale.axis(), plan.untraced.as_deref());
    let judge = Judge { experiment, lines: &lines, rounds, outcome: &outcome, untraced };
    let claims: Vec<_> = experiment.claim.iter().map(|claim| judge.judge(claim)).collect();
    let correlations = judge.all_correlations();
    let is_complete = experiment.differs.iter().all(|difference| difference.missing.is_empty());
    outcome.verdict = (!claims.is_empty()).then(|| FigureVerdict::of(&claims, is_complete));
    (outcome.claims, outcome.correlations) = (claims, correlations);
    if let Some(x) = &experiment.x {
        move_to_measured(x, &mut outcome);
    }
    Ok(outcome)
}

/// The runs that hold the measurements of these jobs.
pub(super) fn checkpoints(plan: &Plan, jobs: &[Job], store: &Store) -> Result<Vec<CheckpointRun>, Error> {
    let mut runs = Vec::new();
    for job in jobs {
        for at in plan.schedule.checkpoints() {
            let Some(run) = job.identity.find(store, at)? else { continue };
            let round = format!("{} {}", plan.spec.experiment.round.label, at.number());
            let of = [job.cell.fs.as_str(), job.cell.variant.name.as_str(), &round];
            let at = of.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            runs.push(CheckpointRun { at, seed: Some(job.cell.seed), run: store.uid(run)? });
        }
    }
    Ok(runs)
}

fn read_job(plan: &Plan, job: &Job, store: &Store, outcome: &mut Outcome) -> Result<(), Error> {
    let (fs, option, seed) = (job.cell.fs.as_str(), job.cell.variant.name.as_str(), job.cell.seed);
    let disks = job.models();
    let key = SeriesKey { fs, option, seed, one_disk: true };
    let mut cold: Vec<CheckpointSide> = Vec::new();
    for at in plan.schedule.checkpoints() {
        let Some(run) = job.identity.find(store, at)? else { continue };
        let (mut sides, mut pairs) = read_checkpoint(store, run, key, at.number(), &disks)?;
        if let Some(files) = store.document::<Vec<FileMap>>(run, SUBJECTS[0], PICTURE)?
            && let Checkpoint::Round(round) = at
        {
            let (fs, option) = (fs.to_owned(), option.to_owned());
            outcome.pictures.push(Picture { fs, option, seed, round, files });
        }
        outcome.trees.extend(read_trees(store, run, key, at.number())?);
        match at {
            // A cold scan has no position on the memory axis; warm scans are compared with it.
            Checkpoint::Round(_) if !plan.schedule.memory_bytes.is_empty() => cold = sides,
            _ => {
                add_cold_cost(&cold, &mut sides, &mut pairs);
                outcome.checkpoints.extend(sides);
                outcome.pairs.extend(pairs);
            }
        }
    }
    Ok(())
}

/// Moves all points to the value of a measure on the axis of rounds.
fn move_to_measured(x: &str, outcome: &mut Outcome) {
    let of_pairs = outcome.pairs.iter_mut().flat_map(|pair| [&mut pair.aged, &mut pair.unaged]);
    for side in outcome.checkpoints.iter_mut().chain(of_pairs) {
        side.round = side.values.get(x).map_or(side.round, |value| value.round() as u64);
    }
    outcome.pairs.iter_mut().for_each(|pair| pair.round = pair.aged.round);
}

/// Adds the cost of the cold scan of the same side to warm scans.
fn add_cold_cost(cold: &[CheckpointSide], sides: &mut [CheckpointSide], pairs: &mut [CheckpointPair]) {
    let of_pairs = pairs.iter_mut().flat_map(|pair| [&mut pair.aged, &mut pair.unaged]);
    for side in sides.iter_mut().chain(of_pairs) {
        let same = |cold: &&CheckpointSide| (&cold.disk, &cold.side) == (&side.disk, &side.side);
        let cost = |side: &CheckpointSide| side.values.get(measures::MODELLED_S_PER_GIB.name).copied();
        if let Some((cold, warm)) = cold.iter().find(same).and_then(cost).zip(cost(side)) {
            side.values.insert(measures::COLD_MODELLED_S_PER_GIB.name.to_owned(), cold);
            side.values.insert(measures::SHARE_OF_COLD_COST.name.to_owned(), warm / cold);
        }
    }
}
