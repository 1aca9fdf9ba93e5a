//! Whether aging changes the ranking of file systems.

use super::Judge;
use super::verdict::Verdict;
use crate::line::Line;
use crate::spec::Check;
use results::{Sample, Told, Words};
use run::SUBJECTS;

/// The words of a difference between two file systems.
const WORDS: Words = Words { more: "higher", less: "lower", evidence: "aging" };

impl Judge<'_> {
    /// Whether two file systems on the disk of `line` change their order from the unaged side to the side of the claim. Means alone would do so
    /// by chance, so both differences must be told by their intervals over the agings.
    pub(super) fn ranking(&self, line: &Line, check: &Check, round: u64) -> Verdict {
        match self.changed_places(line, check, round) {
            Ok((orders, changed)) => Verdict {
                measured: [vec![orders], changed.clone()].concat().join("; "),
                holds: Some(!changed.is_empty()),
                why: "holds if two file systems change places, both differences beyond their intervals"
                    .to_owned(),
            },
            Err(why) => Verdict { measured: String::new(), holds: None, why },
        }
    }

    /// Both orders, greatest first, and the file systems that change their order.
    fn changed_places(
        &self,
        line: &Line,
        check: &Check,
        round: u64,
    ) -> Result<(String, Vec<String>), String> {
        if line.agings.len() < 2 {
            return Err("one aging cannot tell a change of ranking from chance".to_owned());
        }
        let same = |other: &&Line| (&other.disk, &other.option) == (&line.disk, &line.option);
        let lines: Vec<&Line> = self.lines.iter().filter(same).collect();
        let sides = [SUBJECTS[1], &check.side];
        let sample = |of: &Line, side: &str| {
            let values = self.value(of, side, &check.measure, round)?;
            Ok::<_, String>(Sample { values, seeds: of.agings.iter().map(|aging| aging.seed).collect() })
        };
        let order = |side: &str| -> Result<String, String> {
            let mut valued = Vec::new();
            for of in &lines {
                let values = sample(of, side)?.values;
                valued.push((values.iter().sum::<f64>() / values.len() as f64, of.fs.as_str()));
            }
            valued.sort_by(|a, b| b.0.total_cmp(&a.0));
            let names: Vec<&str> = valued.into_iter().map(|(_, fs)| fs).collect();
            Ok(format!("{side}: {}", names.join(", ")))
        };
        let orders = format!("{}; {}", order(sides[0])?, order(sides[1])?);
        let mut changed = Vec::new();
        for (at, one) in lines.iter().enumerate() {
            for other in &lines[at + 1..] {
                let mut told = Vec::new();
                for side in sides {
                    let ratio = sample(one, side)?.ratio_to(&sample(other, side)?);
                    let ratio = ratio.ok_or_else(|| format!("{} is not positive", check.measure))?;
                    told.push(results::Verdict::on(&ratio, WORDS));
                }
                let [before, after] = &told[..] else { unreachable!("there are two sides") };
                if matches!((before.told, after.told), (Told::More, Told::Less) | (Told::Less, Told::More)) {
                    changed.push(format!(
                        "{} and {} change places ({} {}; {} {})",
                        one.fs, other.fs, sides[0], before.text, sides[1], after.text
                    ));
                }
            }
        }
        Ok((orders, changed))
    }
}
