//! The verdicts of the parts of a rule for a line.

use super::Judge;
use crate::line::{Aging, Line};
use crate::rule::Rule;
use crate::spec::Check;
use results::{Correlation, Estimate, correlation, measures};
use run::SUBJECTS;

/// The verdict of one part of a rule.
pub(super) struct Verdict {
    pub measured: String,
    pub holds: Option<bool>,
    pub why: String,
}

/// A bounded value, or why it is unknown.
type Found = Result<Value, String>;

/// A bounded value of each aging.
#[derive(Clone)]
struct Value {
    /// A description.
    what: String,
    /// One value for each aging.
    of_agings: Vec<f64>,
    /// Whether it relates two values of the measure.
    is_ratio: bool,
}

impl Value {
    fn plain(what: String, of_agings: Vec<f64>) -> Value {
        Value { what, of_agings, is_ratio: false }
    }

    /// The ratio of two values, paired by the seeds of the agings.
    fn ratio(what: String, of: Vec<f64>, to: Vec<f64>) -> Value {
        Value { what, of_agings: divided(of, to), is_ratio: true }
    }

    /// The mean over the agings, if it is finite.
    fn estimate(&self, measure: &str) -> Option<Estimate> {
        let measure = measures::find(measure).filter(|_| !self.is_ratio).unwrap_or(&measures::AGING_RATIO);
        measure.mean(&self.of_agings)
    }
}

fn divided(of: Vec<f64>, to: Vec<f64>) -> Vec<f64> {
    of.into_iter().zip(to).map(|(of, to)| of / to).collect()
}

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
            Ok(Value::plain(format!("round {round}"), value))
        };
        let grown = || {
            let growth = self.growth(line, &check.side, &check.measure)?;
            Ok(Value {
                what: format!("growth from round {first} to {last}"),
                of_agings: growth,
                is_ratio: true,
            })
        };
        let over_unaged = |round| {
            let value = |side| self.value(line, side, &check.measure, round);
            let what = format!("{} relative to unaged, round {round}", check.side);
            Ok(Value::ratio(what, value(&check.side)?, value(SUBJECTS[1])?))
        };
        let compared = at_round.unwrap_or(last);
        let over_option = |option: &String| {
            let other = self.find_line([&line.fs, &line.disk, option])?;
            let value = |line| self.value(line, &check.side, &check.measure, compared);
            Ok(Value::ratio(format!("relative to {option}, round {compared}"), value(line)?, value(other)?))
        };
        let over_disk = |disk: &String| {
            let other = self.find_line([&line.fs, disk, &line.option])?;
            let value = |line| self.value(line, &check.side, &check.measure, compared);
            Ok(Value::ratio(format!("relative to {disk}, round {compared}"), value(line)?, value(other)?))
        };
        let over_unaged_of = |fs: &String| {
            let other = self.find_line([fs, &line.disk, &line.option])?;
            let value = self.value(line, &check.side, &check.measure, compared)?;
            let of_other = self.value(other, SUBJECTS[1], &check.measure, compared)?;
            Ok(Value::ratio(format!("relative to {fs}, unaged, round {compared}"), value, of_other))
        };
        let over_fs = |fs: &String| {
            let other = self.find_line([fs, &line.disk, &line.option])?;
            let growth = |line| self.growth(line, &check.side, &check.measure);
            let what = format!("growth from round {first} to {last}, relative to {fs}");
            Ok(Value::ratio(what, growth(line)?, growth(other)?))
        };
        let ratios = || {
            let options = over_options.iter().map(over_option);
            let disks = over_disks.iter().map(over_disk);
            let unaged = over_unaged_fs.iter().map(over_unaged_of);
            let grown = growth_over_fs.iter().map(over_fs);
            options.chain(disks).chain(unaged).chain(grown).collect::<Vec<Found>>()
        };
        let over_rounds = |choose: fn(f64, f64) -> f64| -> Result<Vec<f64>, String> {
            let of = |round: &u64| self.value(line, &check.side, &check.measure, *round);
            let mut chosen = of(&first)?;
            for round in self.rounds {
                chosen = chosen.into_iter().zip(of(round)?).map(|(a, b)| choose(a, b)).collect();
            }
            Ok(chosen)
        };
        let rounds = self.rounds.len();
        let spread = || {
            let what = format!("maximum over minimum of {rounds} rounds");
            Ok(Value::ratio(what, over_rounds(f64::max)?, over_rounds(f64::min)?))
        };
        let least = || Ok(Value::plain(format!("minimum of {rounds} rounds"), over_rounds(f64::min)?));
        let greatest = || Ok(Value::plain(format!("maximum of {rounds} rounds"), over_rounds(f64::max)?));
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

    /// The correlation of the claim's measure with another measure over the rounds of all agings of a line.
    pub(super) fn correlated(&self, line: &Line, check: &Check, with: &str) -> Result<Correlation, String> {
        if let Some(failed) = self.failed(line) {
            return Err(failed);
        }
        let both = |round: &u64| {
            let values = |measure: &str| self.value(line, &check.side, measure, *round).ok();
            values(&check.measure).zip(values(with))
        };
        let pairs = self.rounds.iter().filter_map(both);
        let pairs: Vec<(f64, f64)> = pairs.flat_map(|(of, with)| of.into_iter().zip(with)).collect();
        correlation(&pairs).ok_or_else(|| {
            format!("{} measurements give no correlation of {} with {with}", pairs.len(), check.measure)
        })
    }

    /// Finds the line of a file system, disk and setting.
    fn find_line(&self, of: [&str; 3]) -> Result<&Line, String> {
        let same = |line: &&Line| [line.fs.as_str(), &line.disk, &line.option] == of;
        self.lines.iter().find(same).ok_or_else(|| "no measurement to compare with".to_owned())
    }

    fn growth(&self, line: &Line, side: &str, measure: &str) -> Result<Vec<f64>, String> {
        let (first, last) = (self.rounds[0], self.rounds[self.rounds.len() - 1]);
        if first == last {
            return Err(format!("growth of {measure} needs two rounds, but only one is measured"));
        }
        Ok(divided(self.value(line, side, measure, last)?, self.value(line, side, measure, first)?))
    }

    /// The value of a measure after a round, of each aging.
    pub(super) fn value(
        &self,
        line: &Line,
        side: &str,
        measure: &str,
        round: u64,
    ) -> Result<Vec<f64>, String> {
        let of = |aging: &Aging| {
            let mut sides = self.outcome.checkpoints.iter().filter(|at| {
                (&at.fs, &at.disk, &at.option, at.seed) == (&line.fs, &line.disk, &line.option, aging.seed)
                    && (at.side.as_str(), at.round) == (side, round)
            });
            let value = sides.find_map(|at| at.values.get(measure));
            value.copied().ok_or_else(|| self.missing(aging, measure, round))
        };
        line.agings.iter().map(of).collect()
    }

    /// Why a measure has no value.
    fn missing(&self, aging: &Aging, measure: &str, round: u64) -> String {
        let cell = &aging.cell;
        match (self.has_failed(aging), self.untraced) {
            (true, _) => format!("cell {cell} failed"),
            (false, Some(why)) => format!(
                "{measure} of {cell} is not measured at round {round}: block requests cannot be traced here: \
                 {why}"
            ),
            (false, None) => format!("{measure} of {cell} is not measured at round {round}"),
        }
    }

    /// The message for a line of which a cell failed.
    fn failed(&self, line: &Line) -> Option<String> {
        let failed = line.agings.iter().find(|aging| self.has_failed(aging));
        failed.map(|aging| format!("cell {} failed", aging.cell))
    }

    fn has_failed(&self, aging: &Aging) -> bool {
        self.outcome.failed.iter().any(|failed| failed.cell == aging.cell)
    }
}

