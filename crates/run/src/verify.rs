//! Validates the replay of snapshots: compares a real file system, day by day, with one on which the workload derived from its snapshots
//! was replayed (Smith and Seltzer, "File System Aging: Increasing the Relevance of File System Benchmarks", SIGMETRICS 1997, §3.3 and its
//! figures of layout scores by day and by file size).

mod agree;
mod checkpoint_stats;
pub mod distance;
mod sides;

pub use agree::{Day, Distances, SizeScores, Verified};
pub(crate) use agree::{distances, lengths};

use crate::Error;
use crate::compare::unaged::Unaged;
use crate::error::unless_interrupted;
use crate::work::Work;
use checkpoint_stats::CheckpointStats;
use disk::Session;
use fs::{Location, VolumeConfig};
use results::measures;
use results::{NewRun, RunId, Store, Watch};
use snapshot::Snapshot;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::snapshots::{Options, Series};
use workload::synthetic::SyntheticOptions;

/// Parameters of a verification.
#[derive(Clone, Debug)]
pub struct VerifySpec {
    /// Name of the run in the store.
    pub name: String,
    /// The work directory.
    pub work: PathBuf,
    /// The file systems to compare.
    pub case: Case,
    /// The full command line, for the record.
    pub command: String,
}

/// The file systems to compare. File systems are made in images next to the store, and removed after the inspection.
#[derive(Clone, Debug)]
pub enum Case {
    /// Snapshots of a real file system and of a replayed one, in order of time.
    Given {
        /// Snapshots of the real one.
        real: Vec<PathBuf>,
        /// Snapshots of the replayed one.
        replayed: Vec<PathBuf>,
    },
    /// Snapshots of a real file system, and a replay of them on a fresh one.
    Replayed {
        /// The snapshots.
        real: Vec<PathBuf>,
        /// How the workload is derived from them.
        options: Options,
        /// The replay syncs after this many bytes.
        write_back_bytes: u64,
        /// The file system for the replay.
        volume: VolumeConfig,
    },
    /// The days of an [`workload::synthetic`] workload on a fresh file system, and a replay of its snapshots on another.
    Synthetic {
        /// The parameters of the synthetic workload.
        synthetic: SyntheticOptions,
        /// How the workload is derived from its snapshots.
        options: Options,
        /// The replay syncs after this many bytes.
        write_back_bytes: u64,
        /// Parameters of both file systems.
        volume: VolumeConfig,
    },
}

/// The document that holds the outcome of a verification.
const OUTCOME: &str = "outcome";

/// Runs a verification.
pub fn verify(spec: &VerifySpec, watch: &mut dyn Watch) -> Result<Verified, Error> {
    if let Case::Given { real, replayed } = &spec.case
        && real.len() != replayed.len()
    {
        return Err(Error::Refused(format!(
            "{} snapshots of the real file system, but {} of the replayed one: give one of each per \
             checkpoint",
            real.len(),
            replayed.len()
        )));
    }
    if let Case::Replayed { volume, .. } | Case::Synthetic { volume, .. } = &spec.case {
        fs::can_make(volume)?;
    }
    // Given snapshots are read before anything is created.
    let (mut agreed, mut given) = (None, None);
    match &spec.case {
        Case::Given { real, replayed } => {
            agreed = Some(agree::agree(
                &spec.name,
                &checkpoint_stats::of_files(real)?,
                &checkpoint_stats::of_files(replayed)?,
            )?);
        }
        Case::Replayed { real, .. } => given = Some(checkpoint_stats::of_files(real)?),
        Case::Synthetic { .. } => {}
    }
    let work = Work::take(&spec.work)?;
    let store = work.store()?;
    let run = store.begin(&NewRun {
        kind: "verify",
        name: &spec.name,
        command: &spec.command,
        seed: seed(&spec.case),
        parameters: parameters(&spec.case),
    })?;
    work.keep();
    let watch = &mut store.record_progress(watch);
    let verified = match agreed {
        Some(agreed) => Ok(agreed),
        None => Session::begin()
            .map_err(Error::from)
            .and_then(|session| compare_sides(&session, &spec.work, &spec.name, &spec.case, given, watch)),
    };
    let verified = unless_interrupted(verified).map_err(|error| match error {
        Error::Interrupted(_) => Error::Interrupted("no results are kept; start again".to_owned()),
        error => error,
    });
    if let Ok(verified) = &verified {
        record(&store, run, verified)?;
    }
    store.end_with(run, &verified)?;
    verified
}

