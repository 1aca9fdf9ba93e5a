//! Measures the agreement of two file systems, checkpoint by checkpoint.

use super::checkpoint_stats::CheckpointStats;
use super::distance::{earth_mover, kolmogorov_smirnov};
use crate::Error;
use probe::{ExtentBin, FreeSpace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Minimum share of the files of a checkpoint that must exist on the other side with the same size. Files that do not fit, or that no
/// operation creates, are missing even from a faithful replay.
const LEAST_MATCHED: f64 = 0.98;

/// The comparison of a real file system with the replayed one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Name of the run in the store.
    pub name: String,
    /// Kind of the real file system.
    pub fs: String,
    /// Kind of the replayed file system.
    pub replayed_fs: String,
    /// All checkpoints; the first is the initial filling.
    pub days: Vec<Day>,
    /// Mean over the days of the absolute difference of the aggregate layout scores.
    pub mean_abs_difference: Option<f64>,
    /// The aggregate layout score of the real file system on the last day.
    pub real_final: Option<f64>,
    /// The aggregate layout score of the replayed file system on the last day.
    pub replayed_final: Option<f64>,
    /// Layout scores by file size, on the last day.
    pub by_size: Vec<SizeScores>,
    /// The free space of the real file system on the last day, if it is known.
    pub real_free: Option<FreeSpace>,
    /// The free space of the replayed file system on the last day, if it is known.
    pub replayed_free: Option<FreeSpace>,
}

/// One checkpoint of both file systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// Number of the day, from 0.
    pub day: u64,
    /// Aggregate layout score of the real file system; `None` if no file has two blocks, or extents are not known.
    pub real_score: Option<f64>,
    /// Aggregate layout score of the replayed file system.
    pub replayed_score: Option<f64>,
    /// Number of files of the real file system.
    pub real_files: u64,
    /// Number of files of the replayed file system.
    pub replayed_files: u64,
    /// The share of the files of one that have a counterpart of the same size in the other.
    pub matched: f64,
    /// Fullness of the real file system.
    pub real_fullness: Option<f64>,
    /// Fullness of the replayed file system.
    pub replayed_fullness: Option<f64>,
    /// Distances of the file sizes.
    pub sizes: Distances,
    /// Distances of the lengths of free extents, if they are known on both sides.
    pub free: Option<Distances>,
}

/// Distances of two size distributions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// The maximum difference of the cumulative distributions, from 0 to 1.
    pub kolmogorov_smirnov: f64,
    /// The earth mover's distance of the logarithms to base 2: the mean difference of sizes in doublings.
    pub earth_mover_doublings: f64,
}

/// Files larger than half of `upper_bytes` and at most `upper_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeScores {
    /// A power of two.
    pub upper_bytes: u64,
    /// Number of files of the real file system.
    pub real_files: u64,
    /// Number of files of the replayed file system.
    pub replayed_files: u64,
    /// Their layout score in the real file system.
    pub real_score: Option<f64>,
    /// Their layout score in the replayed file system.
    pub replayed_score: Option<f64>,
}

/// Compares the observations of both at the same checkpoints. Refuses snapshots that do not share a history.
pub fn agree(name: &str, real: &[CheckpointStats], replayed: &[CheckpointStats]) -> Result<Verified, Error> {
    let (Some(last), Some(replayed_last)) = (real.last(), replayed.last()) else {
        return Err(Error::Refused("no snapshots to compare; give at least one of each side".to_owned()));
    };
    let days: Vec<Day> =
        (0..).zip(real.iter().zip(replayed)).map(|(n, (real, replayed))| day(n, real, replayed)).collect();
    if let Some(day) = days.iter().find(|day| day.matched < LEAST_MATCHED) {
        return Err(Error::Refused(format!(
            "the snapshots at position {} do not share a history: of {} and {} files, {:.1} % have a \
             counterpart of the same size, but at least {:.0} % must; give snapshots of the same \
             checkpoints, in the same order",
            day.day,
            day.real_files,
            day.replayed_files,
            day.matched * 100.0,
            LEAST_MATCHED * 100.0
        )));
    }
    let differences: Vec<f64> =
        days.iter().filter_map(|day| Some((day.real_score? - day.replayed_score?).abs())).collect();
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    Ok(Verified {
        name: name.to_owned(),
        fs: last.fs.clone(),
        replayed_fs: replayed_last.fs.clone(),
        days,
        mean_abs_difference: (!differences.is_empty()).then_some(mean),
        real_final: last.stat.layout_score,
        replayed_final: replayed_last.stat.layout_score,
        by_size: by_size(last, replayed_last),
        real_free: last.free.clone(),
        replayed_free: replayed_last.free.clone(),
    })
}

fn day(day: u64, real: &CheckpointStats, replayed: &CheckpointStats) -> Day {
    Day {
        day,
        real_score: real.stat.layout_score,
        replayed_score: replayed.stat.layout_score,
        real_files: real.stat.files,
        replayed_files: replayed.stat.files,
        matched: matched(&real.sizes, &replayed.sizes),
        real_fullness: real.stat.fullness,
        replayed_fullness: replayed.stat.fullness,
        sizes: distances(&logarithms(&real.sizes), &logarithms(&replayed.sizes)),
        free: real
            .free
            .as_ref()
            .zip(replayed.free.as_ref())
            .map(|(a, b)| distances(&lengths(&a.histogram), &lengths(&b.histogram))),
    }
}

