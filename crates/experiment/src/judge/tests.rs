use super::*;
use crate::claim::{At, Bounds, Extreme, Over, Place, Published};
use crate::{Axis, FailedCell};
use results::measures;
use run::checkpoint::CheckpointSide;
use std::collections::HashSet;

mod null;

const SCORE: &str = measures::DYNAMIC_LAYOUT_SCORE.name;
const COST: &str = measures::MODELLED_S_PER_GIB.name;

/// A checkpoint with a score and a cost.
fn at(fs: &str, disk: &str, option: &str, round: u64, score: f64, cost: f64) -> CheckpointSide {
    let values = [(SCORE, score), (COST, cost)];
    CheckpointSide {
        fs: fs.to_owned(),
        disk: disk.to_owned(),
        option: option.to_owned(),
        seed: 1,
        round,
        side: "aged".to_owned(),
        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

fn outcome(checkpoints: Vec<CheckpointSide>) -> Outcome {
    Outcome {
        figure: String::new(),
        title: String::new(),
        source: String::new(),
        scale: String::new(),
        claims: Vec::new(),
        verdict: None,
        differs: Vec::new(),
        correlations: Vec::new(),
        checkpoints,
        pairs: Vec::new(),
        trees: Vec::new(),
        pictures: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
        round: Axis { label: String::new(), unit: String::new(), log: false },
        plots: Vec::new(),
    }
}

fn aging(fs: &str, option: &str, seed: u64) -> Aging {
    Aging { seed, cell: [fs, option].join(" ").trim().to_owned() }
}

/// The lines and rounds of a complete outcome.
fn scheduled(outcome: &Outcome) -> (Vec<Line>, Vec<u64>) {
    let mut lines: Vec<Line> = Vec::new();
    let mut seen = HashSet::new();
    for at in &outcome.checkpoints {
        if seen.insert((&at.fs, &at.disk, &at.option, at.seed)) {
            Line::add(&mut lines, [&at.fs, &at.disk, &at.option], aging(&at.fs, &at.option, at.seed));
        }
    }
    let mut rounds: Vec<u64> = outcome.checkpoints.iter().map(|at| at.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    (lines, rounds)
}

/// An experiment with these lines.
fn experiment(lines: &[Line]) -> Experiment {
    let mut experiment = Experiment::find("fast17-fig2").unwrap();
    let names = |of: fn(&Line) -> &String| lines.iter().map(of).cloned().collect::<Vec<String>>();
    (experiment.fs, experiment.disks) = (names(|line| &line.fs), names(|line| &line.disk));
    let option = |name| crate::spec::Variant { name, ..Default::default() };
    experiment.option = names(|line| &line.option).into_iter().map(option).collect();
    experiment
}

fn claim(measure: &str) -> Claim {
    Claim {
        section: "§1".to_owned(),
        states: "it ages".to_owned(),
        measure: measure.to_owned(),
        side: "aged".to_owned(),
        ..Claim::default()
    }
}

fn above(bound: f64) -> Option<Bounds> {
    Some(Bounds { above: Some(bound), below: None })
}

fn below(bound: f64) -> Option<Bounds> {
    Some(Bounds { above: None, below: Some(bound) })
}

fn judge(claim: &Claim, outcome: &Outcome) -> Judged {
    let (lines, rounds) = scheduled(outcome);
    let experiment = experiment(&lines);
    Judge { experiment: &experiment, lines: &lines, rounds: &rounds, outcome, untraced: None }.judge(claim)
}

fn verdicts(claim: &Claim, outcome: &Outcome) -> Vec<Verdict> {
    judge(claim, outcome).lines.iter().map(|line| line.verdict).collect()
}

use Verdict::{CannotBeTold, DoesNotHold, Holds, TrendOnly};

#[test]
fn published_numbers_hold_within_a_quarter_and_trends_by_their_direction() {
    let cost = |cost| outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0), at("xfs", "hdd", "", 9, 0.5, cost)]);
    let over = vec![Over { at: Some(At::Place(Place::First)), ..Over::default() }];
    let grows = Claim { over, published: Some(Published::Figure(4.0)), ..claim(COST) };
    for (value, verdict) in [
        (3.0, Holds),
        (5.0, Holds),
        (2.9, TrendOnly),
        (50.0, TrendOnly),
        (1.0, DoesNotHold),
        (0.3, DoesNotHold),
    ] {
        assert_eq!(judge(&grows, &cost(value)).verdict, verdict, "{value}");
    }
    assert_eq!(judge(&grows, &cost(1.01)).verdict, CannotBeTold);
    let level = Claim { published: Some(Published::Figure(1.0)), trend: below(1.05), ..grows.clone() };
    assert_eq!(judge(&level, &cost(1.01)).verdict, Holds, "the bound is not at 1");
    let range = Claim { published: Some(Published::Range([3.0, 15.0])), ..grows.clone() };
    assert_eq!(judge(&range, &cost(15.0)).verdict, Holds);
    assert_eq!(judge(&range, &cost(16.0)).verdict, TrendOnly);
    let bound = Claim { published: Some(Published::Bound(above(3.0).unwrap())), ..grows.clone() };
    assert_eq!(judge(&bound, &cost(99.0)).verdict, Holds);
    assert_eq!(judge(&bound, &cost(2.0)).verdict, TrendOnly);
    let change = Claim { change: true, published: Some(Published::Figure(-0.3)), ..grows };
    assert_eq!(judge(&change, &cost(0.7)).verdict, Holds);
    assert_eq!(judge(&change, &cost(0.97)).verdict, TrendOnly, "3 % is no third");
    let judged = judge(&change, &cost(0.99));
    assert_eq!(judged.verdict, CannotBeTold, "1 % is no effect that a single aging tells");
    assert!(judged.lines[0].why.ends_with("a single aging tells no effect below 2 %"), "{judged:?}");
    let judged = judge(&change, &cost(1.3));
    assert_eq!(judged.verdict, DoesNotHold);
    assert_eq!(judged.measured(), "xfs, hdd: modelled_s_per_gib, round 9 over round 0, change: 0.300");
    assert_eq!(judged.lines[0].why, "published: -0.3; trend: below 0");
}

