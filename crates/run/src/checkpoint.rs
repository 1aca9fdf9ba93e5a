//! The measurements of a checkpoint, read back from the store.

use crate::Error;
use crate::compare::{SUBJECTS, interval, ratio};
use crate::tree::{TreeLayout, tree_layout};
use results::measures;
use results::{Interval, RunId, Store};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// `aged` or `unaged`; for a verification `real` or `replayed`; empty if there are no sides.
    pub side: String,
    /// All measures: medians of the repetitions.
    #[serde(flatten)]
    pub values: BTreeMap<String, f64>,
    /// The 95 % intervals of measures with enough repetitions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, (f64, f64)>,
    /// The repetitions, needed to judge claims; not serialized, because the store holds them.
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
    /// Median over the repetitions of the aged over the unaged scan cost on the modelled disk.
    pub aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    #[serde(default)]
    pub aging_ratio_interval: Option<Interval>,
    /// Aged over unaged wall time of the scans on this machine, which does not have the modelled disk.
    pub wall_aging_ratio: Option<f64>,
    /// The same with its 95 % interval.
    #[serde(default)]
    pub wall_aging_ratio_interval: Option<Interval>,
}

/// The tree layout of one side at one checkpoint.
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
    /// The layout.
    pub tree: TreeLayout,
}

/// The side of subjects without sides, such as a disk alone.
pub const ONLY: &str = "";

/// Identifies the series that a checkpoint belongs to.
#[derive(Clone, Copy)]
pub struct SeriesKey<'a> {
    /// Kind of file system.
    pub fs: &'a str,
    /// The setting; empty if there is only one.
    pub option: &'a str,
    /// The seed.
    pub seed: u64,
    /// Whether both sides are on the same disk, so that their wall times are comparable.
    pub one_disk: bool,
}

/// Reads a checkpoint back: for each disk its sides and their pairs.
pub fn read_checkpoint(
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
            let found =
                interval(&numbers, subject, &number.measure).expect("at least one number was recorded");
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
    let subjects = numbers.iter().map(|number| number.subject.as_str());
    let others: BTreeSet<&str> = subjects.filter(|subject| !SUBJECTS.contains(subject)).collect();
    let (mut sides, mut pairs) = (Vec::new(), Vec::new());
    for disk in disks {
        let [mut aged, unaged] = SUBJECTS.map(|subject| side(subject, disk));
        if let (Some(aged), Some(unaged)) = (&mut aged, &unaged) {
            // There is no ratio if the unaged scan had nothing to read.
            let ratio = |measure: &str| ratio(&numbers, measure).filter(|ratio| ratio.median.is_finite());
            let modelled = ratio(measures::MODELLED_S_PER_GIB.on(disk).name());
            let wall = ratio(measures::SCAN_S_PER_GIB.name).filter(|_| one_disk);
            // Plots and claims use these ratios like a measure of the aged side.
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
        sides.extend(others.iter().filter_map(|subject| side(subject, disk)));
    }
    Ok((sides, pairs))
}

/// Reads back the tree layouts of a checkpoint; empty if there are none.
pub fn read_trees(store: &Store, run: RunId, key: SeriesKey, round: u64) -> Result<Vec<TreeAt>, Error> {
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
                let modelled = measures::MODELLED_S_PER_GIB.on("hdd").measurement(side, repetition, cost);
                store.record(run, &modelled).unwrap();
                let measured = measures::SCAN_S_PER_GIB.measurement(side, repetition, 1.0);
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
