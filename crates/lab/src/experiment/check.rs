//! Whether what was published holds for what was measured.

mod ranking;
mod verdict;

use super::line::Line;
use super::measure::is_by_disk;
use super::outcome::{Correlated, Outcome};
use super::spec::Check;
use serde::{Deserialize, Serialize};
use verdict::Verdict;

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
    /// Whether a number or a range is asked for that was published, and not a direction or an order.
    #[serde(default)]
    pub level: bool,
    /// Why it does not hold, where that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Whether what was published of a figure holds in its trend, by its claims, each judged for all that it is made of: those that
/// ask for a direction or an order hold, each for more than half of what it could be judged for. `None` where one could not be
/// judged at all, and none of the others fails.
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

/// What was to be measured, and what was.
pub(super) struct Judge<'o> {
    /// All lines that were to be measured.
    pub lines: &'o [Line],
    /// The rounds that were, ascending.
    pub rounds: &'o [u64],
    /// What was measured.
    pub outcome: &'o Outcome,
    /// Why block requests cannot be traced here, if they cannot.
    pub untraced: Option<&'o str>,
}

impl Judge<'_> {
    /// Judges a claim for every file system, disk, setting and seed that it is made of.
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

    /// The correlation that a claim is made of, for each of its lines that has one.
    pub fn correlations(&self, check: &Check) -> Vec<Correlated> {
        let Some(with) = &check.rule.correlates_with else { return Vec::new() };
        let found = |line: &Line| {
            let found = self.correlated(line, check, with).ok()?;
            Some(Correlated {
                fs: line.fs.clone(),
                disk: line.disk.clone(),
                option: line.option.clone(),
                seed: line.seed,
                side: check.side.clone(),
                measure: check.measure.clone(),
                with: with.clone(),
                found,
            })
        };
        self.claimed(check).into_iter().filter_map(found).collect()
    }

    /// The lines that a claim is made of; of what does not differ from disk to disk, those of one disk.
    fn claimed(&self, check: &Check) -> Vec<&Line> {
        let by_disk = depends_on_disk(check);
        let of = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut lines: Vec<&Line> = Vec::new();
        for line in self.lines {
            let same = |other: &&Line| **other == Line { disk: other.disk.clone(), ..line.clone() };
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
        let several_seeds = self.lines.iter().any(|other| other.seed != line.seed);
        let name = line.name(depends_on_disk(check), several_seeds);
        let verdicts = self.verdicts(check, line);
        let holds = |wanted| verdicts.iter().any(|verdict| verdict.holds == wanted);
        let joined = |of: fn(&Verdict) -> &str| {
            let mut parts: Vec<&str> = verdicts.iter().map(of).filter(|part| !part.is_empty()).collect();
            // Two bounds may be put on one number.
            parts.dedup();
            parts.join("; ")
        };
        // One part that fails settles it, whatever is known of the others.
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

/// One verdict of what was judged line by line: the claim holds where it holds of one of them.
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
