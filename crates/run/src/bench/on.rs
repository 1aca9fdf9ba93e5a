//! The metadata benchmark on an aged file system and its unaged copy. The aged one is unchanged afterwards.

use super::{MetadataOutcome, MetadataSpec, recorded};
use crate::Error;
use crate::aged_pair::{self, Access, Plan, Subject, Timing, Turn, UnagedSide};
use crate::rollback::Restored;
use bench::metadata::{Backend, PhaseOutcome, Task};
use results::Watch;
use serde::Serialize;
use std::collections::BTreeMap;

/// The results of both sides.
#[derive(Clone, Debug, Serialize)]
pub struct OnAged {
    /// Name of the aged file system.
    pub name: String,
    /// How the aged file system was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The result on the aged side.
    pub aged: MetadataOutcome,
    /// The result on the unaged side.
    pub unaged: MetadataOutcome,
    /// The phases on both sides.
    pub pairs: Vec<PhasePair>,
}

/// A phase on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct PhasePair {
    /// The phase.
    pub phase: &'static str,
    /// Number of the repeat, from 0.
    pub iteration: u32,
    /// Objects per second on the aged side.
    pub aged_objects_per_s: f64,
    /// Objects per second on the unaged side.
    pub unaged_objects_per_s: f64,
    /// Aged over unaged rate; below 1 if aging costs time.
    pub rate_ratio: Option<f64>,
    /// Aged over unaged latency of each operation, at the median and in the tail (`median`, `p99`, `p999`); above 1 if aging costs time.
    pub latency_ratio: BTreeMap<String, BTreeMap<&'static str, f64>>,
}

/// The name of the run of a side in the store.
pub fn metadata_side(on: &str, side: &str) -> String {
    format!("{on}, {side}")
}

/// Runs the benchmark on the aged file system `on` of its work directory and on an unaged copy. Each side is a separate run in the store.
pub fn metadata_on(
    spec: &MetadataSpec,
    on: &str,
    watch: &mut dyn Watch,
    seen: &mut dyn FnMut(&PhaseOutcome),
) -> Result<OnAged, Error> {
    spec.task.check().map_err(super::bench_error)?;
    let work = spec.work.clone().expect("an aged file system has a work directory");
    let plan = Plan {
        run: None,
        subject: &Subject::Aged { work, name: on.to_owned() },
        unaged: Some(UnagedSide::Copy),
        access: Access::Creates,
        rewinds: false,
        timing: Timing::Priced(None),
    };
    let mut side = |turn: &mut Turn| -> Result<MetadataOutcome, Error> {
        let dir = turn.own_dir()?;
        turn.target.drop_caches()?;
        let backend = Backend::posix(dir.path().join("objects"));
        let task = Task { backend, ..spec.task.clone() };
        let spec = MetadataSpec { name: metadata_side(on, turn.subject), task, ..spec.clone() };
        recorded(&spec, turn.store, None, turn.watch, seen)
    };
    let measured = aged_pair::measure(&plan, watch, |pair| pair.each("metadata benchmark", 1, &mut side))?;
    let mut sides = measured.result.into_iter().flat_map(|(_, outcomes)| outcomes);
    let (aged, unaged) = sides.next().zip(sides.next()).expect("there are two sides");
    let pairs = aged.phases.iter().zip(&unaged.phases).map(|(aged, unaged)| PhasePair::of(aged, unaged));
    Ok(OnAged { name: measured.name, kept: measured.restored, pairs: pairs.collect(), aged, unaged })
}

impl PhasePair {
    fn of(aged: &PhaseOutcome, unaged: &PhaseOutcome) -> PhasePair {
        let ratio = |aged: f64, unaged: f64| (unaged > 0.0).then(|| aged / unaged);
        let latencies = aged.latency_us.iter().filter_map(|(op, of_aged)| {
            let of_unaged = unaged.latency_us.get(op)?;
            let quantiles = [
                ("median", of_aged.median, of_unaged.median),
                ("p99", of_aged.p99, of_unaged.p99),
                ("p999", of_aged.p999, of_unaged.p999),
            ];
            let ratios = quantiles.into_iter().filter_map(|(name, a, u)| Some((name, ratio(a, u)?)));
            Some((op.clone(), ratios.collect()))
        });
        PhasePair {
            phase: aged.phase.name(),
            iteration: aged.iteration,
            aged_objects_per_s: aged.objects_per_s,
            unaged_objects_per_s: unaged.objects_per_s,
            rate_ratio: ratio(aged.objects_per_s, unaged.objects_per_s),
            latency_ratio: latencies.collect(),
        }
    }
}
