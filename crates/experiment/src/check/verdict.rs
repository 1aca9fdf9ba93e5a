//! The verdicts of the parts of a rule for a line.

use super::Judge;
use crate::line::Line;
use crate::rule::Rule;
use crate::spec::Check;
use results::{Correlation, correlation};
use run::SUBJECTS;
use run::checkpoint::CheckpointSide;

/// The verdict of one part of a rule.
pub(super) struct Verdict {
    pub measured: String,
    pub holds: Option<bool>,
    pub why: String,
}

/// A bounded value with its description, or why it is unknown.
type Found = Result<(String, f64), String>;

impl Judge<'_> {
    /// One verdict per bound of the rule, and per compared file system, disk or setting.
    pub(super) fn verdicts(&self, check: &Check, line: &Line) -> Vec<Verdict> {
        let Rule {
            first_above,
            first_below,
            at_round,
            at_above,
            at_below,
            at_over_unaged_below,
            last_above,
            last_below,
            grows_above,
            grows_below,
            over_unaged_above,
            over_unaged_below,
            spread_above,
            spread_below,
            least_above,
            greatest_below,
            correlates_with,
            correlation_below,
            over_options,
            over_disks,
            over_unaged_fs,
            growth_over_fs,
            ranking_changes,
            ratio_above,
            ratio_below,
        } = &check.rule;
        let (first, last) = (self.rounds[0], self.rounds[self.rounds.len() - 1]);
        let at = |round| {
            let value = self.value(line, &check.side, &check.measure, round)?;
            Ok((format!("round {round}"), value))
        };
        let grown = || {
            Ok((
                format!("growth from round {first} to {last}"),
                self.growth(line, &check.side, &check.measure)?,
            ))
        };
        let over_unaged = |round| {
            let value = |side| self.value(line, side, &check.measure, round);
            Ok((
                format!("{} relative to unaged, round {round}", check.side),
                value(&check.side)? / value(SUBJECTS[1])?,
            ))
        };
        let compared = at_round.unwrap_or(last);
        let over_option = |option: &String| {
            let same = |other: &Line| (&other.fs, &other.disk) == (&line.fs, &line.disk);
            let other = self.find_line(line, |other| same(other) && other.option == *option)?;
            let value = |line| self.value(line, &check.side, &check.measure, compared);
            Ok((format!("relative to {option}, round {compared}"), value(line)? / value(other)?))
        };
        let over_disk = |disk: &String| {
            let same = |other: &Line| (&other.fs, &other.option) == (&line.fs, &line.option);
            let other = self.find_line(line, |other| same(other) && other.disk == *disk)?;
            let value = |line| self.value(line, &check.side, &check.measure, compared);
            Ok((format!("relative to {disk}, round {compared}"), value(line)? / value(other)?))
        };
        let over_unaged_of = |fs: &String| {
            let same = |other: &Line| (&other.disk, &other.option) == (&line.disk, &line.option);
            let other = self.find_line(line, |other| same(other) && other.fs == *fs)?;
            let value = self.value(line, &check.side, &check.measure, compared)?;
            let of_other = self.value(other, SUBJECTS[1], &check.measure, compared)?;
            Ok((format!("relative to {fs}, unaged, round {compared}"), value / of_other))
        };
        let over_fs = |fs: &String| {
            let same = |other: &Line| (&other.disk, &other.option) == (&line.disk, &line.option);
            let other = self.find_line(line, |other| same(other) && other.fs == *fs)?;
            let growth = |line| self.growth(line, &check.side, &check.measure);
            let what = format!("growth from round {first} to {last}, relative to {fs}");
            Ok((what, growth(line)? / growth(other)?))
        };
        let ratios = || {
            let options = over_options.iter().map(over_option);
            let disks = over_disks.iter().map(over_disk);
            let unaged = over_unaged_fs.iter().map(over_unaged_of);
            let grown = growth_over_fs.iter().map(over_fs);
            options.chain(disks).chain(unaged).chain(grown).collect::<Vec<Found>>()
        };
        let extremes = || -> Result<(f64, f64), String> {
            let all = self.rounds.iter().map(|round| self.value(line, &check.side, &check.measure, *round));
            let all = all.collect::<Result<Vec<f64>, String>>()?;
            let extremes = (f64::INFINITY, f64::NEG_INFINITY);
            Ok(all.iter().fold(extremes, |(low, high), value| (value.min(low), value.max(high))))
        };
        let rounds = self.rounds.len();
        let spread = || {
            let (least, most) = extremes()?;
            let what = format!("{least:.0} to {most:.0} over {rounds} rounds, maximum/minimum");
            Ok((what, most / least))
        };
        let least = || Ok((format!("minimum of {rounds} rounds"), extremes()?.0));
        let greatest = || Ok((format!("maximum of {rounds} rounds"), extremes()?.1));
        let within: Vec<Found> = at_round.map(at).into_iter().collect();
        let parts = [
            (first_above, true, vec![at(first)]),
            (first_below, false, vec![at(first)]),
            (at_above, true, within.clone()),
            (at_below, false, within),
            (at_over_unaged_below, false, at_round.map(over_unaged).into_iter().collect()),
            (last_above, true, vec![at(last)]),
            (last_below, false, vec![at(last)]),
            (grows_above, true, vec![grown()]),
            (grows_below, false, vec![grown()]),
            (over_unaged_above, true, vec![over_unaged(last)]),
            (over_unaged_below, false, vec![over_unaged(last)]),
            (spread_above, true, vec![spread()]),
            (spread_below, false, vec![spread()]),
            (least_above, true, vec![least()]),
            (greatest_below, false, vec![greatest()]),
            (ratio_above, true, ratios()),
            (ratio_below, false, ratios()),
        ];
        let given = parts.into_iter().filter_map(|(bound, above, found)| Some(((*bound)?, above, found)));
        let judged = given.flat_map(|(bound, above, found)| {
            found.into_iter().map(move |found| beyond(&check.measure, bound, above, found))
        });
        let mut verdicts: Vec<Verdict> = judged.collect();
        if let (Some(with), Some(bound)) = (correlates_with, correlation_below) {
            let found = self.correlated(line, check, with);
            verdicts.push(correlated(&check.measure, with, *bound, found));
        }
        if *ranking_changes {
            verdicts.push(self.ranking(line, check, last));
        }
        verdicts
    }

    /// The correlation of the claim's measure with another measure over the rounds of a line.
    pub(super) fn correlated(&self, line: &Line, check: &Check, with: &str) -> Result<Correlation, String> {
        if let Some(failed) = self.failed(line) {
            return Err(failed);
        }
        let both = |round: &u64| {
            let value = |measure: &str| self.value(line, &check.side, measure, *round).ok();
            value(&check.measure).zip(value(with))
        };
        let pairs: Vec<(f64, f64)> = self.rounds.iter().filter_map(both).collect();
        correlation(&pairs).ok_or_else(|| {
            format!("{} rounds give no correlation of {} with {with}", pairs.len(), check.measure)
        })
    }

    /// Finds the line to compare with.
    fn find_line(&self, line: &Line, which: impl Fn(&Line) -> bool) -> Result<&Line, String> {
        let matches = |other: &&Line| other.seed == line.seed && which(other);
        self.lines.iter().find(matches).ok_or_else(|| "no measurement to compare with".to_owned())
    }

    fn growth(&self, line: &Line, side: &str, measure: &str) -> Result<f64, String> {
        let (first, last) = (self.rounds[0], self.rounds[self.rounds.len() - 1]);
        if first == last {
            return Err(format!("growth of {measure} needs two rounds, but only one is measured"));
        }
        Ok(self.value(line, side, measure, last)? / self.value(line, side, measure, first)?)
    }

    /// The value of a measure after a round.
    pub(super) fn value(&self, line: &Line, side: &str, measure: &str, round: u64) -> Result<f64, String> {
        let value = self.sides(line, side, round).find_map(|at| at.values.get(measure));
        value.copied().ok_or_else(|| self.missing(line, measure, round))
    }

    /// The repetitions of a measure after a round.
    pub(super) fn repetitions<'j>(
        &'j self,
        line: &'j Line,
        side: &'j str,
        measure: &str,
        round: u64,
    ) -> Result<&'j [f64], String> {
        let found = self.sides(line, side, round).find_map(|at| at.repetitions.get(measure));
        found.map(Vec::as_slice).ok_or_else(|| self.missing(line, measure, round))
    }

    /// The checkpoints of a side after a round.
    fn sides<'j>(
        &'j self,
        line: &'j Line,
        side: &'j str,
        round: u64,
    ) -> impl Iterator<Item = &'j CheckpointSide> {
        self.outcome.checkpoints.iter().filter(move |at| {
            (&at.fs, &at.disk, &at.option, at.seed) == (&line.fs, &line.disk, &line.option, line.seed)
                && at.side == side
                && at.round == round
        })
    }

    /// Why a measure has no value.
    fn missing(&self, line: &Line, measure: &str, round: u64) -> String {
        match (self.failed(line), self.untraced) {
            (Some(failed), _) => failed,
            (None, Some(why)) => format!(
                "{measure} of {} is not measured at round {round}: block requests cannot be traced here: \
                 {why}",
                line.cell
            ),
            (None, None) => format!("{measure} of {} is not measured at round {round}", line.cell),
        }
    }

    /// The message for a line whose cell failed.
    fn failed(&self, line: &Line) -> Option<String> {
        let failed = self.outcome.failed.iter().any(|failed| failed.cell == line.cell);
        failed.then(|| format!("cell {} failed", line.cell))
    }
}

