use super::*;
use crate::line::Aging;
use crate::{Axis, FailedCell, Rule};
use results::measures;
use run::checkpoint::CheckpointSide;
use std::collections::HashSet;

const SCORE: &str = measures::DYNAMIC_LAYOUT_SCORE.name;
const MODELLED: &str = measures::MODELLED_S_PER_GIB.name;

/// A checkpoint with a score and a cost.
fn at(fs: &str, disk: &str, option: &str, round: u64, score: f64, cost: f64) -> CheckpointSide {
    let values = [(SCORE, score), (MODELLED, cost)];
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
        checks: Vec::new(),
        trend: None,
        correlations: Vec::new(),
        checkpoints,
        pairs: Vec::new(),
        trees: Vec::new(),
        pictures: Vec::new(),
        failed: Vec::new(),
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

fn claim(measure: &str, rule: Rule) -> Check {
    Check {
        claim: "it ages".to_owned(),
        published: "it aged".to_owned(),
        measure: measure.to_owned(),
        fs: Vec::new(),
        disks: Vec::new(),
        options: Vec::new(),
        side: "aged".to_owned(),
        rule,
        level: false,
        in_some: false,
        why: String::new(),
    }
}

fn check(of: &Check, outcome: &Outcome) -> Vec<Checked> {
    let (lines, rounds) = scheduled(outcome);
    Judge { lines: &lines, rounds: &rounds, outcome, untraced: None }.check(of)
}

fn holds(of: &Check, outcome: &Outcome) -> Vec<Option<bool>> {
    check(of, outcome).into_iter().map(|checked| checked.holds).collect()
}

#[test]
fn first_and_last_values_are_compared_with_bounds() {
    let falls = outcome(vec![at("xfs", "hdd", "", 100, 0.2, 9.0), at("xfs", "hdd", "", 0, 0.95, 3.0)]);
    let score = |rule| holds(&claim(SCORE, rule), &falls);
    assert_eq!(
        score(Rule { first_above: Some(0.9), last_below: Some(0.3), ..Rule::default() }),
        [Some(true)]
    );
    assert_eq!(score(Rule { first_above: Some(0.96), ..Rule::default() }), [Some(false)]);
    assert_eq!(score(Rule { last_above: Some(0.1), ..Rule::default() }), [Some(true)]);
    assert_eq!(score(Rule { last_below: Some(0.1), ..Rule::default() }), [Some(false)]);
    let cost = |rule| holds(&claim(MODELLED, rule), &falls);
    assert_eq!(cost(Rule { grows_above: Some(2.9), ..Rule::default() }), [Some(true)]);
    assert_eq!(cost(Rule { grows_above: Some(3.0), ..Rule::default() }), [Some(false)]);
    assert_eq!(cost(Rule { grows_below: Some(3.1), ..Rule::default() }), [Some(true)]);
    let within = |at_round, at_above| Rule { at_round, at_above, ..Rule::default() };
    assert_eq!(cost(within(Some(100), Some(8.9))), [Some(true)]);
    assert_eq!(cost(within(Some(100), Some(9.0))), [Some(false)]);
}

#[test]
fn claims_are_judged_per_file_system_and_disk() {
    let two = ["ext4", "xfs"].map(|fs| ["hdd", "ssd"].map(|disk| at(fs, disk, "", 1, 0.5, 1.0)));
    let two = outcome(two.concat());
    let rule = Rule { last_above: Some(0.4), ..Rule::default() };
    assert_eq!(check(&claim(SCORE, rule.clone()), &two).len(), 2);
    assert_eq!(check(&claim(MODELLED, rule.clone()), &two).len(), 4);
    let one = Check { fs: vec!["xfs".to_owned()], disks: vec!["ssd".to_owned()], ..claim(MODELLED, rule) };
    let checked = check(&one, &two);
    assert_eq!(checked.len(), 1);
    assert_eq!(checked[0].claim, "xfs, ssd: it ages");
    assert_eq!(checked[0].measured, "modelled_s_per_gib, round 1: 1.000");
}

#[test]
fn setting_is_compared_with_all_named_settings() {
    let nodes = [("4 KiB", 6.0), ("8 KiB", 4.0), ("64 KiB", 2.0)];
    let all = outcome(nodes.map(|(node, cost)| at("btrfs", "hdd", node, 1, 0.5, cost)).to_vec());
    let over = |others: &[&str], ratio_above| {
        let over_options = others.iter().map(|other| (*other).to_owned()).collect();
        let rule = Rule { over_options, ratio_above: Some(ratio_above), ..Rule::default() };
        holds(&Check { options: vec!["4 KiB".to_owned()], ..claim(MODELLED, rule) }, &all)
    };
    assert_eq!(over(&["64 KiB"], 2.5), [Some(true)]);
    assert_eq!(over(&["8 KiB", "64 KiB"], 2.5), [Some(false)], "all bounds must hold");
    assert_eq!(over(&["8 KiB", "64 KiB"], 1.1), [Some(true)]);
}

#[test]
fn settings_are_compared_at_the_named_round() {
    let costs = [("a", 1, 2.0), ("a", 9, 8.0), ("b", 1, 4.0), ("b", 9, 4.0)];
    let both =
        outcome(costs.map(|(option, round, cost)| at("xfs", "hdd", option, round, 0.5, cost)).to_vec());
    let above = |at_round| {
        let rule =
            Rule { at_round, over_options: vec!["b".to_owned()], ratio_above: Some(1.0), ..Rule::default() };
        holds(&Check { options: vec!["a".to_owned()], ..claim(MODELLED, rule) }, &both)
    };
    assert_eq!(above(None), [Some(true)]);
    assert_eq!(above(Some(1)), [Some(false)]);
}

#[test]
fn file_systems_are_compared_by_growth() {
    let falls = |fs: &str, from, to| [at(fs, "hdd", "", 0, from, 1.0), at(fs, "hdd", "", 9, to, 1.0)];
    let both = outcome([falls("btrfs", 0.8, 0.2), falls("ext4", 0.2, 0.1)].concat());
    let furthest = |fs: &str, other: &str| {
        let growth_over_fs = vec![other.to_owned()];
        let rule = Rule { growth_over_fs, ratio_below: Some(0.95), ..Rule::default() };
        holds(&Check { fs: vec![fs.to_owned()], ..claim(SCORE, rule) }, &both)
    };
    assert_eq!(furthest("btrfs", "ext4"), [Some(true)], "a quarter of the first value remains, not a half");
    assert_eq!(furthest("ext4", "btrfs"), [Some(false)]);
}

#[test]
fn disk_is_compared_with_all_named_disks() {
    let two = outcome(
        ["hdd", "ssd"]
            .map(|disk| at("xfs", disk, "", 1, 0.5, if disk == "ssd" { 2.0 } else { 8.0 }))
            .to_vec(),
    );
    let under = |ratio_below| {
        let rule =
            Rule { over_disks: vec!["hdd".to_owned()], ratio_below: Some(ratio_below), ..Rule::default() };
        holds(&Check { disks: vec!["ssd".to_owned()], ..claim(MODELLED, rule) }, &two)
    };
    assert_eq!(under(0.3), [Some(true)]);
    assert_eq!(under(0.25), [Some(false)]);
}

#[test]
fn spread_is_maximum_over_minimum() {
    let costs = [(1, 4.0), (2, 6.0), (3, 3.0)];
    let mut three = outcome(costs.map(|(round, cost)| at("xfs", "hdd", "", round, 0.5, cost)).to_vec());
    let spread = |outcome: &Outcome, rule| check(&claim(MODELLED, rule), outcome).remove(0);
    let below = |bound| Rule { spread_below: Some(bound), ..Rule::default() };
    let judged = spread(&three, below(2.1));
    assert_eq!(judged.holds, Some(true));
    assert!(judged.measured.ends_with("maximum over minimum of 3 rounds: 2.000"), "{judged:?}");
    assert_eq!(spread(&three, below(2.0)).holds, Some(false));
    assert_eq!(spread(&three, Rule { spread_above: Some(1.9), ..Rule::default() }).holds, Some(true));
    three.checkpoints[1].values.clear();
    assert_eq!(spread(&three, below(9.0)).holds, None, "a round is missing");
}

#[test]
fn least_and_greatest_cover_every_round() {
    let costs = [(1, 4.0), (2, 6.0), (3, 3.0)];
    let mut three = outcome(costs.map(|(round, cost)| at("xfs", "hdd", "", round, 0.5, cost)).to_vec());
    let least = |outcome: &Outcome, bound| {
        holds(&claim(MODELLED, Rule { least_above: Some(bound), ..Rule::default() }), outcome)
    };
    let greatest = Rule { greatest_below: Some(6.1), ..Rule::default() };
    assert_eq!((least(&three, 2.9), least(&three, 3.1)), (vec![Some(true)], vec![Some(false)]));
    assert_eq!(holds(&claim(MODELLED, greatest), &three), [Some(true)]);
    three.checkpoints[0].values.clear();
    assert_eq!(least(&three, 1.0), [None], "a round is missing");
}

#[test]
fn aged_is_compared_with_unaged_of_another_file_system() {
    let side = |fs: &str, side: &str, cost| CheckpointSide {
        side: side.to_owned(),
        ..at(fs, "hdd", "", 1, 0.5, cost)
    };
    let two = outcome(vec![
        side("betreefs", "aged", 8.0),
        side("betreefs", "unaged", 7.0),
        side("ext4", "aged", 90.0),
        side("ext4", "unaged", 10.0),
    ]);
    let under = |ratio_below| {
        let over_unaged_fs = vec!["ext4".to_owned()];
        let rule = Rule { over_unaged_fs, ratio_below: Some(ratio_below), ..Rule::default() };
        holds(&Check { fs: vec!["betreefs".to_owned()], ..claim(MODELLED, rule) }, &two)
    };
    assert_eq!((under(0.81), under(0.79)), (vec![Some(true)], vec![Some(false)]));
}

/// Three agings around a rate.
fn agings(fs: &str, disk: &str, side: &str, rate: f64) -> Vec<CheckpointSide> {
    let of = |(seed, by): (u64, f64)| CheckpointSide {
        side: side.to_owned(),
        seed,
        ..at(fs, disk, "", 1, 0.5, rate * by)
    };
    [(1, 0.98), (2, 1.0), (3, 1.02)].map(of).to_vec()
}

#[test]
fn ranking_changes_only_with_differences_beyond_their_intervals() {
    let two = |disk: &str, aged: f64| {
        [
            agings("ext4", disk, "unaged", 90.0),
            agings("ext4", disk, "aged", 50.0),
            agings("xfs", disk, "unaged", 70.0),
            agings("xfs", disk, "aged", aged),
        ]
        .concat()
    };
    let ranking = |in_some| Check {
        fs: vec!["ext4".to_owned()],
        in_some,
        ..claim(MODELLED, Rule { ranking_changes: true, ..Rule::default() })
    };
    let changes = |all: Vec<CheckpointSide>| holds(&ranking(false), &outcome(all));
    assert_eq!(changes(two("hdd", 60.0)), [Some(true)]);
    assert_eq!(changes(two("hdd", 50.5)), [Some(false)], "the order of the means changed by chance");
    assert_eq!(changes(two("hdd", 40.0)), [Some(false)]);
    let mut one = two("hdd", 60.0);
    one.retain(|at| at.seed == 1);
    assert_eq!(changes(one), [None], "one aging is not enough");

    let both = outcome([two("hdd", 40.0), two("ssd", 60.0)].concat());
    assert_eq!(holds(&ranking(false), &both), [Some(false), Some(true)]);
    let judged = check(&ranking(true), &both);
    assert_eq!(judged.len(), 1);
    assert_eq!((judged[0].claim.as_str(), judged[0].holds), ("it ages", Some(true)));
    assert!(
        judged[0].measured.contains(
            "ext4, ssd: unaged: ext4, xfs; aged: xfs, ext4; ext4 and xfs change places (unaged higher by 29 %"
        ),
        "{judged:?}"
    );
    let nowhere = outcome([two("hdd", 40.0), two("ssd", 50.5)].concat());
    assert_eq!(holds(&ranking(true), &nowhere), [Some(false)]);
}

#[test]
fn rule_without_bounds_is_not_judged() {
    let one = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0)]);
    let rule = Rule { at_round: Some(0), correlates_with: Some(SCORE.to_owned()), ..Rule::default() };
    assert_eq!(holds(&claim(MODELLED, rule), &one), [None]);
}

