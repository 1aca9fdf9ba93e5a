//! Whether what was published holds for what was measured.

use super::outcome::{CheckpointSide, Outcome, is_by_disk};
use super::spec::{Check, Rule};
use crate::compare::SUBJECTS;
use crate::stats::correlation;
use serde::{Deserialize, Serialize};

/// A claim, judged for one file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// What is claimed, and of what.
    pub claim: String,
    /// What was published.
    pub published: String,
    /// What was measured.
    pub measured: String,
    /// Whether it holds; `None` if it could not be judged.
    pub holds: Option<bool>,
    /// By what it was judged, or why it could not be.
    pub why: String,
}

/// What a claim is judged for: a line of a figure.
#[derive(Clone, PartialEq)]
struct Line<'o> {
    fs: &'o str,
    disk: &'o str,
    option: &'o str,
    seed: u64,
}

/// Judges a claim for every file system, disk, setting and seed that it is claimed of.
pub(super) fn check(check: &Check, outcome: &Outcome) -> Vec<Checked> {
    let mut lines: Vec<Line> = Vec::new();
    let by_disk = is_by_disk(&check.measure) || check.rule.correlates_with.as_deref().is_some_and(is_by_disk);
    for side in outcome.checkpoints.iter().filter(|side| side.side == check.side) {
        let line = Line { fs: &side.fs, disk: &side.disk, option: &side.option, seed: side.seed };
        let claimed = |of: &[String], name: &str| of.is_empty() || of.iter().any(|one| one == name);
        let same =
            |other: &Line| *other == line || (!by_disk && Line { disk: line.disk, ..other.clone() } == line);
        if claimed(&check.fs, line.fs)
            && claimed(&check.disks, line.disk)
            && claimed(&check.options, line.option)
            && !lines.iter().any(same)
        {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return vec![Checked {
            claim: check.claim.clone(),
            published: check.published.clone(),
            measured: String::new(),
            holds: None,
            why: "nothing was measured that it is claimed of".to_owned(),
        }];
    }
    lines.iter().map(|line| judge(check, line, by_disk, outcome)).collect()
}

fn judge(check: &Check, line: &Line, by_disk: bool, outcome: &Outcome) -> Checked {
    let of = [line.fs, line.option, if by_disk { line.disk } else { "" }];
    let of = of.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let values = series(outcome, line, &check.side, &check.measure);
    let verdicts = verdicts(check, line, &values, outcome);
    let known: Option<Vec<bool>> = verdicts.iter().map(|verdict| verdict.holds).collect();
    Checked {
        claim: format!("{of}: {}", check.claim),
        published: check.published.clone(),
        measured: verdicts.iter().map(|v| v.measured.as_str()).collect::<Vec<_>>().join("; "),
        holds: known.map(|all| all.into_iter().all(|holds| holds)),
        why: verdicts.iter().map(|v| v.why.as_str()).collect::<Vec<_>>().join("; "),
    }
}

/// What one part of a rule says.
struct Verdict {
    measured: String,
    holds: Option<bool>,
    why: String,
}

/// One verdict for each part of the rule that is given.
fn verdicts(check: &Check, line: &Line, values: &[(u64, f64)], outcome: &Outcome) -> Vec<Verdict> {
    let Rule {
        first_above,
        first_below,
        at_round,
        at_above,
        at_below,
        last_above,
        last_below,
        grows_above,
        grows_below,
        over_unaged_below,
        correlates_with,
        correlation_below,
        over_option,
        ratio_above,
    } = &check.rule;
    let (first, last) = (values.first(), values.last());
    let within = at_round.and_then(|wanted| values.iter().find(|(round, _)| *round == wanted));
    let growth = first.zip(last).filter(|(first, last)| first.0 < last.0).map(|(f, l)| l.1 / f.1);
    let at = |end: Option<&(u64, f64)>| end.map(|(round, value)| (format!("round {round}"), *value));
    let grown = growth.map(|growth| ("last over first".to_owned(), growth));
    let correlated = correlates_with.as_deref().and_then(|other| {
        let others = series(outcome, line, &check.side, other);
        let both = |(round, value): &(u64, f64)| {
            others.iter().find(|(at, _)| at == round).map(|(_, other)| (*value, *other))
        };
        let pairs: Vec<(f64, f64)> = values.iter().filter_map(both).collect();
        correlation(&pairs).map(|found| {
            (format!("correlation with {other} (95 %: {:.3} to {:.3})", found.low, found.high), found.r)
        })
    });
    let over = over_option.as_deref().and_then(|other| {
        let others = series(outcome, &Line { option: other, ..line.clone() }, &check.side, &check.measure);
        let ratio = last?.1 / others.last()?.1;
        Some((format!("over {other}"), ratio))
    });
    let over_unaged = series(outcome, line, SUBJECTS[1], &check.measure)
        .last()
        .and_then(|unaged| Some(("aged over unaged".to_owned(), last?.1 / unaged.1)));
    let parts = [
        (first_above, at(first), true),
        (first_below, at(first), false),
        (at_above, at(within), true),
        (at_below, at(within), false),
        (last_above, at(last), true),
        (last_below, at(last), false),
        (grows_above, grown.clone(), true),
        (grows_below, grown, false),
        (over_unaged_below, over_unaged, false),
        (correlation_below, correlated, false),
        (ratio_above, over, true),
    ];
    let given = parts.into_iter().filter_map(|(bound, value, above)| Some(((*bound)?, value, above)));
    given.map(|(bound, value, above)| verdict(&check.measure, bound, value, above)).collect()
}

fn verdict(measure: &str, bound: f64, value: Option<(String, f64)>, above: bool) -> Verdict {
    let side = if above { "above" } else { "below" };
    match value.filter(|(_, value)| value.is_finite()) {
        Some((what, value)) => Verdict {
            measured: format!("{measure}, {what}: {value:.3}"),
            holds: Some(if above { value > bound } else { value < bound }),
            why: format!("holds {side} {bound}"),
        },
        None => Verdict {
            measured: String::new(),
            holds: None,
            why: format!(
                "{measure} was not measured at enough rounds to tell whether it lies {side} {bound}"
            ),
        },
    }
}

/// A measure by round.
fn series(outcome: &Outcome, line: &Line, side: &str, measure: &str) -> Vec<(u64, f64)> {
    let of = |at: &&CheckpointSide| {
        at.side == side && Line { fs: &at.fs, disk: &at.disk, option: &at.option, seed: at.seed } == *line
    };
    let value = |at: &CheckpointSide| Some((at.round, *at.values.get(measure)?));
    let mut values: Vec<(u64, f64)> = outcome.checkpoints.iter().filter(of).filter_map(value).collect();
    values.sort_by_key(|(round, _)| *round);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Axis;
    use crate::series::MODELLED;
    use std::collections::BTreeMap;

    /// A checkpoint with a score and a cost.
    fn at(fs: &str, disk: &str, option: &str, round: u64, score: f64, cost: f64) -> CheckpointSide {
        let values = [("dynamic_layout_score", score), (MODELLED, cost)];
        CheckpointSide {
            fs: fs.to_owned(),
            disk: disk.to_owned(),
            option: option.to_owned(),
            seed: 1,
            round,
            side: "aged".to_owned(),
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
            intervals: BTreeMap::new(),
        }
    }

    fn outcome(checkpoints: Vec<CheckpointSide>) -> Outcome {
        Outcome {
            figure: String::new(),
            title: String::new(),
            source: String::new(),
            scale: String::new(),
            checks: Vec::new(),
            checkpoints,
            pairs: Vec::new(),
            pictures: Vec::new(),
            failed: Vec::new(),
            round: Axis { label: String::new(), unit: String::new(), log: false },
            plots: Vec::new(),
        }
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
        }
    }

    fn holds(of: &Check, outcome: &Outcome) -> Vec<Option<bool>> {
        check(of, outcome).into_iter().map(|checked| checked.holds).collect()
    }

    #[test]
    fn ends_are_compared_with_their_bounds() {
        let falls = outcome(vec![at("xfs", "hdd", "", 100, 0.2, 9.0), at("xfs", "hdd", "", 0, 0.95, 3.0)]);
        let score = |rule| holds(&claim("dynamic_layout_score", rule), &falls);
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
    }

    #[test]
    fn each_file_system_is_judged_and_each_disk_where_it_matters() {
        let two = ["ext4", "xfs"].map(|fs| ["hdd", "ssd"].map(|disk| at(fs, disk, "", 1, 0.5, 1.0)));
        let two = outcome(two.concat());
        let rule = Rule { last_above: Some(0.4), ..Rule::default() };
        assert_eq!(check(&claim("dynamic_layout_score", rule.clone()), &two).len(), 2);
        assert_eq!(check(&claim(MODELLED, rule.clone()), &two).len(), 4);
        let one =
            Check { fs: vec!["xfs".to_owned()], disks: vec!["ssd".to_owned()], ..claim(MODELLED, rule) };
        let checked = check(&one, &two);
        assert_eq!(checked.len(), 1);
        assert_eq!(checked[0].claim, "xfs, ssd: it ages");
        assert!(checked[0].measured.contains("1.000"), "{}", checked[0].measured);
    }

    #[test]
    fn settings_are_compared() {
        let both = outcome(vec![
            at("btrfs", "hdd", "4 KiB", 1, 0.5, 6.0),
            at("btrfs", "hdd", "64 KiB", 1, 0.5, 2.0),
        ]);
        let rule = Rule { over_option: Some("64 KiB".to_owned()), ratio_above: Some(2.5), ..Rule::default() };
        let check = Check { options: vec!["4 KiB".to_owned()], ..claim(MODELLED, rule) };
        assert_eq!(holds(&check, &both), [Some(true)]);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let rule = Rule { grows_above: Some(1.0), ..Rule::default() };
        let single = outcome(vec![at("xfs", "hdd", "", 0, 0.9, 1.0)]);
        assert_eq!(holds(&claim(MODELLED, rule.clone()), &single), [None]);
        assert_eq!(holds(&claim("aging_ratio", rule.clone()), &single), [None]);
        let nothing = check(&Check { fs: vec!["zfs".to_owned()], ..claim(MODELLED, rule) }, &single);
        assert_eq!(nothing.iter().map(|c| c.holds).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn correlation_is_over_the_rounds() {
        let line = (0..6u32).map(|r| at("xfs", "hdd", "", r.into(), 1.0 - f64::from(r) / 10.0, f64::from(r)));
        let line = outcome(line.collect());
        let rule = Rule {
            correlates_with: Some("dynamic_layout_score".to_owned()),
            correlation_below: Some(-0.9),
            ..Rule::default()
        };
        assert_eq!(holds(&claim(MODELLED, rule), &line), [Some(true)]);
    }
}
