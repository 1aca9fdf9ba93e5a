//! What an experiment gave: read back from the store, so that what is shown is what is kept.

use super::check::Checked;
use super::spec::{Axis, Plot};
use super::verification;
use crate::Error;
use crate::compare::{SUBJECTS, interval, ratio};
use crate::tree::{TreeLayout, tree_layout};
use probe::FileMap;
use results::measures;
use results::{Correlation, Interval, RunId, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment, done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The figure that was reproduced.
    pub figure: String,
    /// What it shows.
    pub title: String,
    /// The publication.
    pub source: String,
    /// The scale.
    pub scale: String,
    /// What was published, and whether it holds.
    pub checks: Vec<Checked>,
    /// Whether it holds in its trend; `None` where that could not be judged.
    #[serde(default)]
    pub trend: Option<bool>,
    /// The correlations that claims are made of.
    #[serde(default)]
    pub correlations: Vec<Correlated>,
    /// All sides of all checkpoints.
    pub checkpoints: Vec<CheckpointSide>,
    /// Aged and unaged side by side.
    pub pairs: Vec<CheckpointPair>,
    /// How the trees lay of file systems that are one.
    #[serde(default)]
    pub trees: Vec<TreeAt>,
    /// Where files lay.
    pub pictures: Vec<Picture>,
    /// What did not end well.
    pub failed: Vec<FailedCell>,
    /// What a round is.
    pub round: Axis,
    /// What is drawn.
    pub plots: Vec<Plot>,
}

/// One side of one checkpoint on one disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointSide {
    /// Kind of file system.
    pub fs: String,
    /// Model of the disk that the scan is priced on.
    pub disk: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// `aged` or `unaged`; of a verification `real` or `replayed`; empty for what has no sides.
    pub side: String,
    /// All measures: medians of the repetitions.
    #[serde(flatten)]
    pub values: BTreeMap<String, f64>,
    /// The 95 % intervals of those that were repeated often enough.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, (f64, f64)>,
    /// Their repetitions, by which claims are judged; the store has them anyway.
    #[serde(skip)]
    pub repetitions: BTreeMap<String, Vec<f64>>,
}

/// Aged and unaged at one checkpoint on one disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointPair {
    /// Kind of file system.
    pub fs: String,
    /// Model of the disk that the scans are priced on.
    pub disk: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// The aged side.
    pub aged: CheckpointSide,
    /// The unaged side.
    pub unaged: CheckpointSide,
    /// Median of aged over unaged scan cost on the modelled disk, repetition by repetition.
    pub aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    #[serde(default)]
    pub aging_ratio_interval: Option<Interval>,
    /// Aged over unaged wall time of the scans on this machine, which has no such disk.
    pub wall_aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    #[serde(default)]
    pub wall_aging_ratio_interval: Option<Interval>,
}

/// How the tree of one side lay at one checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeAt {
    /// Kind of file system.
    pub fs: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// `aged` or `unaged`.
    pub side: String,
    /// How it lay.
    pub tree: TreeLayout,
}

/// How closely two measures of a line of the figure go together over its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlated {
    /// Kind of file system.
    pub fs: String,
    /// Model of the disk that the scans are priced on.
    pub disk: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    pub seed: u64,
    /// `aged` or `unaged`.
    pub side: String,
    /// The one measure.
    pub measure: String,
    /// The other.
    pub with: String,
    /// Pearson's r with its 95 % interval.
    #[serde(flatten)]
    pub found: Correlation,
}

/// Where the files of a cell lay after a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// Kind of file system.
    pub fs: String,
    /// The setting; empty if there is only one.
    pub option: String,
    /// The seed.
    #[serde(default)]
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// A row a file.
    pub files: Vec<FileMap>,
}

/// A cell that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    /// Its name.
    pub cell: String,
    /// Why.
    pub why: String,
}

/// The side of what has no sides: a disk alone.
pub(super) const ONLY: &str = "";

/// Identifies the series that a checkpoint belongs to.
#[derive(Clone, Copy)]
pub(crate) struct SeriesKey<'a> {
    /// Kind of file system.
    pub fs: &'a str,
    /// The setting; empty if there is only one.
    pub option: &'a str,
    /// The seed.
    pub seed: u64,
    /// Whether both sides lie on the same disk, so that their wall times can be compared.
    pub one_disk: bool,
}

