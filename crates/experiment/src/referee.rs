//! The referee: what real disks measured, beside what modelled ones cost when the same is done to the file systems on them.
//!
//! The real series are raw results of Conway et al., File System Aging (arXiv 2401.08858, 2024): the cost of `grep -r` after every so many
//! pulls of Linux, on a hard disk and on an SSD, aged and unaged. The modelled ones are those of an experiment that pulls a history in the
//! same way. Compared are ratios, ranks and correlations: kernels, machines and histories differ, so seconds say little.

mod agreement;
mod series;

pub use agreement::{Agreement, AtPull, Beside, LineAgreement, Ranks, agreement};
pub use series::{RealLine, RealPoint, real_lines};

use crate::Experiment;
use run::Error;
use std::collections::BTreeSet;

/// The name of the experiment.
pub const FIGURE: &str = "referee";

/// The experiment that pulls up to `pulls` times, of which the first brings `skip` earlier commits along, and measures after as many pulls as
/// the real series.
///
/// # Errors
/// If that is before their first measurement.
pub fn experiment(pulls: u64, skip: u64) -> Result<Experiment, Error> {
    let mut experiment =
        Experiment::parse(include_str!("../../../experiments/referee/referee.toml"), FIGURE)?;
    // A tree before the first pull cannot be measured here.
    let at: BTreeSet<u64> = real_lines()
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.pull)
        .filter(|pull| *pull > 0)
        .collect();
    let rounds: Vec<u64> = at.range(..=pulls).copied().collect();
    if rounds.is_empty() {
        let first = at.first().copied().unwrap_or_default();
        return Err(Error::Refused(format!(
            "{pulls} pulls are too few: the real disks were measured after {first}, and later"
        )));
    }
    for scale in experiment.scale.values_mut() {
        scale.rounds.clone_from(&rounds);
        scale.workload.insert("skip".to_owned(), i64::try_from(skip).unwrap_or(i64::MAX).into());
    }
    Ok(experiment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_those_of_the_real_series() {
        for scale in experiment(700, 0).unwrap().scale.values() {
            assert_eq!(scale.rounds, [100, 200, 300, 400, 500]);
        }
        assert_eq!(experiment(10_000, 0).unwrap().scale["small"].last(), 10_000);
        assert!(experiment(99, 0).unwrap_err().to_string().contains("after 100"));
    }

    #[test]
    fn settings_and_file_systems_have_real_series() {
        let experiment = experiment(100, 0).unwrap();
        for option in &experiment.option {
            let of_option = |line: &&RealLine| line.option == option.name;
            let lines = real_lines();
            let found: Vec<&RealLine> = lines.iter().filter(of_option).collect();
            assert!(found.iter().any(|line| line.fs == "ext4" && line.disk == "hdd-7200"), "{}", option.name);
            assert!(found.iter().all(|line| experiment.disks.contains(&line.disk)));
        }
    }
}
