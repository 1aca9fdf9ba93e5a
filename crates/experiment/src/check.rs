//! Decides whether the published claims hold for the measurements.

mod ranking;
mod verdict;

use super::line::Line;
use super::measure::is_by_disk;
use super::outcome::{Correlated, Outcome};
use super::spec::Check;
use serde::{Deserialize, Serialize};
use verdict::Verdict;

/// The verdict on a claim for one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The claim, and the line it was judged for.
    pub claim: String,
    /// What was published.
    pub published: String,
    /// What was measured.
    pub measured: String,
    /// Whether it holds; `None` if it could not be judged.
    pub holds: Option<bool>,
    /// The rule that decided, or why the claim could not be judged.
    pub why: String,
    /// Whether the claim is about a published number or range, and not about a direction or an order.
    #[serde(default)]
    pub level: bool,
    /// Why the claim does not hold, if that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Whether the trend of a figure holds, given the verdicts of each claim for its lines. The trend holds if each claim about a direction or
/// an order holds for more than half of the lines that could be judged. `None` if a claim could not be judged for any line, and no other
/// claim fails.
pub(super) fn trend(claims: &[Vec<Checked>]) -> Option<bool> {
    let holds = |claim: &&Vec<Checked>| {
        let count = |holds| claim.iter().filter(|check| check.holds == Some(holds)).count();
        let (holding, failing) = (count(true), count(false));
        (holding + failing > 0).then_some(holding > failing)
    };
    let of_trend = claims.iter().filter(|claim| claim.iter().all(|check| !check.level));
    let verdicts: Vec<Option<bool>> = of_trend.map(|claim| holds(&claim)).collect();
    match verdicts.as_slice() {
        [] => None,
        all if all.contains(&Some(false)) => Some(false),
        all if all.contains(&None) => None,
        _ => Some(true),
    }
}

/// The expected lines and rounds, and the measurements.
pub(super) struct Judge<'o> {
    /// All expected lines.
    pub lines: &'o [Line],
    /// The measured rounds, ascending.
    pub rounds: &'o [u64],
    /// The measurements.
    pub outcome: &'o Outcome,
    /// Why block requests cannot be traced here, if they cannot.
    pub untraced: Option<&'o str>,
}

impl Judge<'_> {
    /// Judges a claim for each of its file systems, disks and settings, over all agings.
    pub fn check(&self, check: &Check) -> Vec<Checked> {
        let lines = self.claimed(check);
        if lines.is_empty() {
            return vec![Checked {
                claim: check.claim.clone(),
                published: check.published.clone(),
                measured: String::new(),
                holds: None,
                why: "no measurement matches this claim".to_owned(),
                level: check.level,
                reason: String::new(),
            }];
        }
        let judged = lines.into_iter().map(|line| self.judge(check, line)).collect();
        if check.in_some { vec![in_some(check, judged)] } else { judged }
    }

    /// The correlation that a claim uses, for each line that has one.
    pub fn correlations(&self, check: &Check) -> Vec<Correlated> {
        let Some(with) = &check.rule.correlates_with else { return Vec::new() };
        let found = |line: &Line| {
            let found = self.correlated(line, check, with).ok()?;
            Some(Correlated {
                fs: line.fs.clone(),
                disk: line.disk.clone(),
                option: line.option.clone(),
                side: check.side.clone(),
                measure: check.measure.clone(),
                with: with.clone(),
                found,
            })
        };
        self.claimed(check).into_iter().filter_map(found).collect()
    }

    /// The lines of a claim. If the measure does not depend on the disk, only the lines of one disk.
    fn claimed(&self, check: &Check) -> Vec<&Line> {
        let by_disk = depends_on_disk(check);
        let of = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut lines: Vec<&Line> = Vec::new();
        for line in self.lines {
            let same = |other: &&Line| (&other.fs, &other.option) == (&line.fs, &line.option);
            if of(&check.fs, &line.fs)
                && of(&check.disks, &line.disk)
                && of(&check.options, &line.option)
                && (by_disk || !lines.iter().any(same))
            {
                lines.push(line);
            }
        }
        lines
    }

    fn judge(&self, check: &Check, line: &Line) -> Checked {
        let name = line.name(depends_on_disk(check));
        let verdicts = self.verdicts(check, line);
        let holds = |wanted| verdicts.iter().any(|verdict| verdict.holds == wanted);
        let joined = |of: fn(&Verdict) -> &str| {
            let mut parts: Vec<&str> = verdicts.iter().map(of).filter(|part| !part.is_empty()).collect();
            // Two bounds may apply to the same number.
            parts.dedup();
            parts.join("; ")
        };
        // One failed part decides, regardless of the others.
        let holds = match (holds(Some(false)), holds(None) || verdicts.is_empty()) {
            (true, _) => Some(false),
            (false, true) => None,
            (false, false) => Some(true),
        };
        Checked {
            claim: format!("{name}: {}", check.claim),
            published: check.published.clone(),
            measured: joined(|verdict| &verdict.measured),
            holds,
            why: joined(|verdict| &verdict.why),
            level: check.level,
            reason: if holds == Some(true) { String::new() } else { check.why.clone() },
        }
    }
}

/// Merges the verdicts of all lines into one: the claim holds if it holds for one line.
fn in_some(check: &Check, judged: Vec<Checked>) -> Checked {
    let any = |wanted| judged.iter().find(|checked| checked.holds == wanted);
    let decisive = any(Some(true)).or(any(None)).unwrap_or(&judged[0]);
    let line = |checked: &Checked| {
        let name = checked.claim.strip_suffix(&format!(": {}", check.claim)).unwrap_or_default();
        format!("{name}: {}", checked.measured)
    };
    Checked {
        claim: check.claim.clone(),
        measured: judged.iter().map(line).collect::<Vec<_>>().join("; "),
        ..decisive.clone()
    }
}

fn depends_on_disk(check: &Check) -> bool {
    is_by_disk(&check.measure) || check.rule.correlates_with.as_deref().is_some_and(is_by_disk)
}

#[cfg(test)]
mod tests;