/// Reads a checkpoint back, for each disk: its sides, and the pairs of them.
pub(crate) fn read_checkpoint(
    store: &Store,
    run: RunId,
    SeriesKey { fs, option, seed, one_disk }: SeriesKey,
    round: u64,
    disks: &[String],
) -> Result<(Vec<CheckpointSide>, Vec<CheckpointPair>), Error> {
    let numbers = store.measurements(run)?;
    let side = |subject: &str, disk: &str| {
        let (mut values, mut intervals) = (BTreeMap::new(), BTreeMap::new());
        let mut repetitions: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for number in numbers.iter().filter(|number| number.subject == subject) {
            let (name, on) = measures::split(&number.measure);
            if on.is_some_and(|on| on != disk) {
                continue;
            }
            let found = interval(&numbers, subject, &number.measure).expect("there is a number");
            values.insert(name.to_owned(), found.median);
            repetitions.entry(name.to_owned()).or_default().push(number.value);
            intervals.extend(found.low.zip(found.high).map(|ends| (name.to_owned(), ends)));
        }
        let [fs, disk, option, side] = [fs, disk, option, subject].map(str::to_owned);
        (!values.is_empty()).then_some(CheckpointSide {
            fs,
            disk,
            option,
            seed,
            round,
            side,
            values,
            intervals,
            repetitions,
        })
    };
    let (mut sides, mut pairs) = (Vec::new(), Vec::new());
    for disk in disks {
        let [mut aged, unaged] = SUBJECTS.map(|subject| side(subject, disk));
        if let (Some(aged), Some(unaged)) = (&mut aged, &unaged) {
            // Where nothing had to be read there is no ratio.
            let ratio = |measure: &str| ratio(&numbers, measure).filter(|ratio| ratio.median.is_finite());
            let modelled = ratio(measures::MODELLED_S_PER_GIB.on(disk).name());
            let wall = ratio(measures::SCAN_S_PER_GIB.name).filter(|_| one_disk);
            // A figure may draw them, and a claim be made of them, as of what is measured of one side.
            let operations = ratio(measures::OPERATIONS_PER_S.on(disk).name());
            for (measure, found) in [
                (measures::AGING_RATIO, modelled),
                (measures::WALL_AGING_RATIO, wall),
                (measures::OPERATIONS_RATIO, operations),
            ] {
                let Some(Interval { median, low, high, .. }) = found else { continue };
                aged.values.insert(measure.name.to_owned(), median);
                aged.intervals.extend(low.zip(high).map(|ends| (measure.name.to_owned(), ends)));
            }
            let (aged, unaged) = (aged.clone(), unaged.clone());
            let [fs, disk, option] = [fs, disk, option].map(str::to_owned);
            pairs.push(CheckpointPair {
                fs,
                disk,
                option,
                seed,
                round,
                aged,
                unaged,
                aging_ratio: modelled.map(|ratio| ratio.median),
                aging_ratio_interval: modelled,
                wall_aging_ratio: wall.map(|ratio| ratio.median),
                wall_aging_ratio_interval: wall,
            });
        }
        sides.extend(aged);
        sides.extend(unaged);
        sides.extend(verification::SIDES.into_iter().filter_map(|subject| side(subject, disk)));
        sides.extend(side(ONLY, disk));
    }
    Ok((sides, pairs))
}

/// Reads back how the trees of a checkpoint lay; none where there are none.
pub(crate) fn read_trees(
    store: &Store,
    run: RunId,
    key: SeriesKey,
    round: u64,
) -> Result<Vec<TreeAt>, Error> {
    let mut trees = Vec::new();
    for subject in SUBJECTS {
        let [fs, option, side] = [key.fs, key.option, subject].map(str::to_owned);
        let found = tree_layout(store, run, subject)?;
        trees.extend(found.map(|tree| TreeAt { fs, option, seed: key.seed, round, side, tree }));
    }
    Ok(trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::NewRun;

    #[test]
    fn ratios_of_six_repetitions_have_an_interval() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let new = NewRun { kind: "checkpoint", name: "it", command: "", seed: None, parameters: "".into() };
        let run = store.begin(&new).unwrap();
        for repetition in 1..=6 {
            let aged = 10.0 + repetition as f64;
            for (side, cost) in [("aged", aged), ("unaged", 2.0)] {
                let modelled = measures::MODELLED_S_PER_GIB.on("hdd").number(side, repetition, cost);
                store.record(run, &modelled).unwrap();
                let measured = measures::SCAN_S_PER_GIB.number(side, repetition, 1.0);
                store.record(run, &measured).unwrap();
            }
        }
        let key = SeriesKey { fs: "ext4", option: "", seed: 1, one_disk: true };
        let (sides, pairs) = read_checkpoint(&store, run, key, 9, &["hdd".to_owned()]).unwrap();
        assert_eq!(sides[0].values["aging_ratio"], 6.75);
        assert_eq!(sides[0].intervals["aging_ratio"], (5.5, 8.0));
        assert_eq!(sides[0].intervals["wall_aging_ratio"], (1.0, 1.0));
        let interval = pairs[0].aging_ratio_interval.unwrap();
        assert_eq!((pairs[0].aging_ratio, interval.low, interval.n), (Some(6.75), Some(5.5), 6));
    }
}