/// Makes the necessary file systems, in images in `dir` with names that start with `name`, and compares. `given` are the observations from
/// real snapshots.
pub fn compare_sides(
    session: &Arc<Session>,
    dir: &Path,
    name: &str,
    case: &Case,
    given: Option<Vec<CheckpointStats>>,
    watch: &mut dyn Watch,
) -> Result<Verified, Error> {
    let image = |side: &str| dir.join(format!("{name}.{side}.img"));
    let (real, series, options, volume, write_back): (_, Box<dyn Series>, _, _, _) = match (case, given) {
        (Case::Replayed { real, options, write_back_bytes, volume }, Some(seen)) => {
            (seen, Box::new(real.clone()), options.clone(), volume, *write_back_bytes)
        }
        (Case::Synthetic { synthetic, options, write_back_bytes, volume }, _) => {
            let (snapshots, seen) = sides::synthetic(session, volume, &image("real"), synthetic, watch)?;
            let options = scale_intervals(options, &snapshots, synthetic);
            (seen, Box::new(snapshots), options, volume, *write_back_bytes)
        }
        _ => unreachable!("snapshots that are given are looked at before"),
    };
    let workload = sides::SnapshotInput { series, options, write_back_bytes: write_back };
    let replayed = sides::replayed(session, volume, &image("replayed"), workload, watch)?;
    agree::agree(name, &real, &replayed)
}

/// The options for snapshots of a synthetic workload, whose work intervals are scaled down.
fn scale_intervals(options: &Options, snapshots: &[Snapshot], synthetic: &SyntheticOptions) -> Options {
    let ends = |snapshot: Option<&Snapshot>| snapshot.map_or(0, |snapshot| snapshot.info().ended_ns);
    let worked_ns = ends(snapshots.last()) - ends(snapshots.first());
    let intervals = i64::try_from(synthetic.days * synthetic.intervals_per_day()).unwrap_or(i64::MAX).max(1);
    Options { write_back_ns: options.write_back_ns.map(|_| worked_ns / intervals), ..options.clone() }
}

fn seed(case: &Case) -> Option<u64> {
    match case {
        Case::Given { .. } => None,
        Case::Replayed { options, .. } => Some(options.seed),
        Case::Synthetic { synthetic, .. } => Some(synthetic.seed),
    }
}

fn parameters(case: &Case) -> serde_json::Value {
    let workload = |options: &Options| {
        serde_json::json!({
            "place": options.placement, "deletions": options.deletions, "updates": options.updates,
            "renames": options.renames, "links": options.links, "symlinks": options.symlinks, "holes": options.holes,
            "write_back_ns": options.write_back_ns,
            "short_lived": options.short_lived.as_ref().map(|short| short.bytes_per_profile),
        })
    };
    match case {
        Case::Given { real, replayed } => serde_json::json!({ "real": real, "replayed": replayed }),
        Case::Replayed { real, options, write_back_bytes, volume } => serde_json::json!({
            "real": real, "made": volume, "workload": workload(options), "write_back_bytes": write_back_bytes,
        }),
        Case::Synthetic { synthetic, options, write_back_bytes, volume } => serde_json::json!({
            "made": volume, "workload": workload(options), "write_back_bytes": write_back_bytes,
            "office": {
                "days": synthetic.days, "at_once": synthetic.concurrency, "windows": synthetic.intervals,
                "fullness": synthetic.fullness,
            },
        }),
    }
}

/// The outcome of a completed verification, by its run in the store.
pub fn verified(store: &Store, run: RunId) -> Result<Option<Verified>, results::Error> {
    store.document(run, "", OUTCOME)
}

fn record(store: &Store, run: RunId, verified: &Verified) -> Result<(), results::Error> {
    let mut numbers = Vec::new();
    for (day, repetition) in verified.days.iter().zip(1..) {
        let sides = [("real", day.real_score), ("replayed", day.replayed_score)];
        for (side, score) in sides.into_iter().filter_map(|(side, score)| Some((side, score?))) {
            numbers.push(measures::LAYOUT_SCORE.measurement(side, repetition, score));
        }
    }
    numbers.extend(verified.mean_abs_difference.map(|mean| measures::MEAN_ABS_DIFFERENCE.once("", mean)));
    store.record_all(run, &numbers)?;
    store.record_document(run, "", OUTCOME, verified)
}

/// Makes a fresh file system in the image at `path`, like `made`.
fn fresh(session: &Arc<Session>, volume: &VolumeConfig, path: &Path) -> Result<Unaged, Error> {
    Unaged::make(session, volume.at(Location::Image(path.to_owned())))
}
