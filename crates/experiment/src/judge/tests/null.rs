//! Without any aging no claim about aging may hold.

use super::*;
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

#[test]
fn no_claim_about_aging_holds_without_aging() {
    let mut passing = Vec::new();
    for name in Experiment::builtin() {
        let experiment = Experiment::find(name).unwrap();
        for scale in experiment.scale.keys() {
            let (lines, outcome) = without_aging(&experiment, scale);
            let rounds = experiment.scale[scale].axis();
            let judge =
                Judge { experiment: &experiment, lines: &lines, rounds, outcome: &outcome, untraced: None };
            let about_aging = experiment.claim.iter().enumerate().filter(|(_, claim)| !claim.without_aging);
            for (at, judged) in about_aging.map(|(at, claim)| (at, judge.judge(claim))) {
                if judged.verdict >= TrendOnly {
                    let states = &judged.claim.states;
                    passing.push(format!("{name}, claim {}, {states}: {}", at + 1, judged.measured()));
                }
            }
        }
    }
    assert!(passing.is_empty(), "{} claims hold without aging:\n{}", passing.len(), passing.join("\n"));
}