#[test]
fn missing_measurements_are_not_judged() {
    let rule = Rule { grows_above: Some(1.0), ..Rule::default() };
    let single = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0)]);
    assert_eq!(holds(&claim(MODELLED, rule.clone()), &single), [None]);
    let last = Rule { last_above: Some(1.0), ..Rule::default() };
    assert_eq!(holds(&claim("aging_ratio", last.clone()), &single), [None]);
    let nothing = check(&Check { fs: vec!["zfs".to_owned()], ..claim(MODELLED, rule) }, &single);
    assert_eq!(nothing.iter().map(|c| c.holds).collect::<Vec<_>>(), [None]);
    // The reason names the cause only if block requests are missing.
    let (lines, rounds) = scheduled(&single);
    let judge = Judge { lines: &lines, rounds: &rounds, outcome: &single, untraced: Some("no tracefs") };
    let why = &judge.check(&claim("aging_ratio", last))[0].why;
    assert!(why.contains("no tracefs") && why.contains("round 0"), "{why}");
}

#[test]
fn partly_failed_cell_is_not_judged() {
    let rounds = [0, 50, 100];
    let cost = |fs: &str, round: u64| at(fs, "hdd", "", round, 0.5, 1.0 + round as f64);
    let mut half = outcome(
        [rounds.map(|round| cost("ext4", round)).to_vec(), vec![cost("xfs", 0), cost("xfs", 50)]].concat(),
    );
    half.failed.push(FailedCell { cell: "xfs".to_owned(), why: "no space".to_owned() });
    let judged = |rule| check(&claim(MODELLED, rule), &half);
    for rule in [
        Rule { last_above: Some(2.0), ..Rule::default() },
        Rule { grows_above: Some(2.0), ..Rule::default() },
        Rule { correlates_with: Some(SCORE.to_owned()), correlation_below: Some(2.0), ..Rule::default() },
    ] {
        let checked = judged(rule);
        assert_eq!(checked[1].holds, None);
        assert!(checked[1].why.contains("cell xfs failed"), "{}", checked[1].why);
    }
    let first = judged(Rule { first_above: Some(0.5), ..Rule::default() });
    assert_eq!(first[1].holds, Some(true), "the first round is there");
    let over = Rule { growth_over_fs: vec!["xfs".to_owned()], ratio_above: Some(1.0), ..Rule::default() };
    let ext4 = Check { fs: vec!["ext4".to_owned()], ..claim(MODELLED, over) };
    assert_eq!(holds(&ext4, &half), [None], "the compared cell ended earlier");
    // A cell without any checkpoint is in the list too.
    half.checkpoints.retain(|at| at.fs != "xfs");
    let mut lines = Vec::new();
    for fs in ["ext4", "xfs"] {
        Line::add(&mut lines, [fs, "hdd", ""], aging(fs, "", 1));
    }
    let judge = Judge { lines: &lines, rounds: &rounds, outcome: &half, untraced: None };
    let all = judge.check(&claim(MODELLED, Rule { last_above: Some(2.0), ..Rule::default() }));
    assert_eq!(all.iter().map(|c| c.holds).collect::<Vec<_>>(), [Some(true), None]);
}

