//! Claims about a correlation.

use super::verdict::LineVerdict;
use super::{Judge, depends_on_disk, groups, value};
use crate::claim::{Claim, Dimension};
use crate::line::Line;
use results::{Correlation, Estimate, correlation};
use run::SUBJECTS;

impl Judge<'_> {
    /// The correlations of the measures of a claim over the rounds and agings, by the name of their lines.
    pub(super) fn correlations(&self, claim: &Claim) -> Vec<(String, Result<Correlation, String>)> {
        let pooled = claim.pooled.then_some(Dimension::Fs);
        let groups = groups(self.claimed(claim), pooled, depends_on_disk(claim)).into_iter();
        groups.map(|(name, lines)| (name, self.correlated(claim, &lines))).collect()
    }

    fn correlated(&self, claim: &Claim, lines: &[&Line]) -> Result<Correlation, String> {
        let with = claim.correlates_with.as_deref().unwrap_or_default();
        let is_whole = claim.pooled && claim.side == SUBJECTS[0];
        let sides = if is_whole { &SUBJECTS[..] } else { &[claim.side.as_str()] };
        let mut pairs = Vec::new();
        for line in lines {
            if let Some(failed) = line.agings.iter().find(|aging| self.has_failed(aging)) {
                return Err(format!("cell {} failed", failed.cell));
            }
            for (round, side) in
                self.rounds.iter().flat_map(|round| sides.iter().map(move |side| (round, side)))
            {
                let values = |measure| self.measured(line, side, measure, *round).ok();
                if let Some((of, with)) = values(&claim.measure).zip(values(with)) {
                    pairs.extend(of.into_iter().zip(with));
                }
            }
        }
        if claim.log {
            pairs.iter_mut().for_each(|(of, with)| (*of, *with) = (of.ln(), with.ln()));
        }
        correlation(&pairs).ok_or_else(|| {
            format!("{} measurements give no correlation of {} with {with}", pairs.len(), claim.measure)
        })
    }
}

/// The verdict on the correlation of some lines.
pub(super) fn verdict(claim: &Claim, line: String, found: Result<Correlation, String>) -> LineVerdict {
    let with = claim.correlates_with.as_deref().unwrap_or_default();
    match found {
        Ok(Correlation { r, low, high, n }) => {
            let (verdict, why) = value::on(claim, &Estimate { mean: r, low: Some(low), high: Some(high), n });
            let of = &claim.measure;
            let measured = format!(
                "correlation of {of} with {with} over {n} measurements: {r:.3} [{low:.3} – {high:.3}]"
            );
            LineVerdict { line, measured, verdict, why: why.replace("agings", "measurements") }
        }
        Err(why) => LineVerdict::untold(line, why),
    }
}
