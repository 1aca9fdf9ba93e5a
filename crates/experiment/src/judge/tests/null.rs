//! Without any aging no claim about aging may hold.

use super::*;
use crate::cell::cells;
use crate::spec::Scale;
use crate::task;
use disk::Model;
use results::measures::Better;

/// The value of a measure without any aging: the same for all file systems, disks, settings, rounds and sides.
fn unaged(measure: &str) -> f64 {
    match measures::find(measure) {
        Some(found) if found.unit == "ratio" => 1.0,
        Some(found) if found.unit == "share" => f64::from(found.better == Better::Higher),
        _ => 100.0,
    }
}

/// All measurements of an experiment, if nothing aged.
fn without_aging(experiment: &Experiment, scale: &str) -> (Vec<Line>, Outcome) {
    let scale = &experiment.scale[scale];
    let named = experiment.claim.iter().flat_map(|claim| {
        let over = claim.over.iter().filter_map(|over| over.measure.clone());
        over.chain(claim.correlates_with.clone()).chain([claim.measure.clone()])
    });
    let values: std::collections::BTreeMap<String, f64> =
        named.map(|measure| (measure.clone(), unaged(&measure))).collect();
    let alone = [String::new()];
    let kinds = if experiment.fs.is_empty() { &alone[..] } else { &experiment.fs };
    let (mut lines, mut checkpoints) = (Vec::new(), Vec::new());
    for (fs, variant) in
        kinds.iter().flat_map(|fs| experiment.variants().into_iter().map(move |variant| (fs, variant)))
    {
        for disk in &experiment.disks {
            let disk = Model::find(disk).unwrap().name().to_owned();
            Line::add(&mut lines, [fs, &disk, &variant.name], aging(fs, &variant.name, 1));
            for (round, side) in scale
                .axis()
                .iter()
                .flat_map(|round| experiment.sides().unwrap().into_iter().map(move |side| (*round, side)))
            {
                let (fs, disk, option, side) =
                    (fs.clone(), disk.clone(), variant.name.clone(), side.to_owned());
                checkpoints.push(CheckpointSide {
                    fs,
                    disk,
                    option,
                    seed: 1,
                    round,
                    side,
                    values: values.clone(),
                });
            }
        }
    }
    (lines, outcome(checkpoints))
}

/// The measurements of an experiment in the allocator laboratory by file size, if nothing aged: what allocators and disks do differs between
/// settings and sizes, but the aged file system is an empty one. `None` for other experiments.
fn laboratory_without_aging(experiment: &Experiment, scale: &Scale) -> Option<(Vec<Line>, Outcome)> {
    let scale = Scale { seeds: vec![1], ..scale.clone() };
    let models: Vec<Model> = experiment.disks.iter().map(|disk| Model::find(disk).unwrap()).collect();
    let (mut lines, mut checkpoints) = (Vec::new(), Vec::new());
    for cell in cells(experiment, &scale).unwrap() {
        let rounds = task::without_aging(&cell, &scale, models.clone())?;
        for model in &models {
            Line::add(
                &mut lines,
                [&cell.fs, model.name(), &cell.variant.name],
                aging(&cell.fs, &cell.name, 1),
            );
            for (&round, numbers) in &rounds {
                for side in experiment.sides().unwrap() {
                    let is_here = |on: Option<&str>| on.is_none_or(|on| on == model.name());
                    let values = numbers
                        .iter()
                        .filter(|number| number.subject == side)
                        .map(|number| (measures::split(&number.measure), number.value))
                        .filter(|((_, on), _)| is_here(*on))
                        .map(|((measure, _), value)| (measure.to_owned(), value));
                    checkpoints.push(CheckpointSide {
                        fs: cell.fs.clone(),
                        disk: model.name().to_owned(),
                        option: cell.variant.name.clone(),
                        seed: 1,
                        round,
                        side: side.to_owned(),
                        values: values.collect(),
                    });
                }
            }
        }
    }
    Some((lines, outcome(checkpoints)))
}

/// The claims about aging that hold for these measurements, at least in their trend.
fn passing(experiment: &Experiment, rounds: &[u64], (lines, outcome): &(Vec<Line>, Outcome)) -> Vec<String> {
    let judge = Judge { experiment, lines, rounds, outcome, untraced: None };
    let about_aging = experiment.claim.iter().enumerate().filter(|(_, claim)| !claim.without_aging);
    let judged = about_aging.map(|(at, claim)| (at + 1, judge.judge(claim)));
    let passing = judged.filter(|(_, judged)| judged.verdict >= TrendOnly);
    let told = |(at, judged): (usize, Judged)| {
        format!("{}, claim {at}, {}: {}", experiment.figure, judged.claim.states, judged.measured())
    };
    passing.map(told).collect()
}

fn assert_none(passing: &[String]) {
    assert!(passing.is_empty(), "{} claims hold without aging:\n{}", passing.len(), passing.join("\n"));
}

#[test]
fn no_claim_about_aging_holds_without_aging() {
    let mut all = Vec::new();
    for experiment in Experiment::builtin().map(|name| Experiment::find(name).unwrap()) {
        for (name, scale) in &experiment.scale {
            all.extend(passing(&experiment, scale.axis(), &without_aging(&experiment, name)));
        }
    }
    assert_none(&all);
}

#[test]
fn no_claim_about_aging_holds_in_laboratory_without_aging() {
    let (mut all, mut figures) = (Vec::new(), Vec::new());
    for experiment in Experiment::builtin().map(|name| Experiment::find(name).unwrap()) {
        let scale = experiment.at("small").unwrap();
        let Some(measured) = laboratory_without_aging(&experiment, scale) else { continue };
        let is_aged = |at: &CheckpointSide| at.side == "aged" && at.values.contains_key("read_bytes_per_s");
        assert!(measured.1.checkpoints.iter().any(is_aged), "{}", experiment.figure);
        all.extend(passing(&experiment, scale.axis(), &measured));
        figures.push(experiment.figure);
    }
    assert_eq!(figures, [1, 2, 5, 6, 7, 8].map(|figure| format!("smith97-fig{figure}")));
    assert_none(&all);
}