#[test]
fn claims_are_judged_by_file_system_and_disk_and_the_worst_decides() {
    let two = [("ext4", 1.0), ("xfs", 3.0)]
        .map(|(fs, cost)| ["hdd", "ssd"].map(|disk| at(fs, disk, "", 1, 0.5, cost)));
    let two = outcome(two.concat());
    let costs = Claim { trend: above(2.0), ..claim(COST) };
    assert_eq!(verdicts(&costs, &two), [DoesNotHold, DoesNotHold, Holds, Holds]);
    assert_eq!(judge(&costs, &two).verdict, DoesNotHold);
    assert_eq!(judge(&Claim { any: true, ..costs.clone() }, &two).verdict, Holds);
    assert_eq!(
        verdicts(&Claim { trend: above(0.4), ..claim(SCORE) }, &two).len(),
        2,
        "the same on both disks"
    );
    let one = Claim { fs: vec!["xfs".to_owned()], disks: vec!["ssd".to_owned()], ..costs };
    assert_eq!(judge(&one, &two).measured(), "xfs, ssd: modelled_s_per_gib, round 1: 3.000");
}

#[test]
fn rates_of_single_agings_tell_no_small_effect() {
    let rate = measures::OPERATIONS_RATIO.name;
    let verdict = |ratio: f64| {
        let mut one = at("xfs", "hdd", "", 1, 0.5, 1.0);
        one.values.insert(rate.to_owned(), ratio);
        let claim = Claim { change: true, published: Some(Published::Figure(-0.13)), ..claim(rate) };
        judge(&claim, &outcome(vec![one])).verdict
    };
    assert_eq!([0.95, 0.91, 0.88, 0.8].map(verdict), [CannotBeTold, CannotBeTold, Holds, TrendOnly]);
}

