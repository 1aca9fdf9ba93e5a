//! Decides whether the published claims hold for the measurements.

mod correlation;
mod order;
mod value;
mod verdict;

pub use verdict::{FigureVerdict, Judged, LineVerdict, Verdict};

use super::claim::{At, Claim, Dimension, Place};
use super::line::{Aging, Line};
use super::measure::is_by_disk;
use super::outcome::{Correlated, Outcome};
use super::spec::Experiment;
use results::measures;

/// A relative difference below this tells no direction and no order of single agings, which have no interval. Each further division of a
/// value adds as much.
const MARGIN: f64 = 0.02;

/// The same of rates of benchmarks: two runs of some seconds on the same file system differ by 9 % to 11 %.
const RATE_MARGIN: f64 = 0.1;

/// The margin of a measure.
fn margin(measure: &str) -> f64 {
    if measures::find(measure).is_some_and(|measure| measure.rate) { RATE_MARGIN } else { MARGIN }
}

/// The expected lines and rounds, and the measurements.
pub(super) struct Judge<'o> {
    /// The experiment.
    pub experiment: &'o Experiment,
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
    pub fn judge(&self, claim: &Claim) -> Judged {
        let lines = self.claimed(claim);
        let of_lines = if !claim.missing.is_empty() {
            vec![LineVerdict::untold(String::new(), claim.missing.clone())]
        } else if !claim.order.is_empty() {
            self.orders(claim, &lines)
        } else if claim.is_ranking() {
            self.reorderings(claim, &lines)
        } else if claim.correlates_with.is_some() {
            self.correlations(claim)
                .into_iter()
                .map(|(name, found)| correlation::verdict(claim, name, found))
                .collect()
        } else {
            let name = |line: &Line| line.name(depends_on_disk(claim));
            let values = lines.iter().map(|line| (name(line), self.value(claim, line)));
            let judged = match claim.extreme {
                None => values.collect(),
                Some(extreme) => value::extreme(extreme, values).into_iter().collect::<Vec<_>>(),
            };
            judged.into_iter().map(|(name, value)| value::verdict(claim, name, value)).collect()
        };
        Judged::new(claim, of_lines)
    }

    /// The lines of a claim. If the measure does not depend on the disk, only the lines of one disk.
    fn claimed(&self, claim: &Claim) -> Vec<&Line> {
        let by_disk = depends_on_disk(claim);
        let of = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let mut lines: Vec<&Line> = Vec::new();
        for line in self.lines {
            let same = |other: &&Line| (&other.fs, &other.option) == (&line.fs, &line.option);
            if of(&claim.fs, &line.fs)
                && of(&claim.disks, &line.disk)
                && of(&claim.options, &line.option)
                && (by_disk || !lines.iter().any(same))
            {
                lines.push(line);
            }
        }
        lines
    }

    /// The value of a measure after a round, of each aging of a line.
    fn measured(&self, line: &Line, side: &str, measure: &str, round: u64) -> Result<Vec<f64>, String> {
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

    /// The round of a position; `None` if it depends on the values.
    fn round_of(&self, at: At) -> Option<u64> {
        match at {
            At::Round(round) => Some(round),
            At::Share(share) => {
                let distance = |round: &&u64| (**round as f64 - share * self.last_round() as f64).abs();
                self.rounds.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied()
            }
            At::Place(Place::First) => Some(self.rounds[0]),
            At::Place(Place::Last) => Some(self.last_round()),
            At::Place(Place::Least | Place::Greatest) => None,
        }
    }

    fn last_round(&self) -> u64 {
        self.rounds[self.rounds.len() - 1]
    }

    /// Finds the line of a file system, disk and setting.
    fn find_line(&self, of: [&str; 3]) -> Result<&Line, String> {
        let same = |line: &&Line| [line.fs.as_str(), &line.disk, &line.option] == of;
        self.lines.iter().find(same).ok_or_else(|| "no measurement to compare with".to_owned())
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

    fn has_failed(&self, aging: &Aging) -> bool {
        self.outcome.failed.iter().any(|failed| failed.cell == aging.cell)
    }

    /// The correlations that the claims use, each once.
    pub fn all_correlations(&self) -> Vec<Correlated> {
        let mut all = Vec::new();
        for claim in &self.experiment.claim {
            let Some(with) = &claim.correlates_with else { continue };
            for (lines, found) in self.correlations(claim) {
                let Ok(found) = found else { continue };
                let (side, measure, with) = (claim.side.clone(), claim.measure.clone(), with.clone());
                let correlated = Correlated { lines, side, measure, with, found };
                if !all.contains(&correlated) {
                    all.push(correlated);
                }
            }
        }
        all
    }
}

/// The lines by their coordinates other than `dimension`, with the name of these.
fn groups<'l>(
    lines: impl IntoIterator<Item = &'l Line>,
    dimension: Option<Dimension>,
    by_disk: bool,
) -> Vec<(String, Vec<&'l Line>)> {
    let mut groups: Vec<(String, Vec<&Line>)> = Vec::new();
    for line in lines {
        let mut others = line.clone();
        match dimension {
            None => {}
            Some(Dimension::Fs) => others.fs.clear(),
            Some(Dimension::Option) => others.option.clear(),
            Some(Dimension::Disk) => others.disk.clear(),
        }
        let name = others.name(by_disk);
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, group)) => group.push(line),
            None => groups.push((name, vec![line])),
        }
    }
    groups
}

fn depends_on_disk(claim: &Claim) -> bool {
    let of_over = claim.over.iter().filter_map(|over| over.measure.as_deref());
    let mut measures = of_over.chain(claim.correlates_with.as_deref()).chain([claim.measure.as_str()]);
    let compares_disks = claim.over.iter().any(|over| over.disk.is_some());
    compares_disks || !claim.disks.is_empty() || measures.any(is_by_disk)
}

#[cfg(test)]
mod tests;