#[test]
fn one_failed_part_decides() {
    let one = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0)]);
    let rule = |first_above| Rule { first_above, grows_above: Some(1.0), ..Rule::default() };
    assert_eq!(holds(&claim(MODELLED, rule(Some(2.0))), &one), [Some(false)]);
    assert_eq!(holds(&claim(MODELLED, rule(Some(0.5))), &one), [None]);
}

#[test]
fn correlation_holds_for_its_whole_interval() {
    let line = |scores: &[f64]| {
        let round = |(round, score): (usize, &f64)| at("xfs", "hdd", "", round as u64, *score, round as f64);
        outcome(scores.iter().enumerate().map(round).collect())
    };
    let of = |bound| {
        let (with, bound) = (Some(SCORE.to_owned()), Some(bound));
        claim(MODELLED, Rule { correlates_with: with, correlation_below: bound, ..Rule::default() })
    };
    let falling = line(&[1.0, 0.9, 0.8, 0.7, 0.6, 0.5]);
    assert_eq!(holds(&of(-0.9), &falling), [Some(true)]);
    // r is below the bound, its interval is not.
    let wavering = line(&[1.0, 0.5, 0.9, 0.4, 0.8]);
    let (lines, rounds) = scheduled(&wavering);
    let judge = Judge { lines: &lines, rounds: &rounds, outcome: &wavering, untraced: None };
    let found = &judge.correlations(&of(-0.3))[0];
    assert!(found.found.r < -0.3 && found.found.high > -0.3, "{found:?}");
    assert_eq!((found.with.as_str(), found.found.n), (SCORE, 5));
    assert_eq!(holds(&of(-0.3), &wavering), [None]);
    let rising = line(&[0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
    assert_eq!(holds(&of(-0.4), &rising), [Some(false)]);
    assert_eq!(holds(&of(-0.4), &line(&[1.0, 0.9, 0.8])), [None], "three rounds give no interval");
}

#[test]
fn agings_are_judged_by_the_interval_of_their_mean() {
    let costs = |costs: [f64; 3]| {
        let of = |(seed, cost): (u64, f64)| CheckpointSide { seed, ..at("xfs", "hdd", "", 1, 0.5, cost) };
        outcome([1, 2, 3].into_iter().zip(costs).map(of).collect())
    };
    let above = |bound, all: &Outcome| {
        check(&claim(MODELLED, Rule { last_above: Some(bound), ..Rule::default() }), all)
    };
    let near = costs([2.9, 3.0, 3.1]);
    let checked = above(2.5, &near);
    assert_eq!((checked.len(), checked[0].holds), (1, Some(true)));
    assert!(checked[0].measured.ends_with("2.999 [2.760 – 3.258], 3 agings"), "{checked:?}");
    assert_eq!(above(3.5, &near)[0].holds, Some(false));
    let untold = &above(3.1, &near)[0];
    assert_eq!(
        (untold.holds, &*untold.why),
        (None, "cannot be told: 3.1 is within the interval of 3 agings")
    );
    assert_eq!(above(2.5, &costs([1.0, 3.0, 9.0]))[0].holds, None, "the agings differ too much");
}

#[test]
fn reason_is_shown_without_changing_the_verdict() {
    let outcome = outcome(vec![at("ext4", "hdd", "", 0, 0.9, 1.0), at("xfs", "hdd", "", 0, 0.9, 9.0)]);
    let below = Check {
        why: "because".to_owned(),
        ..claim(MODELLED, Rule { last_below: Some(5.0), ..Rule::default() })
    };
    let verdicts: Vec<(Option<bool>, String)> =
        check(&below, &outcome).into_iter().map(|checked| (checked.holds, checked.reason)).collect();
    assert_eq!(verdicts, [(Some(true), String::new()), (Some(false), "because".to_owned())]);
}

#[test]
fn trend_needs_more_than_half_of_each_claim() {
    let judged = |holds: &[Option<bool>], level: bool| -> Vec<Checked> {
        let one = |holds: &Option<bool>| Checked {
            claim: String::new(),
            published: String::new(),
            measured: String::new(),
            holds: *holds,
            why: String::new(),
            level,
            reason: String::new(),
        };
        holds.iter().map(one).collect()
    };
    let (yes, no) = (Some(true), Some(false));
    let most = || judged(&[yes, yes, no, None], false);
    assert_eq!(trend(&[most(), judged(&[no, no], true)]), yes, "a missed level does not count for the trend");
    assert_eq!(trend(&[most(), judged(&[yes, no], false)]), no, "half is not more than half");
    assert_eq!(trend(&[most(), judged(&[None], false)]), None);
    assert_eq!(trend(&[judged(&[no], false), judged(&[None], false)]), no);
    assert_eq!(trend(&[judged(&[yes], true)]), None, "levels alone give no trend");
}