#[test]
fn differences_either_way_hold_on_both_sides() {
    let verdict = |cost: f64| {
        let two = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0), at("xfs", "hdd", "", 9, 0.5, cost)]);
        let over = vec![Over { at: Some(At::Place(Place::First)), ..Over::default() }];
        let differ = Claim { over, either_way: true, trend: above(1.25), ..claim(COST) };
        judge(&differ, &two).verdict
    };
    assert_eq!([0.5, 0.9, 1.2, 2.0].map(verdict), [Holds, DoesNotHold, DoesNotHold, Holds]);
}

#[test]
fn extreme_of_all_lines_is_judged_alone() {
    let four = [("ext4", 0.95), ("xfs", 0.9)].map(|(fs, cost)| {
        ["hdd", "ssd"].map(|disk| at(fs, disk, "", 1, 0.5, if disk == "ssd" { cost } else { 1.2 }))
    });
    let mut four = outcome(four.concat());
    let trend = Some(Bounds { above: Some(0.8), below: Some(1.0) });
    let least = |published| Claim {
        published: Some(Published::Range(published)),
        trend,
        extreme: Some(Extreme::Least),
        ..claim(COST)
    };
    let judged = judge(&least([0.88, 0.92]), &four);
    assert_eq!((judged.lines.len(), judged.verdict), (1, Holds), "{judged:?}");
    assert_eq!(judged.measured(), "xfs, ssd: modelled_s_per_gib, round 1: 0.900");
    assert_eq!(judge(&least([0.94, 0.96]), &four).verdict, TrendOnly, "ext4 does not make up for xfs");
    let greatest = Claim { extreme: Some(Extreme::Greatest), ..least([0.88, 0.92]) };
    assert_eq!(judge(&greatest, &four).verdict, DoesNotHold);
    four.checkpoints[1].values.clear();
    assert_eq!(judge(&least([0.88, 0.92]), &four).verdict, CannotBeTold, "the extreme may be missing");
}

