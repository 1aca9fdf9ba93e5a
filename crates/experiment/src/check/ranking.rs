//! Decides whether aging changes the order of file systems.

use super::Judge;
use super::verdict::Verdict;
use crate::line::Line;
use crate::spec::Check;
use results::difference;
use run::SUBJECTS;
use std::cmp::Ordering;

impl Judge<'_> {
    /// Whether two file systems on the disk of `line` change their order from the unaged side to the side of the claim. Medians alone would
    /// do so by chance, so both differences must be significant.
    pub(super) fn ranking(&self, line: &Line, check: &Check, round: u64) -> Verdict {
        match self.changed_places(line, check, round) {
            Ok((orders, changed)) => Verdict {
                measured: [vec![orders], changed.clone()].concat().join("; "),
                holds: Some(!changed.is_empty()),
                why:
                    "holds if two file systems change places, both differences significant at 5 % (rank sums)"
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
        let same =
            |other: &&Line| (&other.disk, &other.option, other.seed) == (&line.disk, &line.option, line.seed);
        let lines: Vec<&Line> = self.lines.iter().filter(same).collect();
        let sides = [SUBJECTS[1], &check.side];
        let order = |side: &str| -> Result<String, String> {
            let valued =
                lines.iter().map(|of| Ok((self.value(of, side, &check.measure, round)?, of.fs.as_str())));
            let mut valued = valued.collect::<Result<Vec<(f64, &str)>, String>>()?;
            valued.sort_by(|a, b| b.0.total_cmp(&a.0));
            let names: Vec<&str> = valued.into_iter().map(|(_, fs)| fs).collect();
            Ok(format!("{side}: {}", names.join(", ")))
        };
        let orders = format!("{}; {}", order(sides[0])?, order(sides[1])?);
        let mut changed = Vec::new();
        for (at, one) in lines.iter().enumerate() {
            for other in &lines[at + 1..] {
                let [unaged, aged] = sides.map(|side| self.places(one, other, side, check, round));
                let ((before, p_before), (after, p_after)) = (unaged?, aged?);
                if before != Ordering::Equal && after == before.reverse() {
                    changed.push(format!(
                        "{} and {} change places (p = {p_before:.3} unaged, {p_after:.3} {})",
                        one.fs, other.fs, check.side
                    ));
                }
            }
        }
        Ok((orders, changed))
    }

    /// The order of two file systems on a side, equal if the repetitions show no significant difference, and the p-value.
    fn places(
        &self,
        one: &Line,
        other: &Line,
        side: &str,
        check: &Check,
        round: u64,
    ) -> Result<(Ordering, f64), String> {
        let of = |line| self.repetitions(line, side, &check.measure, round);
        let median = |line| self.value(line, side, &check.measure, round);
        let found = difference(of(one)?, of(other)?).filter(|found| found.can_detect());
        let found = found
            .ok_or_else(|| format!("{} has too few repetitions to detect a difference", check.measure))?;
        let order =
            if found.is_significant() { median(one)?.total_cmp(&median(other)?) } else { Ordering::Equal };
        Ok((order, found.p))
    }
}
