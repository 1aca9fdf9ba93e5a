//! Without any aging no claim about aging may hold.

use super::*;
use crate::cell::cells;
use crate::measure::is_by_disk;
use crate::spec::Scale;
use crate::task;
use disk::Model;
use results::measures::{Better, Measure};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// The coordinates of a measurement: file system, disk and setting; side; round.
type Position<'p> = ([&'p str; 3], &'p str, u64);

/// What a measure is where nothing aged, with its noise by this weight.
type Value = fn(&str, Position, f64) -> f64;

/// The weights of the noise of agings. Their mean is 0 for several agings, because one interval in twenty excludes the mean by chance.
fn weights(agings: usize) -> Vec<f64> {
    let weight = |at| 2.0 * at as f64 / (agings - 1) as f64 - 1.0;
    if agings == 1 { vec![1.0] } else { (0..agings).map(weight).collect() }
}

/// The measures that compare two sides or settings: 0 where these are alike.
const COMPARING: [Measure; 7] = [
    measures::READ_GAIN_AREA,
    measures::CREATE_GAIN_AREA,
    measures::LAYOUT_SCORE_EXCESS,
    measures::MEAN_ABS_DIFFERENCE,
    measures::FREE_MEAN_DIFFERENCE_BYTES,
    measures::FREE_LARGEST_DIFFERENCE_BYTES,
    measures::FREE_EXTENT_DOUBLINGS_APART,
];

fn is_comparing(measure: &str) -> bool {
    COMPARING.iter().any(|comparing| comparing.name == measure)
}

/// The figures of which the laboratory measures what they are without aging.
const MEASURED: [&str; 6] =
    ["smith97-fig1", "smith97-fig2", "smith97-fig5", "smith97-fig6", "smith97-fig7", "smith97-fig8"];

/// The same for all file systems, disks, settings, rounds and sides.
fn equal(measure: &str, _at: Position, _weight: f64) -> f64 {
    if is_comparing(measure) {
        return 0.0;
    }
    match measures::find(measure) {
        Some(found) if found.unit == "ratio" => 1.0,
        Some(found) if found.unit == "share" => f64::from(found.better == Better::Higher),
        _ => 100.0,
    }
}

/// File systems, disks and settings differ, but rounds, sides and seeds by noise only: by half the margin of the measure, 1 %, or 5 % of
/// rates. Shares are within 0.01 of the best, other measures within three times of 100.
fn different(measure: &str, at: Position, weight: f64) -> f64 {
    differing(measure, at, weight, 1.0)
}

/// The same, with all differences the other way around.
fn reversed(measure: &str, at: Position, weight: f64) -> f64 {
    differing(measure, at, weight, -1.0)
}

fn differing(measure: &str, at: Position, weight: f64, sign: f64) -> f64 {
    let (line, ..) = at;
    if is_comparing(measure) {
        return 0.0;
    }
    let noise = 1.0 + weight * margin(measure) / 2.0 * random(&(measure, at));
    match measures::find(measure) {
        Some(found) if found.unit == "ratio" => noise,
        Some(found) if found.unit == "share" => {
            let short = 0.005 * (1.0 + sign * random(&(measure, line))) * noise;
            if found.better == Better::Higher { 1.0 - short } else { short }
        }
        // Measures of one unit are comparable: a scan costs the same with a warm cache, if nothing is read twice.
        found => {
            let unit = found.map_or("", |found| found.unit);
            100.0 * 3f64.powf(sign * random(&(unit, line))) * noise
        }
    }
}

/// A number from -1 to 1 that follows from `of`.
fn random(of: &impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64 * 2.0 - 1.0
}

/// What a file system has that was filled once: every byte written once, and all files of one age.
const FILLED: [(Measure, f64); 2] = [(measures::OVERWRITES, 1.0), (measures::AGE_RMS_ERROR, 0.3)];

fn filled(measure: &str) -> Option<f64> {
    FILLED.iter().find(|(of, _)| of.name == measure).map(|(_, value)| *value)
}

/// All measurements of an experiment, if nothing aged.
fn without_aging(experiment: &Experiment, scale: &str, value: Value) -> (Vec<Line>, Outcome) {
    let scale = &experiment.scale[scale];
    let named = experiment.claim.iter().flat_map(|claim| {
        let over = claim.over.iter().filter_map(|over| over.measure.clone());
        over.chain(claim.correlates_with.clone()).chain([claim.measure.clone()])
    });
    let named: BTreeSet<String> = named.collect();
    let alone = [String::new()];
    let kinds = if experiment.fs.is_empty() { &alone[..] } else { &experiment.fs };
    let (mut lines, mut checkpoints) = (Vec::new(), Vec::new());
    for (fs, variant) in
        kinds.iter().flat_map(|fs| experiment.variants().into_iter().map(move |variant| (fs, variant)))
    {
        for disk in experiment.disks.iter().filter(|disk| variant.is_on(disk)) {
            let disk = Model::find(disk).unwrap().name().to_owned();
            let agings: Vec<(u64, f64)> =
                scale.seeds.iter().copied().zip(weights(scale.seeds.len())).collect();
            for &(seed, _) in &agings {
                Line::add(&mut lines, [fs, &disk, &variant.name], aging(fs, &variant.name, seed));
            }
            let sides = experiment.sides().unwrap();
            let of_side = |side| scale.axis().iter().map(move |&round| (round, side));
            let positions = sides.into_iter().flat_map(of_side);
            for ((round, side), &(seed, weight)) in
                positions.flat_map(|at| agings.iter().map(move |aging| (at, aging)))
            {
                let line = |measure: &str| if is_by_disk(measure) { disk.as_str() } else { "" };
                let of = |measure: &String| {
                    let at = ([fs.as_str(), line(measure), &variant.name], side, round);
                    (measure.clone(), filled(measure).unwrap_or_else(|| value(measure, at, weight)))
                };
                let (fs, disk, option, side) =
                    (fs.clone(), disk.clone(), variant.name.clone(), side.to_owned());
                let values = named.iter().map(of).collect();
                checkpoints.push(CheckpointSide { fs, disk, option, seed, round, side, values });
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

fn assert_none_hold(value: Value, is_about: fn(&Experiment) -> bool) {
    let mut all = Vec::new();
    for experiment in Experiment::builtin().map(|name| Experiment::find(name).unwrap()).filter(is_about) {
        for (name, scale) in &experiment.scale {
            all.extend(passing(&experiment, scale.axis(), &without_aging(&experiment, name, value)));
        }
    }
    assert_none(&all);
}

#[test]
fn no_claim_about_aging_holds_without_aging() {
    assert_none_hold(equal, |_| true);
}

#[test]
fn no_claim_about_aging_holds_by_other_differences() {
    fn is_assumed(experiment: &Experiment) -> bool {
        !MEASURED.contains(&experiment.figure.as_str())
    }
    assert_none_hold(different, is_assumed);
    assert_none_hold(reversed, is_assumed);
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
    assert_eq!(figures, MEASURED);
    assert_none(&all);
}