#[test]
fn values_are_divided_by_those_at_other_coordinates() {
    let side = |fs: &str, side: &str, option: &str, round, cost| CheckpointSide {
        side: side.to_owned(),
        ..at(fs, "hdd", option, round, 0.5, cost)
    };
    let all = outcome(vec![
        side("ext4", "aged", "a", 0, 10.0),
        side("ext4", "aged", "a", 5, 40.0),
        side("ext4", "aged", "a", 9, 20.0),
        side("ext4", "unaged", "a", 9, 8.0),
        side("ext4", "aged", "b", 0, 2.0),
        side("ext4", "aged", "b", 5, 2.0),
        side("ext4", "aged", "b", 9, 1.0),
        side("ext4", "unaged", "b", 9, 1.0),
    ]);
    let value = |at, over: Vec<Over>| {
        let of_a = Claim { options: vec!["a".to_owned()], at, over, trend: above(0.0), ..claim(COST) };
        let judged = judge(&of_a, &all);
        judged.measured().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    let named = |name: &str| Some(name.to_owned());
    let first = || Over { at: Some(At::Place(Place::First)), ..Over::default() };
    let option = || Over { option: named("b"), ..Over::default() };
    assert_eq!(value(At::default(), vec![]), 20.0);
    assert_eq!(value(At::Round(5), vec![]), 40.0);
    assert_eq!(value(At::Place(Place::Least), vec![]), 10.0);
    assert_eq!(value(At::Place(Place::Greatest), vec![]), 40.0);
    assert_eq!(value(At::default(), vec![Over { side: named("unaged"), ..Over::default() }]), 2.5);
    assert_eq!(
        value(At::default(), vec![Over { side: named("unaged"), option: named("b"), ..Over::default() }]),
        20.0
    );
    assert_eq!(value(At::default(), vec![first()]), 2.0);
    assert_eq!(value(At::default(), vec![first(), option()]), 4.0, "grows twice, the other halves");
    assert_eq!(value(At::Round(5), vec![Over { measure: named(SCORE), ..Over::default() }]), 80.0);
}

#[test]
fn agings_are_judged_by_the_interval_of_their_mean() {
    let costs = |costs: [f64; 3]| {
        let of = |(seed, cost): (u64, f64)| CheckpointSide { seed, ..at("xfs", "hdd", "", 1, 0.5, cost) };
        outcome([1, 2, 3].into_iter().zip(costs).map(of).collect())
    };
    let judged = |bound, all: &Outcome| judge(&Claim { trend: above(bound), ..claim(COST) }, all);
    let near = costs([2.9, 3.0, 3.1]);
    assert_eq!((judged(2.5, &near).lines.len(), judged(2.5, &near).verdict), (1, Holds));
    assert!(judged(2.5, &near).measured().ends_with("2.999 [2.760 – 3.258], 3 agings"));
    assert_eq!(judged(3.5, &near).verdict, DoesNotHold);
    let untold = judged(3.1, &near);
    assert_eq!(
        (untold.verdict, &*untold.lines[0].why),
        (CannotBeTold, "trend: above 3.1: within the interval of 3 agings")
    );
    assert_eq!(judged(2.5, &costs([1.0, 3.0, 9.0])).verdict, CannotBeTold, "the agings differ too much");
    let published = |published, trend, all: &Outcome| {
        judge(&Claim { published: Some(published), trend, ..claim(COST) }, all).verdict
    };
    let (figure, range) = (Published::Figure(2.7), Published::Range([2.8, 4.0]));
    assert_eq!(published(figure, above(1.0), &near), Holds);
    assert_eq!(published(range, above(1.0), &near), TrendOnly, "a part of the interval is below");
    assert_eq!(published(range, None, &near), CannotBeTold);
    assert_eq!(published(Published::Range([4.0, 5.0]), None, &near), DoesNotHold);
}

#[test]
fn correlations_are_judged_alone_or_pooled() {
    let line = |fs: &str, scores: &[f64]| {
        let round = |(round, score): (usize, &f64)| at(fs, "hdd", "", round as u64, *score, round as f64);
        scores.iter().enumerate().map(round).collect::<Vec<_>>()
    };
    let of = |figure, pooled| {
        let correlates_with = Some(SCORE.to_owned());
        Claim { correlates_with, published: Some(Published::Figure(figure)), pooled, ..claim(COST) }
    };
    let falling = line("xfs", &[1.0, 0.9, 0.8, 0.7, 0.6, 0.5]);
    assert_eq!(judge(&of(-0.9, false), &outcome(falling.clone())).verdict, Holds);
    assert_eq!(judge(&of(-0.5, false), &outcome(falling.clone())).verdict, TrendOnly);
    let rising = line("ext4", &[0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    let both = outcome([falling, rising].concat());
    assert_eq!(verdicts(&of(-0.9, false), &both), [Holds, DoesNotHold]);
    let pooled = judge(&of(-0.9, true), &both);
    assert_eq!((pooled.lines.len(), pooled.verdict), (1, CannotBeTold), "{pooled:?}");
    assert!(
        pooled
            .measured()
            .starts_with("hdd: correlation of modelled_s_per_gib with dynamic_layout_score over 12")
    );
    let few = outcome(line("xfs", &[1.0, 0.9, 0.8]));
    assert_eq!(judge(&of(-0.9, false), &few).verdict, CannotBeTold, "three rounds give no interval");
}

#[test]
fn correlations_are_of_logarithms_and_both_sides_on_demand() {
    let score = |side: &str, scores: [f64; 3]| {
        let of = |(round, score): (usize, f64)| {
            let cost = 10f64.powf(-score);
            CheckpointSide {
                side: side.to_owned(),
                ..at("xfs", "hdd", "", round as u64, 10f64.powf(score), cost)
            }
        };
        scores.into_iter().enumerate().map(of).collect::<Vec<_>>()
    };
    let both = outcome([score("aged", [0.0, 1.0, 2.0]), score("unaged", [3.0, 4.0, 5.0])].concat());
    let of = |log, pooled| {
        let correlates_with = Some(SCORE.to_owned());
        let claim =
            Claim { correlates_with, published: Some(Published::Figure(-1.0)), log, pooled, ..claim(COST) };
        judge(&claim, &both).measured()
    };
    assert!(of(true, true).contains("over 6 measurements: -1.000"), "{}", of(true, true));
    assert!(of(false, true).contains("over 6 measurements: -0.2"), "{}", of(false, true));
    assert!(of(true, false).contains("3 measurements give no"), "{}", of(true, false));
}

#[test]
fn round_is_the_nearest_to_a_share_of_the_last() {
    let outcome = outcome((1..=20).map(|round| at("xfs", "hdd", "", round, 0.5, round as f64)).collect());
    let at = |share| {
        judge(
            &Claim { at: At::Share(share), published: Some(Published::Figure(1.0)), ..claim(COST) },
            &outcome,
        )
    };
    assert!(at(0.1).measured().contains("round 2: 2.000"), "{}", at(0.1).measured());
    assert!(at(0.0).measured().contains("round 1: 1.000"), "{}", at(0.0).measured());
}

/// Three agings around a value.
fn agings(fs: &str, disk: &str, side: &str, value: f64) -> Vec<CheckpointSide> {
    let of = |(seed, by): (u64, f64)| CheckpointSide {
        side: side.to_owned(),
        seed,
        ..at(fs, disk, "", 1, 0.5, value * by)
    };
    [(1, 0.98), (2, 1.0), (3, 1.02)].map(of).to_vec()
}

#[test]
fn orders_are_compared_pair_by_pair() {
    let three = |xfs, btrfs| {
        let of = [("ext4", 50.0), ("xfs", xfs), ("btrfs", btrfs)];
        outcome(of.map(|(fs, value)| agings(fs, "hdd", "aged", value)).concat())
    };
    let order = Claim { order: ["ext4", "xfs", "btrfs"].map(str::to_owned).to_vec(), ..claim(COST) };
    let judged = judge(&order, &three(40.0, 30.0));
    assert_eq!((judged.verdict, judged.lines.len()), (Holds, 1));
    assert_eq!(judged.measured(), "hdd: modelled_s_per_gib: ext4 > xfs > btrfs");
    assert_eq!(judge(&order, &three(40.0, 60.0)).verdict, DoesNotHold);
    assert_eq!(judge(&order, &three(49.5, 30.0)).verdict, CannotBeTold);
    let two = outcome(agings("ext4", "hdd", "aged", 50.0));
    assert_eq!(judge(&order, &two).verdict, CannotBeTold, "one is not measured");
}

#[test]
fn orders_change_only_with_differences_beyond_their_intervals() {
    let two = |disk: &str, aged: f64| {
        let of = [
            ("ext4", "unaged", 90.0),
            ("ext4", "aged", 50.0),
            ("xfs", "unaged", 70.0),
            ("xfs", "aged", aged),
        ];
        of.map(|(fs, side, value)| agings(fs, disk, side, value)).concat()
    };
    let reorders = |any| Claim { reorders: true, any, ..claim(COST) };
    let verdict = |all| judge(&reorders(false), &outcome(all)).verdict;
    assert_eq!(verdict(two("hdd", 60.0)), Holds);
    assert_eq!(verdict(two("hdd", 50.5)), DoesNotHold, "the order of the means changed by chance");
    assert_eq!(verdict(two("hdd", 40.0)), DoesNotHold);
    let both = outcome([two("hdd", 40.0), two("ssd", 60.0)].concat());
    assert_eq!(verdicts(&reorders(false), &both), [DoesNotHold, Holds]);
    assert_eq!(judge(&reorders(true), &both).verdict, Holds);
    assert!(
        judge(&reorders(true), &both)
            .measured()
            .contains("ssd: modelled_s_per_gib: ext4 and xfs change places")
    );
    let keeps = Claim { keeps_order: true, ..claim(COST) };
    assert_eq!(verdicts(&keeps, &both), [Holds, DoesNotHold]);
    assert_eq!(
        judge(&keeps, &outcome(two("hdd", 50.5))).verdict,
        Holds,
        "the order of the means changed by chance"
    );
}

#[test]
fn missing_measurements_are_not_told() {
    let single = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0)]);
    let costs = Claim { trend: above(0.5), ..claim(COST) };
    assert_eq!(judge(&Claim { fs: vec!["zfs".to_owned()], ..costs.clone() }, &single).verdict, CannotBeTold);
    let absent = Claim { missing: "no such disk".to_owned(), ..claim("") };
    assert_eq!(
        (judge(&absent, &single).verdict, judge(&absent, &single).measured()),
        (CannotBeTold, "no such disk".to_owned())
    );
    // The reason names the cause only if block requests are missing.
    let (lines, rounds) = scheduled(&single);
    let experiment = experiment(&lines);
    let untraced = Some("no tracefs");
    let judge = Judge { experiment: &experiment, lines: &lines, rounds: &rounds, outcome: &single, untraced };
    let why = judge.judge(&Claim { trend: above(1.0), ..claim("aging_ratio") }).measured();
    assert!(why.contains("no tracefs") && why.contains("round 0"), "{why}");
}

