//! Claims about an order.

use super::verdict::{LineVerdict, Verdict};
use super::{Judge, depends_on_disk, groups, margin};
use crate::claim::{Claim, Dimension};
use crate::line::Line;
use results::{Sample, Told, Words};
use run::SUBJECTS;

/// The words of a difference between two values.
const WORDS: Words = Words { more: "higher", less: "lower", evidence: "aging" };

impl Judge<'_> {
    /// Whether the lines have the published order, for each combination of the other coordinates.
    pub(super) fn orders(&self, claim: &Claim, lines: &[&Line]) -> Vec<LineVerdict> {
        let Some(dimension) = self.experiment.ordered(claim) else { return Vec::new() };
        let mut verdicts = Vec::new();
        for (name, group) in groups(lines.iter().copied(), Some(dimension), depends_on_disk(claim)) {
            let found = |wanted: &String| {
                let line = group.iter().find(|line| coordinate(line, dimension) == wanted);
                line.copied().ok_or_else(|| format!("{wanted} is not measured"))
            };
            let ordered = claim.order.iter().map(found).collect::<Result<Vec<_>, _>>();
            verdicts.push(match ordered.and_then(|ordered| self.order(claim, &ordered, dimension)) {
                Ok((measured, verdict)) => {
                    let why = format!("published: {}", claim.order.join(" > "));
                    LineVerdict { line: name, measured, verdict, why }
                }
                Err(why) => LineVerdict::untold(name, why),
            });
        }
        verdicts
    }

    /// The verdict on lines in their published order.
    fn order(
        &self,
        claim: &Claim,
        ordered: &[&Line],
        dimension: Dimension,
    ) -> Result<(String, Verdict), String> {
        let mut verdict = Verdict::Holds;
        let mut measured = vec![coordinate(ordered[0], dimension).to_owned()];
        for pair in ordered.windows(2) {
            let told = self.compared(claim, pair[0], pair[1], &claim.side)?;
            let (sign, of_pair) = match told {
                Told::More => (">", Verdict::Holds),
                Told::Less => ("<", Verdict::DoesNotHold),
                Told::NoDifference | Told::CannotBeTold => ("≈", Verdict::CannotBeTold),
            };
            verdict = verdict.min(of_pair);
            measured.push(format!("{sign} {}", coordinate(pair[1], dimension)));
        }
        Ok((format!("{}: {}", claim.measure, measured.join(" ")), verdict))
    }

    /// Whether two file systems change places from the unaged side, or none do, for each combination of the other coordinates.
    pub(super) fn reorderings(&self, claim: &Claim, lines: &[&Line]) -> Vec<LineVerdict> {
        let groups = groups(lines.iter().copied(), Some(Dimension::Fs), depends_on_disk(claim)).into_iter();
        let of = |(name, group): (String, Vec<&Line>)| match self.changed_places(claim, &group) {
            Ok((changed, verdict)) => LineVerdict {
                line: name,
                verdict,
                measured: match changed.as_slice() {
                    [] => format!("{}: no file systems change places", claim.measure),
                    changed => format!("{}: {} change places", claim.measure, changed.join(", ")),
                },
                why: format!(
                    "holds if {} file systems change places, all differences beyond their intervals",
                    if claim.keeps_order { "no" } else { "two" }
                ),
            },
            Err(why) => LineVerdict::untold(name, why),
        };
        groups.map(of).collect()
    }

    /// The pairs of file systems that change places, and what they show.
    fn changed_places(&self, claim: &Claim, lines: &[&Line]) -> Result<(Vec<String>, Verdict), String> {
        let (mut changed, mut all_told) = (Vec::new(), true);
        for (at, one) in lines.iter().enumerate() {
            for other in &lines[at + 1..] {
                let before = self.compared(claim, one, other, SUBJECTS[1])?;
                let after = self.compared(claim, one, other, &claim.side)?;
                all_told &= before != Told::CannotBeTold && after != Told::CannotBeTold;
                if matches!((before, after), (Told::More, Told::Less) | (Told::Less, Told::More)) {
                    changed.push(format!("{} and {}", one.fs, other.fs));
                }
            }
        }
        let holds = |holds: bool| if holds { Verdict::Holds } else { Verdict::DoesNotHold };
        let verdict = match (changed.is_empty(), all_told) {
            (false, _) => holds(claim.reorders),
            (true, true) => holds(claim.keeps_order),
            (true, false) => Verdict::CannotBeTold,
        };
        Ok((changed, verdict))
    }

    /// How the values of two lines compare.
    fn compared(&self, claim: &Claim, one: &Line, other: &Line, side: &str) -> Result<Told, String> {
        let round = self.round_of(claim.at).ok_or("an order needs one round")?;
        let sample = |line: &Line| {
            let values = self.measured(line, side, &claim.measure, round)?;
            Ok::<_, String>(Sample { values, seeds: line.agings.iter().map(|aging| aging.seed).collect() })
        };
        let ratio = sample(one)?.ratio_to(&sample(other)?);
        let ratio = ratio.ok_or_else(|| format!("{} is not positive", claim.measure))?;
        let margin = margin(&claim.measure);
        Ok(match ratio.ends() {
            Some(_) => results::Verdict::on(&ratio, WORDS).told,
            None if ratio.mean > 1.0 + margin => Told::More,
            None if ratio.mean < 1.0 / (1.0 + margin) => Told::Less,
            None => Told::CannotBeTold,
        })
    }
}

fn coordinate(line: &Line, dimension: Dimension) -> &String {
    match dimension {
        Dimension::Fs => &line.fs,
        Dimension::Option => &line.option,
        Dimension::Disk => &line.disk,
    }
}
