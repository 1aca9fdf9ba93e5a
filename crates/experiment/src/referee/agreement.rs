//! How far modelled disks agree with real ones.

use super::series::{RealLine, RealPoint, real_lines};
use crate::Outcome;
use results::{measures, median_interval, spearman};
use run::checkpoint::CheckpointPair;
use serde::Serialize;
use std::collections::BTreeMap;

/// How far the modelled disks of an outcome agree with the real ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Line by line, for those that both have.
    pub lines: Vec<LineAgreement>,
    /// The file systems by their cost, for each disk and setting.
    pub ranks: Vec<Ranks>,
}

/// A file system on a disk with a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineAgreement {
    /// Kind of file system.
    pub fs: String,
    /// The disk.
    pub disk: String,
    /// The setting.
    pub option: String,
    /// After each number of pulls that both have.
    pub pulls: Vec<AtPull>,
    /// Spearman's correlation of the costs of the aged trees over the pulls; `None` for fewer than three.
    pub spearman: Option<f64>,
    /// Median over the pulls of the deviation of the modelled aging ratio from the real one, as a share of that.
    pub ratio_error: Option<f64>,
    /// The largest deviation of the modelled layout score from the real one.
    pub score_error: Option<f64>,
}

/// Real and modelled after a number of pulls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtPull {
    /// The number of pulls.
    pub pull: u64,
    /// Aged over unaged.
    pub ratio: Beside,
    /// Cost of the aged tree, in s/GiB.
    pub cost: Beside,
    /// Dynamic layout score of the aged tree.
    pub score: Beside,
}

/// A real value and a modelled one; the mean over the agings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// On the real disk.
    pub real: Option<f64>,
    /// On the modelled one.
    pub modelled: Option<f64>,
}

/// The order of the file systems on a disk with a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranks {
    /// The disk.
    pub disk: String,
    /// The setting.
    pub option: String,
    /// The number of pulls, the last that all of them have.
    pub pull: u64,
    /// The file systems, the fastest aged one first.
    pub real: Vec<String>,
    /// The same on the modelled disk.
    pub modelled: Vec<String>,
}

impl Beside {
    fn both(self) -> Option<(f64, f64)> {
        self.real.zip(self.modelled)
    }
}

/// Compares an outcome of the experiment with the real series.
pub fn agreement(outcome: &Outcome) -> Agreement {
    let real = real_lines();
    let lines: Vec<LineAgreement> = real
        .iter()
        .map(|line| LineAgreement::new(line, &outcome.pairs))
        .filter(|line| !line.pulls.is_empty())
        .collect();
    let mut by_disk: BTreeMap<(&str, &str), Vec<&LineAgreement>> = BTreeMap::new();
    for line in &lines {
        by_disk.entry((&line.disk, &line.option)).or_default().push(line);
    }
    let ranks = by_disk.into_values().filter_map(|lines| ranks(&lines, &real)).collect();
    Agreement { lines, ranks }
}

impl LineAgreement {
    fn new(line: &RealLine, pairs: &[CheckpointPair]) -> LineAgreement {
        let is_of = |pair: &&CheckpointPair| {
            (&pair.fs, &pair.disk, &pair.option) == (&line.fs, &line.disk, &line.option)
        };
        let of_line: Vec<&CheckpointPair> = pairs.iter().filter(is_of).collect();
        let pulls: Vec<AtPull> =
            line.points.iter().filter_map(|point| AtPull::new(point, &of_line)).collect();
        let costs: Vec<_> = pulls.iter().filter_map(|at| at.cost.both()).collect();
        let of = |beside: fn(&AtPull) -> Beside, error: fn((f64, f64)) -> f64| -> Vec<f64> {
            pulls.iter().filter_map(|at| beside(at).both()).map(error).collect()
        };
        let ratios = of(|at| at.ratio, |(real, modelled)| (modelled / real - 1.0).abs());
        let scores = of(|at| at.score, |(real, modelled)| (modelled - real).abs());
        LineAgreement {
            fs: line.fs.clone(),
            disk: line.disk.clone(),
            option: line.option.clone(),
            spearman: spearman(&costs),
            ratio_error: median_interval(&ratios).map(|interval| interval.median),
            score_error: scores.into_iter().reduce(f64::max),
            pulls,
        }
    }
}

impl AtPull {
    /// `None` if the modelled line was not measured there.
    fn new(point: &RealPoint, of_line: &[&CheckpointPair]) -> Option<AtPull> {
        let here: Vec<&&CheckpointPair> = of_line.iter().filter(|pair| pair.round == point.pull).collect();
        if here.is_empty() {
            return None;
        }
        let beside = |measure: &str, value: &dyn Fn(&CheckpointPair) -> Option<f64>| {
            let values: Vec<f64> = here.iter().filter_map(|pair| value(pair)).collect();
            let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
            Beside { real: point.value(measure), modelled: mean }
        };
        let of_aged = |measure: &'static str| {
            beside(measure, &|pair: &CheckpointPair| pair.aged.values.get(measure).copied())
        };
        Some(AtPull {
            pull: point.pull,
            ratio: beside(measures::AGING_RATIO.name, &|pair| pair.aging_ratio),
            cost: of_aged(measures::MODELLED_S_PER_GIB.name),
            score: of_aged(measures::DYNAMIC_LAYOUT_SCORE.name),
        })
    }
}