#[test]
fn failed_cells_are_not_told() {
    let cost = |fs: &str, round: u64| at(fs, "hdd", "", round, 0.5, 1.0 + round as f64);
    let ext4 = [0, 50, 100].map(|round| cost("ext4", round)).to_vec();
    let mut half = outcome([ext4, vec![cost("xfs", 0), cost("xfs", 50)]].concat());
    half.failed.push(FailedCell { cell: "xfs".to_owned(), why: "no space".to_owned() });
    let last = Claim { trend: above(2.0), ..claim(COST) };
    let judged = judge(&last, &half);
    assert_eq!(verdicts(&last, &half), [Holds, CannotBeTold]);
    assert!(judged.lines[1].why.contains("cell xfs failed"), "{judged:?}");
    let correlation = Claim { correlates_with: Some(SCORE.to_owned()), trend: below(2.0), ..claim(COST) };
    assert_eq!(verdicts(&correlation, &half)[1], CannotBeTold);
    let first = Claim { at: At::Place(Place::First), trend: above(0.5), ..claim(COST) };
    assert_eq!(verdicts(&first, &half), [Holds, Holds], "the first round is there");
    let over = vec![Over { fs: Some("xfs".to_owned()), ..Over::default() }];
    let compared = Claim { fs: vec!["ext4".to_owned()], over, trend: above(0.1), ..claim(COST) };
    assert_eq!(verdicts(&compared, &half), [CannotBeTold], "the compared cell ended earlier");
}

#[test]
fn figure_holds_if_every_claim_follows_its_trend() {
    let of = |verdicts: &[Verdict]| {
        verdicts
            .iter()
            .map(|verdict| Judged { claim: claim(COST), verdict: *verdict, lines: Vec::new() })
            .collect::<Vec<_>>()
    };
    let figure = |verdicts: &[Verdict]| FigureVerdict::of(&of(verdicts), true);
    assert_eq!(figure(&[Holds, TrendOnly]), FigureVerdict::Holds);
    assert_eq!(FigureVerdict::of(&of(&[Holds]), false), FigureVerdict::TrendOnly, "a series is missing");
    assert_eq!(figure(&[Holds, TrendOnly, DoesNotHold]), FigureVerdict::TrendOnly);
    assert_eq!(figure(&[Holds, CannotBeTold, Holds]), FigureVerdict::TrendOnly);
    assert_eq!(figure(&[Holds, DoesNotHold, DoesNotHold]), FigureVerdict::DoesNotHold);
    assert_eq!(figure(&[CannotBeTold, Holds]), FigureVerdict::CannotBeTold);
    assert_eq!(figure(&[]), FigureVerdict::CannotBeTold);
}
