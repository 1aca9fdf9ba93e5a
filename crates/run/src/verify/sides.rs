//! The two file systems: the real one, aged by a synthetic workload, and the one on which the workload of its snapshots is replayed. A
//! snapshot of each is taken at every checkpoint.

use super::checkpoint_stats::{self, CheckpointStats};
use super::fresh;
use crate::{Error, site};
use disk::Session;
use fs::{Target, VolumeConfig};
use results::Watch;
use snapshot::Snapshot;
use std::path::Path;
use std::sync::Arc;
use workload::Traced;
use workload::snapshots::{Extracted, Options, Series};
use workload::synthetic::{SyntheticOptions, SyntheticWorkload};

/// Runs a synthetic workload on a fresh file system in the image at `path`. Returns its snapshots, the first after the initial filling,
/// and the observations from them.
pub fn synthetic(
    session: &Arc<Session>,
    volume: &VolumeConfig,
    path: &Path,
    options: &SyntheticOptions,
    watch: &mut dyn Watch,
) -> Result<(Vec<Snapshot>, Vec<CheckpointStats>), Error> {
    let mut side = fresh(session, volume, path)?;
    let mut workload = SyntheticWorkload::new(side.target_mut().root(), *options);
    let (mut snapshots, mut seen) = (Vec::new(), Vec::new());
    watch.phase("the real file system", Some((options.days + 1) * 100));
    for day in 0..=options.days {
        workload.run_day(&mut |done, of| watch.at(day * 100 + done * 100 / of.max(1)))?;
        let taken = take(side.target_mut())?;
        seen.push(taken.1);
        snapshots.push(taken.0);
    }
    drop(workload);
    side.remove()?;
    Ok((snapshots, seen))
}

/// Snapshots, and the parameters of their replay.
pub struct SnapshotInput {
    /// The snapshots.
    pub series: Box<dyn Series>,
    /// How the workload is derived from them.
    pub options: Options,
    /// The replay syncs after this many bytes.
    pub write_back_bytes: u64,
}

/// Replays the workload of snapshots on a fresh file system in the image at `path`, and returns the observations of each checkpoint.
pub fn replayed(
    session: &Arc<Session>,
    volume: &VolumeConfig,
    path: &Path,
    input: SnapshotInput,
    watch: &mut dyn Watch,
) -> Result<Vec<CheckpointStats>, Error> {
    let mut side = fresh(session, volume, path)?;
    let SnapshotInput { series, options, write_back_bytes } = input;
    let (checkpoints, seed) = (series.count() as u64, options.seed);
    watch.phase("generating a workload from the snapshots", None);
    let extracted = Extracted::new(series, options)?;
    let labels = extracted.labels();
    let mut replay = Traced::new(Box::new(extracted), seed, Some(labels)).writing_back(write_back_bytes);
    let mut seen = Vec::new();
    for checkpoint in 0..checkpoints {
        watch.phase(&format!("replaying up to snapshot {checkpoint} of {}", checkpoints - 1), None);
        site::advance(&mut replay, side.target_mut(), checkpoint, watch)?;
        seen.push(take(side.target_mut())?.1);
    }
    drop(replay);
    side.remove()?;
    Ok(seen)
}

/// Takes a snapshot, and records the free space.
fn take(target: &mut dyn Target) -> Result<(Snapshot, CheckpointStats), Error> {
    target.sync()?;
    let snapshot = probe::snapshot(target.root(), results::TOOL, threads(), None)?;
    let free = target.free_extents()?.map(|extents| probe::free_space(&extents));
    let seen = checkpoint_stats::of(&snapshot, free);
    Ok((snapshot, seen))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
