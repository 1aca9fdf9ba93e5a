//! How long a planned aging would take, at the rates that an earlier aging in the same work directory reached.

use super::{AgeSpec, ProfileResult};
use crate::Error;
use fs::{Location, VolumeConfig};
use results::{Run, StoreLocation};
use serde::Serialize;
use std::path::Path;

/// The expected time of an aging.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectedTime {
    /// Seconds.
    #[serde(rename = "time_s")]
    pub seconds: f64,
    /// The earlier aging.
    pub from: String,
}

/// The expected time, at the rates of the last aging by the same profile on the same file system, in the same place and with as many threads;
/// `None` if the store has none.
pub(super) fn expected_time(spec: &AgeSpec, plan: &ProfileResult) -> Result<Option<ExpectedTime>, Error> {
    let at = StoreLocation::of_work_dir(&spec.work);
    if matches!(&at, StoreLocation::File(path) if !path.is_file()) {
        return Ok(None);
    }
    let threads = spec.terms()?.threads;
    let store = at.open_read_only()?;
    for run in
        store.runs_of_kind("age")?.iter().rev().filter(|run| run.state == "done" && is_alike(spec, run))
    {
        let Some(earlier) = store.document::<ProfileResult>(run.id, "", "aged")? else { continue };
        if let Some(seconds) = seconds(spec, plan, &earlier, threads) {
            return Ok(Some(ExpectedTime { seconds, from: earlier.name }));
        }
    }
    Ok(None)
}

/// Whether a run aged the same kind of file system in the same place.
fn is_alike(spec: &AgeSpec, run: &Run) -> bool {
    let made = run.parameters.get("made").cloned().unwrap_or_default();
    serde_json::from_value::<VolumeConfig>(made)
        .is_ok_and(|made| made.fs == spec.volume.fs && place(&made.location) == place(&spec.volume.location))
}

/// The medium, and the directory that holds it.
fn place(location: &Location) -> (&str, Option<&Path>) {
    match location {
        Location::Image(path) | Location::Modelled { dir: path, .. } => (location.medium(), path.parent()),
        Location::Device(path) | Location::Dir(path) => (location.medium(), Some(path)),
    }
}

/// The seconds of replay and filling at the rates of an earlier aging; `None` if it has no rates for that.
fn seconds(spec: &AgeSpec, plan: &ProfileResult, earlier: &ProfileResult, threads: usize) -> Option<f64> {
    let is_like = (&earlier.profile, earlier.threads, earlier.ranks) == (&plan.profile, threads, 1);
    if !is_like || earlier.operations_per_s <= 0.0 || spec.fill != (earlier.fill_s > 0.0) {
        return None;
    }
    let live = |aged: &ProfileResult| aged.fullness * aged.size_bytes as f64;
    let replay_s = (plan.operations + plan.directories) as f64 / earlier.operations_per_s;
    let fill_s = earlier.fill_s * live(plan) / live(earlier);
    let limit_s = spec.time.map_or(f64::INFINITY, |limit| limit.as_secs_f64());
    Some(replay_s.min(limit_s) + fill_s).filter(|seconds| seconds.is_finite())
}
