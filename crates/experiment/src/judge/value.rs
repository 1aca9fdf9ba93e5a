//! Claims about a value.

use super::verdict::{LineVerdict, Verdict, told};
use super::{Judge, margin};
use crate::claim::{At, Bounds, Claim, Extreme, Over, Place, Published, TOLERANCE};
use crate::line::Line;
use results::{Estimate, measures};

/// The name of a line, and its value or why it has none.
type Named = (String, Result<(String, Estimate), String>);

/// The coordinates of a value.
#[derive(Clone)]
struct Coordinates<'c> {
    line: [&'c str; 3],
    side: &'c str,
    at: At,
    measure: &'c str,
}

impl<'c> Coordinates<'c> {
    /// The coordinates of a divisor.
    fn over(&self, over: &'c Over) -> Coordinates<'c> {
        let [fs, disk, option] = self.line;
        let named = |name: &'c Option<String>, own| name.as_deref().unwrap_or(own);
        Coordinates {
            line: [named(&over.fs, fs), named(&over.disk, disk), named(&over.option, option)],
            side: named(&over.side, self.side),
            at: over.at.unwrap_or(self.at),
            measure: named(&over.measure, self.measure),
        }
    }
}

impl Judge<'_> {
    /// The value of a claim for a line: what it is, and its mean over the agings.
    pub(super) fn value(&self, claim: &Claim, line: &Line) -> Result<(String, Estimate), String> {
        let at = Coordinates {
            line: [&line.fs, &line.disk, &line.option],
            side: &claim.side,
            at: claim.at,
            measure: &claim.measure,
        };
        let mut values = self.quotient(&at, &claim.over)?;
        let what = self.description(claim);
        let relative = (!claim.over.is_empty()).then_some(&measures::AGING_RATIO);
        let measure = relative.or_else(|| measures::find(&claim.measure)).unwrap_or(&measures::AGING_RATIO);
        // All agings by the direction of their mean: noise alone would otherwise be a difference.
        if claim.either_way && values.iter().map(|value| value.ln()).sum::<f64>() < 0.0 {
            values.iter_mut().for_each(|value| *value = value.recip());
        }
        if claim.change {
            values.iter_mut().for_each(|value| *value -= 1.0);
        }
        let mean = if claim.change { Estimate::arithmetic(&values) } else { measure.mean(&values) };
        mean.map(|mean| (what.clone(), mean)).ok_or_else(|| format!("{what}: division by 0"))
    }

    /// The value divided as told, of each aging.
    fn quotient(&self, at: &Coordinates, over: &[Over]) -> Result<Vec<f64>, String> {
        let Some((last, before)) = over.split_last() else { return self.plain(at) };
        let (of, by) = (self.quotient(at, before)?, self.quotient(&at.over(last), before)?);
        Ok(of.into_iter().zip(by).map(|(of, by)| of / by).collect())
    }

    /// The value itself, of each aging.
    fn plain(&self, at: &Coordinates) -> Result<Vec<f64>, String> {
        let line = self.find_line(at.line)?;
        let of = |round: u64| self.measured(line, at.side, at.measure, round);
        let choose = |choose: fn(f64, f64) -> f64| {
            let mut chosen = of(self.rounds[0])?;
            for round in &self.rounds[1..] {
                chosen = chosen.into_iter().zip(of(*round)?).map(|(a, b)| choose(a, b)).collect();
            }
            Ok(chosen)
        };
        match (self.round_of(at.at), at.at) {
            (Some(round), _) => of(round),
            (None, At::Place(Place::Least)) => choose(f64::min),
            (None, _) => choose(f64::max),
        }
    }

    /// What the value of a claim is, in words.
    fn description(&self, claim: &Claim) -> String {
        let round = |at: At| match (self.round_of(at), at) {
            (Some(round), _) => format!("round {round}"),
            (None, At::Place(Place::Least)) => format!("least of {} rounds", self.rounds.len()),
            (None, _) => format!("greatest of {} rounds", self.rounds.len()),
        };
        let mut words = format!("{}, {}", claim.measure, round(claim.at));
        for over in &claim.over {
            let Over { fs, disk, option, side, at, measure } = over;
            let names = [measure, fs, option, disk, side].into_iter().flatten().cloned();
            let other: Vec<String> = names.chain(at.map(round)).collect();
            words += &format!(" over {}", other.join(", "));
        }
        let told = if claim.either_way { ", either way" } else { "" };
        words + if claim.change { ", change" } else { told }
    }
}