/// The order of these lines after the last pull that all of them have; `None` for a single one.
fn ranks(lines: &[&LineAgreement], real: &[RealLine]) -> Option<Ranks> {
    let common = |pull: &u64| lines.iter().all(|line| line.pulls.iter().any(|at| at.pull == *pull));
    let pull = lines[0].pulls.iter().map(|at| at.pull).filter(common).max()?;
    // The tree is the same on all of them, so seconds give the same order as costs, and also that of BetrFS.
    let real_s = |line: &LineAgreement| {
        let found = real
            .iter()
            .find(|real| (&real.fs, &real.disk, &real.option) == (&line.fs, &line.disk, &line.option));
        found?.points.iter().find(|point| point.pull == pull).map(|point| point.aged_s)
    };
    let modelled = |line: &LineAgreement| line.pulls.iter().find(|at| at.pull == pull)?.cost.modelled;
    let order = |cost: &dyn Fn(&LineAgreement) -> Option<f64>| {
        let mut costs: Vec<(f64, &str)> =
            lines.iter().filter_map(|line| Some((cost(line)?, line.fs.as_str()))).collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0));
        costs.into_iter().map(|(_, fs)| fs.to_owned()).collect::<Vec<_>>()
    };
    (lines.len() > 1).then(|| Ranks {
        disk: lines[0].disk.clone(),
        option: lines[0].option.clone(),
        pull,
        real: order(&real_s),
        modelled: order(&modelled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::checkpoint::CheckpointSide;

    /// A pair whose modelled values are those of a real point, but for a factor of the costs.
    fn pair(line: &RealLine, point: &RealPoint, factor: f64) -> CheckpointPair {
        let side = |side: &str, cost: f64| CheckpointSide {
            fs: line.fs.clone(),
            disk: line.disk.clone(),
            option: line.option.clone(),
            seed: 42,
            round: point.pull,
            side: side.to_owned(),
            values: [
                (measures::MODELLED_S_PER_GIB.name.to_owned(), cost),
                (measures::DYNAMIC_LAYOUT_SCORE.name.to_owned(), point.aged_score),
            ]
            .into(),
        };
        let gib = point.tree_gib.unwrap_or(1.0);
        let (aged, unaged) = (factor * point.aged_s / gib, point.unaged_s / gib);
        CheckpointPair {
            fs: line.fs.clone(),
            disk: line.disk.clone(),
            option: line.option.clone(),
            seed: 42,
            round: point.pull,
            aged: side("aged", aged),
            unaged: side("unaged", unaged),
            aging_ratio: Some(aged / unaged),
            wall_aging_ratio: None,
        }
    }

    fn outcome(pairs: Vec<CheckpointPair>) -> Outcome {
        let experiment = super::super::experiment(100, 0).unwrap();
        Outcome {
            figure: experiment.figure,
            title: experiment.title,
            source: experiment.source,
            scale: "small".to_owned(),
            claims: Vec::new(),
            verdict: None,
            differs: Vec::new(),
            correlations: Vec::new(),
            checkpoints: Vec::new(),
            pairs,
            trees: Vec::new(),
            pictures: Vec::new(),
            failed: Vec::new(),
            left_out: Vec::new(),
            round: experiment.round,
            plots: experiment.plot,
        }
    }

    fn line<'l>(lines: &'l [RealLine], fs: &str, disk: &str) -> &'l RealLine {
        let found =
            |line: &&RealLine| line.fs == fs && line.disk == disk && line.option == "with source, gc off";
        lines.iter().find(found).unwrap()
    }

    #[test]
    fn real_series_agree_with_themselves() {
        let lines = real_lines();
        let pairs = lines.iter().flat_map(|line| line.points.iter().map(|point| pair(line, point, 1.0)));
        let found = agreement(&outcome(pairs.collect()));
        assert_eq!(found.lines.len(), lines.len());
        for line in &found.lines {
            assert!(line.ratio_error.unwrap() < 1e-9 && line.score_error == Some(0.0), "{line:?}");
            assert!(line.spearman.is_none_or(|spearman| spearman > 0.999), "{line:?}");
        }
        // Two disks, two trees, gc on and off.
        assert_eq!(found.ranks.len(), 8);
        assert!(found.ranks.iter().all(|ranks| ranks.pull == 10_000));
        let of_alone = found.ranks.iter().filter(|ranks| ranks.option.starts_with("alone"));
        assert!(of_alone.clone().all(|ranks| ranks.real == ranks.modelled));
        let first = of_alone.into_iter().find(|ranks| ranks.option.ends_with("off")).unwrap();
        assert_eq!(first.real, ["btrfs", "ext4", "f2fs"]);
    }

    #[test]
    fn disagreement_is_told() {
        let lines = real_lines();
        let (ext4, xfs) = (line(&lines, "ext4", "hdd-7200"), line(&lines, "xfs", "hdd-7200"));
        let halved = |line: &RealLine| -> Vec<_> {
            line.points[1..4].iter().map(|point| pair(line, point, 0.5)).collect()
        };
        let doubled = xfs.points[1..4].iter().map(|point| pair(xfs, point, 2.0));
        let found = agreement(&outcome(halved(ext4).into_iter().chain(doubled).collect()));
        assert_eq!(found.lines.len(), 2);
        let of = |fs: &str| found.lines.iter().find(|line| line.fs == fs).unwrap();
        assert!((of("ext4").ratio_error.unwrap() - 0.5).abs() < 1e-9);
        assert!((of("xfs").ratio_error.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(of("ext4").pulls.iter().map(|at| at.pull).collect::<Vec<_>>(), [100, 200, 300]);
        assert_eq!(found.ranks.len(), 1);
        assert_eq!(
            (found.ranks[0].pull, &found.ranks[0].real),
            (300, &vec!["ext4".to_owned(), "xfs".to_owned()])
        );
    }
}
