//! Converts outcomes of experiments to page data: curves, claims with verdicts and block maps.

use crate::data::{
    Axis, Claim, Experiment, FailedCell, FileRow, Line, Panels, Picture, Plot, Point, Published, TreeAt,
};
use crate::{from_tree, method_rows};
use experiment::{At, Outcome};
use results::{Estimate, Run, Store, measures};
use run::checkpoint::CheckpointSide;
use run::{Error, SUBJECTS};
use std::collections::{BTreeMap, HashSet};

/// The last run of each figure and scale, ordered by figure; of the named figures, or of all without names.
pub fn latest<'r>(runs: &'r [Run], names: &[String]) -> Vec<&'r Run> {
    let wanted = |run: &&Run| {
        run.kind == "experiment" && run.state == "done" && (names.is_empty() || names.contains(&run.name))
    };
    let mut seen = HashSet::new();
    let scale = |run: &Run| run.parameters.get("scale").map(ToString::to_string);
    let mut latest: Vec<&Run> =
        runs.iter().rev().filter(wanted).filter(|run| seen.insert((&run.name, scale(run)))).collect();
    latest.sort_by(|a, b| (&a.name, scale(a)).cmp(&(&b.name, scale(b))));
    latest
}

/// The page data of a run.
pub fn experiment(store: &Store, run: &Run) -> Result<Experiment, Error> {
    let outcome: Outcome = store
        .document(run.id, "", "outcome")?
        .ok_or_else(|| Error::Refused(format!("run {} in the store has no outcome", run.id.0)))?;
    Ok(shown(run, outcome))
}

/// The page data of an outcome.
pub fn shown(run: &Run, outcome: Outcome) -> Experiment {
    let several_seeds = outcome.pictures.iter().any(|one| one.seed != outcome.pictures[0].seed);
    let several_trees = outcome.trees.iter().any(|one| one.seed != outcome.trees[0].seed);
    Experiment {
        plots: outcome
            .plots
            .iter()
            .map(|plot| drawn(plot, &outcome))
            .filter(|plot| !plot.lines.is_empty())
            .collect(),
        figure: outcome.figure,
        title: outcome.title,
        source: outcome.source,
        scale: outcome.scale,
        differs: outcome.differs,
        claims: outcome.claims.iter().map(claim).collect(),
        verdict: outcome.verdict,
        round: axis(&outcome.round),
        trees: outcome.trees.into_iter().map(|one| tree(one, several_trees)).collect(),
        pictures: (outcome.pictures.into_iter())
            .map(|one| picture(one, &outcome.checkpoints, several_seeds))
            .collect(),
        failed: outcome.failed.into_iter().map(|f| FailedCell { cell: f.cell, why: f.why }).collect(),
        method: method(run),
    }
}

/// The method, as far as the run records it.
fn method(run: &Run) -> Vec<(String, String)> {
    let mut rows = vec![("Command".to_owned(), run.command.clone())];
    let Ok(experiment) = serde_json::from_value::<experiment::Experiment>(
        run.parameters.get("experiment").cloned().unwrap_or_default(),
    ) else {
        return rows;
    };
    let mut row = |name: &str, text: String| rows.push((name.to_owned(), text));
    // The file of a model may have been deleted since.
    let title =
        |disk: &String| disk::Model::find(disk).map_or_else(|_| disk.clone(), |m| m.title().to_owned());
    let disks: Vec<String> = experiment.disks.iter().map(|disk| format!("{disk}: {}", title(disk))).collect();
    row("Modelled disks", disks.join("; "));
    let scale = run.parameters.get("scale").and_then(|scale| scale.as_str());
    if let Some(scale) = scale.and_then(|scale| experiment.scale.get(scale)) {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        row("Size", input::bytes(scale.size_bytes));
        row("Workload", workload(&scale.workload));
        if let Some((name, text)) = experiment.method(scale) {
            row(name, text);
        }
        row("Seeds", list(&scale.seeds));
    }
    for option in &experiment.option {
        let words = [option.mkfs_opts.clone(), option.mount_opts.clone(), workload(&option.workload)];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        row(
            &format!("Setting {}", option.name),
            if words.is_empty() { "as is".to_owned() } else { words.join("; ") },
        );
    }
    rows
}

/// The parameters of a workload in words.
fn workload(parameters: &impl serde::Serialize) -> String {
    method_rows::words(&serde_json::to_value(parameters).expect("plain data"))
}

/// The name of a setting that may have several seeds.
fn setting(option: &str, seed: u64, several_seeds: bool) -> String {
    if several_seeds { format!("{option} seed {seed}") } else { option.to_owned() }
}

fn picture(picture: experiment::Picture, checkpoints: &[CheckpointSide], several_seeds: bool) -> Picture {
    let row = |file: run::FileMap| FileRow { size_bytes: file.size_bytes, extents: file.extents };
    let key = (&picture.fs, &picture.option, picture.seed, picture.round, SUBJECTS[0]);
    let at = checkpoints.iter().find(|at| (&at.fs, &at.option, at.seed, at.round, at.side.as_str()) == key);
    let files = at.and_then(|at| at.values.get(measures::FILES.name)).map(|files| *files as u64);
    Picture {
        files,
        title: setting(&picture.option, picture.seed, several_seeds),
        fs: picture.fs,
        round: picture.round,
        rows: picture.files.into_iter().map(row).collect(),
    }
}