/// A value is beyond a bound if its whole interval over the agings is. A single aging has no interval: its value decides.
fn beyond(measure: &str, bound: f64, above: bool, found: Found) -> Verdict {
    let side = if above { "above" } else { "below" };
    let estimated = found.and_then(|value| match value.estimate(measure) {
        Some(estimate) => Ok((value.what, estimate)),
        None => Err(format!("{measure}, {}: division by 0", value.what)),
    });
    let (what, estimate) = match estimated {
        Ok(found) => found,
        Err(why) => return Verdict { measured: String::new(), holds: None, why },
    };
    let (low, high) = estimate.ends().unwrap_or((estimate.mean, estimate.mean));
    let is_beyond = |value: f64| if above { value > bound } else { value < bound };
    let holds = (is_beyond(low) == is_beyond(high)).then_some(is_beyond(low));
    Verdict {
        measured: format!("{measure}, {what}: {}", told(&estimate)),
        holds,
        why: match holds {
            Some(_) => format!("holds {side} {bound}"),
            None => format!("cannot be told: {bound} is within the interval of {} agings", estimate.n),
        },
    }
}

/// A mean with its interval and number of agings, if there are several.
fn told(estimate: &Estimate) -> String {
    let number =
        |value: f64| if value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    match estimate.ends() {
        Some((low, high)) => {
            format!("{} [{} – {}], {} agings", number(estimate.mean), number(low), number(high), estimate.n)
        }
        None => number(estimate.mean),
    }
}

/// A correlation is below a bound if its whole interval is.
fn correlated(measure: &str, with: &str, bound: f64, found: Result<Correlation, String>) -> Verdict {
    match found {
        Ok(Correlation { r, low, high, n }) => Verdict {
            measured: format!(
                "correlation of {measure} with {with} over {n} measurements: {r:.3} ({low:.3} to {high:.3})"
            ),
            holds: match (high < bound, low >= bound) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            why: if high < bound || low >= bound {
                format!("holds if the 95 % interval is below {bound}")
            } else {
                format!("undecided: {bound} is within the 95 % interval of {n} measurements")
            },
        },
        Err(why) => Verdict { measured: String::new(), holds: None, why },
    }
}