/// The line with the least or greatest mean, or the first without a value, because the extreme could be there.
pub(super) fn extreme(extreme: Extreme, values: impl Iterator<Item = Named>) -> Option<Named> {
    let rank = |value: &Result<(String, Estimate), String>| match (value, extreme) {
        (Err(_), _) => f64::NEG_INFINITY,
        (Ok((_, estimate)), Extreme::Least) => estimate.mean,
        (Ok((_, estimate)), Extreme::Greatest) => -estimate.mean,
    };
    values.min_by(|(_, one), (_, other)| rank(one).total_cmp(&rank(other)))
}

/// The verdict on the value of a line.
pub(super) fn verdict(claim: &Claim, line: String, value: Result<(String, Estimate), String>) -> LineVerdict {
    match value {
        Ok((what, estimate)) => {
            let (verdict, why) = on(claim, &estimate);
            LineVerdict { line, measured: format!("{what}: {}", told(&estimate)), verdict, why }
        }
        Err(why) => LineVerdict::untold(line, why),
    }
}

/// The verdict on a value, and what decided.
pub(super) fn on(claim: &Claim, estimate: &Estimate) -> (Verdict, String) {
    let trend = claim.trend();
    let why = |parts: [Option<String>; 2]| parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let asked = why([
        claim.published.map(|published| format!("published: {}", published.told())),
        trend.map(|trend| format!("trend: {}", trend.told())),
    ]);
    let margin = margin(&claim.measure) * claim.divisions().max(1) as f64;
    let within = |bounds| within(estimate, bounds, claim.neutral().map(|neutral| (neutral, margin)));
    let follows = trend.map_or(Some(true), within);
    let equals = match claim.published {
        None => Some(true),
        Some(Published::Bound(bounds)) => within(bounds),
        Some(Published::Range(range)) => inside(estimate, range),
        Some(Published::Figure(figure)) => {
            let off = TOLERANCE * figure.abs();
            inside(estimate, [figure - off, figure + off])
        }
    };
    match (follows, equals) {
        (Some(false), _) => (Verdict::DoesNotHold, asked),
        (Some(true), Some(true)) => (Verdict::Holds, asked),
        (Some(true), Some(false)) if trend.is_none() => (Verdict::DoesNotHold, asked),
        // With a bound that cannot be told, the trend is all that is.
        (Some(true), _) if trend.is_some() => (Verdict::TrendOnly, asked),
        _ => {
            let why = match estimate.n {
                1 => format!("a single aging tells no effect below {} %", margin * 100.0),
                n => format!("within the interval of {n} agings"),
            };
            (Verdict::CannotBeTold, format!("{asked}: {why}"))
        }
    }
}

/// Whether a value is in a published range, ends included: its whole interval over the agings. `None` if only a part of the interval is.
fn inside(estimate: &Estimate, [least, greatest]: [f64; 2]) -> Option<bool> {
    let (low, high) = estimate.ends().unwrap_or((estimate.mean, estimate.mean));
    match () {
        () if least <= low && high <= greatest => Some(true),
        () if high < least || greatest < low => Some(false),
        () => None,
    }
}

/// Whether a value is within bounds: its whole interval over the agings. `None` if a bound is within the interval. A single aging has no
/// interval: its value decides, but tells no effect nearer than the margin to the neutral value, which it has without any effect.
fn within(estimate: &Estimate, Bounds { above, below }: Bounds, neutral: Option<(f64, f64)>) -> Option<bool> {
    let mean = estimate.mean;
    let (low, high) = estimate.ends().unwrap_or_else(|| match neutral {
        Some((neutral, margin)) if (mean - neutral).abs() < margin => (mean.min(neutral), mean.max(neutral)),
        _ => (mean, mean),
    });
    let is_within =
        |value: f64| above.is_none_or(|bound| value > bound) && below.is_none_or(|bound| value < bound);
    let crosses = |bound: Option<f64>| bound.is_some_and(|bound| low <= bound && bound <= high);
    match () {
        () if is_within(low) && is_within(high) => Some(true),
        () if low < high && (crosses(above) || crosses(below)) => None,
        () => Some(false),
    }
}
