//! The metadata benchmark in virtual time, on an aged file system and its unaged copy, or with several kernels or options of mkfs.

use super::{
    MetadataOutcome, MetadataSpec, RankCommands, begin, metadata_side, numbers, record_phase, recorded,
};
use crate::Error;
use crate::aged_pair::{Subject, Turn, UnagedSide, named};
use crate::rollback::Restored;
use crate::virtual_time::{self, Job, VirtualClock, VirtualTimeSpec};
use bench::metadata::{Backend, PhaseOutcome, Quantiles, Task};
use results::{Interval, RunId, Store, Watch, median_interval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The benchmark in one machine. The backend of the task is replaced by a directory on the file system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetadataJob {
    /// The operations and the ranks.
    pub task: Task,
    /// See [`MetadataSpec`].
    pub free_memory_bytes: Option<u64>,
    /// See [`MetadataSpec`].
    pub free_memory_between_bytes: Option<u64>,
    /// See [`MetadataSpec`].
    pub memory_bytes: Option<u64>,
}

/// The results of all sides.
#[derive(Clone, Debug, Serialize)]
pub struct VirtualMetadataOutcome {
    /// Name of the file system.
    pub name: String,
    /// How the file system was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The clock.
    pub virtual_clock: VirtualClock,
    /// The results of each side: `aged` and `unaged`, or `alone`, and what they differ in; one result for each seed.
    pub sides: BTreeMap<String, Vec<MetadataOutcome>>,
    /// The phases of one side over another, such as `aged / unaged`.
    pub ratios: BTreeMap<String, Vec<PhaseRatios>>,
}

/// A phase on one side over the same one on another, paired by seed.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseRatios {
    /// The phase.
    pub phase: &'static str,
    /// Number of the repeat, from 0.
    pub iteration: u32,
    /// Of objects per second; below 1 if the first side is slower.
    pub objects_per_s: Interval,
    /// Of the latency of each operation, by quantile (`median`, `p99`, `p999`, `max`); above 1 if the first side is slower.
    pub latency: BTreeMap<String, BTreeMap<&'static str, Interval>>,
}

/// Runs the benchmark in virtual time on the file system `on`. Each run is one in the store.
pub fn metadata_in_virtual_time(
    spec: &MetadataSpec,
    on: &Subject,
    virtual_time: &VirtualTimeSpec,
    watch: &mut dyn Watch,
) -> Result<VirtualMetadataOutcome, Error> {
    spec.task.check().map_err(super::bench_error)?;
    let plan = virtual_time::Plan {
        spec: virtual_time,
        subject: on,
        run: None,
        unaged: Some(UnagedSide::Copy),
        what: "metadata benchmark",
        seed: spec.task.settings.seed,
    };
    let with_seed = |seed| {
        let mut task = spec.task.clone();
        task.settings.seed = seed;
        task
    };
    let job = |on, seed| Job::Metadata {
        on,
        job: MetadataJob {
            task: with_seed(seed),
            free_memory_bytes: spec.free_memory_bytes,
            free_memory_between_bytes: spec.free_memory_between_bytes,
            memory_bytes: spec.memory_bytes,
        },
    };
    let record = |store: &Store, _: Option<RunId>, side: &str, seed, result: &MetadataOutcome| {
        let name = metadata_side(&spec.name, named(side));
        let run =
            begin(store, &MetadataSpec { name, task: with_seed(seed), ..spec.clone() }, Some(virtual_time))?;
        let recorded = (0..).zip(&result.phases).try_for_each(|(place, phase)| {
            store.record_all(run, &numbers(phase))?;
            record_phase(store, run, place, phase)
        });
        let recorded = recorded.map_err(Error::from);
        store.end_with(run, &recorded)?;
        recorded
    };
    let done = virtual_time::measure(&plan, watch, job, record)?;
    let sides: BTreeMap<String, Vec<MetadataOutcome>> =
        done.measured.result.into_iter().map(|(side, runs)| (named(&side).to_owned(), runs)).collect();
    let ratio = |(name, [a, b]): (String, [String; 2])| Some((name, ratios(sides.get(&a)?, sides.get(&b)?)));
    let ratios = done.ratios.into_iter().filter_map(ratio).collect();
    Ok(VirtualMetadataOutcome {
        name: done.measured.name,
        kept: done.measured.restored,
        virtual_clock: done.clock,
        ratios,
        sides,
    })
}

/// Runs the benchmark once, in a machine.
pub fn once(job: &MetadataJob, commands: &RankCommands, turn: &mut Turn) -> Result<MetadataOutcome, Error> {
    let dir = turn.own_dir()?;
    turn.target.drop_caches()?;
    let backend = Backend::posix(dir.path().join("objects"));
    let spec = MetadataSpec {
        name: turn.name().to_owned(),
        work: None,
        task: Task { backend, ..job.task.clone() },
        free_memory_bytes: job.free_memory_bytes,
        free_memory_between_bytes: job.free_memory_between_bytes,
        memory_bytes: job.memory_bytes,
        commands: *commands,
        command: String::new(),
    };
    recorded(&spec, None, None, turn.watch, &mut |_| ())
}

fn ratios(of: &[MetadataOutcome], over: &[MetadataOutcome]) -> Vec<PhaseRatios> {
    let phases = of.first().into_iter().flat_map(|first| first.phases.iter().enumerate());
    let ratio = |(index, first): (usize, &PhaseOutcome)| {
        let pairs = of.iter().zip(over).filter_map(|(a, b)| a.phases.get(index).zip(b.phases.get(index)));
        let pairs: Vec<_> = pairs.collect();
        let ratio = |value: &dyn Fn(&PhaseOutcome) -> Option<f64>| {
            let ratios = pairs.iter().filter_map(|(a, b)| {
                let (a, b) = (value(a)?, value(b)?);
                (b > 0.0).then(|| a / b)
            });
            median_interval(&ratios.collect::<Vec<_>>())
        };
        let latency = |op: &String| {
            let of = |quantile: fn(&Quantiles) -> f64| ratio(&|phase| phase.latency_us.get(op).map(quantile));
            let quantiles = [
                ("median", of(|us| us.median)),
                ("p99", of(|us| us.p99)),
                ("p999", of(|us| us.p999)),
                ("max", of(|us| us.max)),
            ];
            (op.clone(), quantiles.into_iter().filter_map(|(name, ratio)| Some((name, ratio?))).collect())
        };
        Some(PhaseRatios {
            phase: first.phase.name(),
            iteration: first.iteration,
            objects_per_s: ratio(&|phase| Some(phase.objects_per_s))?,
            latency: first.latency_us.keys().map(latency).collect(),
        })
    };
    phases.filter_map(ratio).collect()
}