fn beyond(measure: &str, bound: f64, above: bool, found: Found) -> Verdict {
    let side = if above { "above" } else { "below" };
    let finite = |(what, value): (String, f64)| match value.is_finite() {
        true => Ok((what, value)),
        false => Err(format!("{measure}, {what}: division by 0")),
    };
    match found.and_then(finite) {
        Ok((what, value)) => Verdict {
            measured: match value.abs() >= 1000.0 {
                true => format!("{measure}, {what}: {value:.0}"),
                false => format!("{measure}, {what}: {value:.3}"),
            },
            holds: Some(if above { value > bound } else { value < bound }),
            why: format!("holds {side} {bound}"),
        },
        Err(why) => Verdict { measured: String::new(), holds: None, why },
    }
}

/// A correlation is below a bound if its whole interval is.
fn correlated(measure: &str, with: &str, bound: f64, found: Result<Correlation, String>) -> Verdict {
    match found {
        Ok(Correlation { r, low, high, n }) => Verdict {
            measured: format!(
                "correlation of {measure} with {with} over {n} rounds: {r:.3} ({low:.3} to {high:.3})"
            ),
            holds: match (high < bound, low >= bound) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            why: if high < bound || low >= bound {
                format!("holds if the 95 % interval is below {bound}")
            } else {
                format!("undecided: {bound} is within the 95 % interval of {n} rounds")
            },
        },
        Err(why) => Verdict { measured: String::new(), holds: None, why },
    }
}
