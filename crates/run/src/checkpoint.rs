//! The measurements of a checkpoint, read back from the store.

use crate::Error;
use crate::compare::{SUBJECTS, median, ratio};
use crate::tree::{TreeLayout, tree_layout};
use results::measures;
use results::{RunId, Store};
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
    /// Aged over unaged scan cost on the modelled disk, as in [`crate::Pair::ratio`].
    pub aging_ratio: Option<f64>,
    /// Aged over unaged wall time of the scans on this machine, which does not have the modelled disk.
    pub wall_aging_ratio: Option<f64>,
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
        let mut values = BTreeMap::new();
        for number in numbers.iter().filter(|number| number.subject == subject) {
            let (name, on) = measures::split(&number.measure);
            if on.is_some_and(|on| on != disk) {
                continue;
            }
            values.extend(median(&numbers, subject, &number.measure).map(|value| (name.to_owned(), value)));
        }
        let [fs, disk, option, side] = [fs, disk, option, subject].map(str::to_owned);
        (!values.is_empty()).then_some(CheckpointSide { fs, disk, option, seed, round, side, values })
    };
    let subjects = numbers.iter().map(|number| number.subject.as_str());
    let others: BTreeSet<&str> = subjects.filter(|subject| !SUBJECTS.contains(subject)).collect();
    let (mut sides, mut pairs) = (Vec::new(), Vec::new());
    for disk in disks {
        let [mut aged, unaged] = SUBJECTS.map(|subject| side(subject, disk));
        if let (Some(aged), Some(unaged)) = (&mut aged, &unaged) {
            let ratio = |measure: &str| ratio(SUBJECTS.map(|subject| median(&numbers, subject, measure)));
            let modelled = ratio(measures::MODELLED_S_PER_GIB.on(disk).name());
            let wall = ratio(measures::SCAN_S_PER_GIB.name).filter(|_| one_disk);
            // Plots and claims use these ratios like a measure of the aged side.
            let operations = ratio(measures::OPERATIONS_PER_S.on(disk).name());
            for (measure, found) in [
                (measures::AGING_RATIO, modelled),
                (measures::WALL_AGING_RATIO, wall),
                (measures::OPERATIONS_RATIO, operations),
            ] {
                aged.values.extend(found.map(|ratio| (measure.name.to_owned(), ratio)));
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
                aging_ratio: modelled,
                wall_aging_ratio: wall,
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
    fn ratio_is_that_of_the_medians_of_the_scans() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let new = NewRun { kind: "checkpoint", name: "it", command: "", seed: None, parameters: "".into() };
        let run = store.begin(&new).unwrap();
        for (repetition, aged, unaged) in [(1, 10.0, 2.0), (2, 12.0, 5.0), (3, 20.0, 4.0)] {
            for (side, cost) in [("aged", aged), ("unaged", unaged)] {
                let modelled = measures::MODELLED_S_PER_GIB.on("hdd").measurement(side, repetition, cost);
                store.record(run, &modelled).unwrap();
                let measured = measures::SCAN_S_PER_GIB.measurement(side, repetition, 0.0);
                store.record(run, &measured).unwrap();
            }
        }
        let key = SeriesKey { fs: "ext4", option: "", seed: 1, one_disk: true };
        let (sides, pairs) = read_checkpoint(&store, run, key, 9, &["hdd".to_owned()]).unwrap();
        assert_eq!((sides[0].values["aging_ratio"], pairs[0].aging_ratio), (3.0, Some(3.0)));
        assert_eq!(pairs[0].wall_aging_ratio, None, "the unaged scan had nothing to read");
    }
}