fn tree(at: run::checkpoint::TreeAt, several_seeds: bool) -> TreeAt {
    TreeAt {
        option: setting(&at.option, at.seed, several_seeds),
        fs: at.fs,
        side: at.side,
        round: at.round,
        values: from_tree::values(&at.tree),
        tree: from_tree::tree(at.tree),
    }
}

fn axis(axis: &experiment::Axis) -> Axis {
    Axis { label: axis.label.clone(), unit: axis.unit.clone(), log: axis.log }
}

/// The values of a line by round and seed.
type ByRound = BTreeMap<u64, BTreeMap<u64, f64>>;

/// The lines of the real disks that the referee sets beside those of modelled ones.
fn real(plot: &experiment::Plot, outcome: &Outcome) -> Vec<Line> {
    if outcome.figure != experiment::referee::FIGURE {
        return Vec::new();
    }
    let by_disk = experiment::is_by_disk(&plot.y);
    // What does not depend on the disk is drawn once, of the first.
    let first = outcome.checkpoints.first().map(|at| at.disk.clone()).unwrap_or_default();
    let is_measured = |line: &experiment::referee::RealLine| {
        let same =
            |at: &CheckpointSide| (&at.fs, &at.disk, &at.option) == (&line.fs, &line.disk, &line.option);
        (by_disk || line.disk == first) && outcome.checkpoints.iter().any(same)
    };
    let last = outcome.checkpoints.iter().map(|at| at.round).max().unwrap_or_default();
    let line = |line: experiment::referee::RealLine| Line {
        points: (line.points.iter())
            .filter(|point| point.pull <= last)
            .filter_map(|point| Some((point.pull, point.value(&plot.y)?)))
            .map(|(pull, y)| Point { x: pull as f64, y, low: None, high: None })
            .collect(),
        fs: line.fs,
        disk: if by_disk { line.disk } else { String::new() },
        side: SUBJECTS[0].to_owned(),
        option: format!("{}, real disk", line.option),
    };
    experiment::referee::real_lines().into_iter().filter(is_measured).map(line).collect()
}

/// A figure with a line for each file system, disk, setting and side that has the measure: the means over the agings. A measure that
/// does not depend on the disk is drawn once.
fn drawn(plot: &experiment::Plot, outcome: &Outcome) -> Plot {
    let by_disk = experiment::is_by_disk(&plot.y);
    // The same checkpoint occurs once per disk.
    let mut lines: Vec<(Line, ByRound)> = Vec::new();
    let is_drawn = |side: &String| plot.sides.is_empty() || plot.sides.contains(side);
    for at in outcome.checkpoints.iter().filter(|at| is_drawn(&at.side)) {
        let Some(&y) = at.values.get(&plot.y) else { continue };
        let line = Line {
            fs: at.fs.clone(),
            disk: if by_disk { at.disk.clone() } else { String::new() },
            side: at.side.clone(),
            option: at.option.clone(),
            points: Vec::new(),
        };
        let place = lines.iter().position(|(other, _)| *other == line).unwrap_or_else(|| {
            lines.push((line, ByRound::new()));
            lines.len() - 1
        });
        lines[place].1.entry(at.round).or_default().entry(at.seed).or_insert(y);
    }
    let measure = measures::find(&plot.y);
    let point = |(round, of_agings): (u64, BTreeMap<u64, f64>)| {
        let values: Vec<f64> = of_agings.into_values().collect();
        let mean = measure.map_or_else(|| Estimate::arithmetic(&values), |measure| measure.mean(&values))?;
        Some(Point { x: round as f64, y: mean.mean, low: mean.low, high: mean.high })
    };
    let y = axis(&plot.axis);
    // A share that an axis calls a pure number may be a score, which readers know as a number.
    let unit = measure.filter(|measure| measure.is_ratio() && y.unit.is_empty()).map(|_| "×");
    Plot {
        title: plot.title.clone(),
        x: axis(&outcome.round),
        y: Axis { unit: unit.map_or(y.unit, str::to_owned), ..y },
        published: (outcome.claims.iter())
            .filter(|judged| is_drawn(&judged.claim.side))
            .filter_map(|judged| published(plot, &judged.claim))
            .collect(),
        lines: lines
            .into_iter()
            .map(|(line, rounds)| Line { points: rounds.into_iter().filter_map(point).collect(), ..line })
            .chain(real(plot, outcome))
            .collect(),
        note: plot.note.clone(),
        panels: match plot.panels {
            experiment::Panels::Disk => Panels::Disk,
            experiment::Panels::Fs => Panels::Fs,
        },
    }
}

fn claim(judged: &experiment::Judged) -> Claim {
    Claim {
        section: judged.claim.section.clone(),
        states: judged.claim.states.clone(),
        published: judged.published(),
        lines: judged.lines.clone(),
        verdict: judged.verdict,
        why: judged.claim.why.clone(),
    }
}

/// What a claim says of the values of a plot, if it does.
fn published(plot: &experiment::Plot, claim: &experiment::Claim) -> Option<Published> {
    let (low, high) = claim.published_ends_of(&plot.y)?;
    let x = match claim.at {
        At::Round(round) => Some(round as f64),
        At::Place(_) | At::Share(_) => None,
    };
    let (fs, disks, options) = (claim.fs.clone(), claim.disks.clone(), claim.options.clone());
    Some(Published { fs, disks, options, x, low, high, text: claim.section.clone() })
}