/// The share of the longer of two ascending lists that is also in the other.
fn matched(a: &[u64], b: &[u64]) -> f64 {
    let (mut at, mut both) = (0, 0);
    for size in a {
        while b.get(at).is_some_and(|other| other < size) {
            at += 1;
        }
        if b.get(at) == Some(size) {
            both += 1;
            at += 1;
        }
    }
    match a.len().max(b.len()) {
        0 => 1.0,
        most => f64::from(both) / most as f64,
    }
}

/// Both distances of two distributions on a logarithmic axis.
pub fn distances(a: &[(f64, f64)], b: &[(f64, f64)]) -> Distances {
    Distances { kolmogorov_smirnov: kolmogorov_smirnov(a, b), earth_mover_doublings: earth_mover(a, b) }
}

/// Sizes on a logarithmic axis; an empty file counts as one byte.
fn logarithms(sizes: &[u64]) -> Vec<(f64, f64)> {
    sizes.iter().map(|size| (((*size).max(1) as f64).log2(), 1.0)).collect()
}

/// Extent lengths on a logarithmic axis; only the power-of-two class of each is known.
pub fn lengths(histogram: &[ExtentBin]) -> Vec<(f64, f64)> {
    histogram.iter().map(|bin| ((bin.lower_bytes as f64).log2(), bin.extents as f64)).collect()
}

fn by_size(real: &CheckpointStats, replayed: &CheckpointStats) -> Vec<SizeScores> {
    let mut classes: BTreeMap<u64, SizeScores> = BTreeMap::new();
    let none = |upper_bytes| SizeScores {
        upper_bytes,
        real_files: 0,
        replayed_files: 0,
        real_score: None,
        replayed_score: None,
    };
    for class in &real.stat.by_size {
        let scores = classes.entry(class.upper_bytes).or_insert_with(|| none(class.upper_bytes));
        (scores.real_files, scores.real_score) = (class.files, class.layout_score);
    }
    for class in &replayed.stat.by_size {
        let scores = classes.entry(class.upper_bytes).or_insert_with(|| none(class.upper_bytes));
        (scores.replayed_files, scores.replayed_score) = (class.files, class.layout_score);
    }
    classes.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint_stats;
    use super::*;
    use snapshot::{Entry, Extent, Info, Kind, ROOT, SnapshotBuilder};

    /// A file system with files of the given numbers of blocks, each fragmented after its first block or not.
    fn file_system(files: &[(u64, bool)]) -> CheckpointStats {
        let entry = |kind, size| Entry {
            parent: ROOT,
            kind,
            inode: size,
            generation: None,
            links: 1,
            size,
            allocated: size,
            changed_ns: 0,
            modified_ns: 0,
            born_ns: None,
        };
        let info = Info { fs: "ext4".to_owned(), block_bytes: 4096, ..Info::default() };
        let mut builder = SnapshotBuilder::new(info, entry(Kind::Dir, 0));
        for (n, (blocks, broken)) in (0..).zip(files) {
            let at = n << 30;
            let gap = if *broken { 1 << 20 } else { 0 };
            let extents = [
                Extent { logical: 0, physical: at, len: 4096 },
                Extent { logical: 4096, physical: at + 4096 + gap, len: (blocks - 1) * 4096 },
            ];
            builder.add(entry(Kind::File, blocks * 4096), format!("{n}").as_bytes(), &extents);
        }
        let lengths =
            files.iter().map(|(blocks, _)| disk::Extent { start_bytes: 0, len_bytes: blocks * 4096 });
        checkpoint_stats::of(&builder.finish(), Some(probe::free_space(&lengths.collect::<Vec<_>>())))
    }

    #[test]
    fn scores_are_compared_by_day_and_by_size() {
        let whole = file_system(&[(5, false), (9, false)]);
        let broken = file_system(&[(5, true), (9, false)]);
        let verified = agree("a", &[whole.clone(), whole.clone()], &[whole.clone(), broken]).unwrap();
        let scores: Vec<_> = verified.days.iter().map(|day| (day.real_score, day.replayed_score)).collect();
        assert_eq!(scores, [(Some(1.0), Some(1.0)), (Some(1.0), Some(11.0 / 12.0))]);
        assert!((verified.mean_abs_difference.unwrap() - 1.0 / 24.0).abs() < 1e-12);
        assert_eq!((verified.real_final, verified.replayed_final), (Some(1.0), Some(11.0 / 12.0)));
        let by_size: Vec<_> =
            verified.by_size.iter().map(|s| (s.upper_bytes, s.real_score, s.replayed_score)).collect();
        assert_eq!(by_size, [(32 << 10, Some(1.0), Some(0.75)), (64 << 10, Some(1.0), Some(1.0))]);
        let nothing = Distances { kolmogorov_smirnov: 0.0, earth_mover_doublings: 0.0 };
        assert_eq!((verified.days[1].sizes, verified.days[1].free), (nothing, Some(nothing)));
    }

    #[test]
    fn different_histories_are_refused() {
        let (one, other) = (file_system(&[(5, false), (9, false)]), file_system(&[(5, false), (12, false)]));
        let error = agree("a", &[one.clone(), one], &[other.clone(), other]).unwrap_err().to_string();
        assert!(error.contains("position 0") && error.contains("50.0 %"), "{error}");
        assert!(agree("a", &[], &[]).is_err());
    }
}
