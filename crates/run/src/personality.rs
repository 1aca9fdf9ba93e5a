//! Runs personalities on an aged file system and its unaged copy, or on a single one: creates the files, makes the file system cold, and
//! runs the threads. Repetitions give confidence intervals.

use crate::Error;
use crate::aged_pair::{self, AgedPair, Measured, RunPlan, Subject, Turn, UnagedSide, named};
use crate::compare::SUBJECTS;
use crate::rollback::Restored;
use crate::virtual_time::{self, VirtualClock, VirtualTimeSpec};
use bench::personality::{self, FileTree, OperationOutcome, Outcome, Personality, Plan, Run, RunLength};
use results::measures::{self, MeasureInstance};
use results::{Interval, Measurement, RunId, Store, Watch, median_interval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// The kind of these runs in the store.
pub const PERSONALITY_KIND: &str = "personality";

/// Prefix of the document of a repetition, followed by its number.
pub const PERSONALITY_RUN: &str = "outcome";

/// Parameters of a run of a personality.
#[derive(Clone, Debug)]
pub struct PersonalitySpec {
    /// The personality.
    pub personality: Personality,
    /// The subject.
    pub on: Subject,
    /// Whether to compare an aged file system with its unaged copy.
    pub against: bool,
    /// Disk model that an aged image is copied to: a built-in name or a TOML file.
    pub disk: Option<String>,
    /// Limit of dirty bytes in memory; by default the limit of the kernel.
    pub dirty_bytes: Option<u64>,
    /// Length of one repetition.
    pub length: RunLength,
    /// Number of repetitions on each side.
    pub repeat: u64,
    /// Random seed for the files and the choice among them.
    pub seed: u64,
    /// Measure in virtual time instead of that of this machine.
    pub virtual_time: Option<VirtualTimeSpec>,
    /// The full command line, for the record.
    pub command: String,
}

/// The result of a run of a personality.
#[derive(Clone, Debug, Serialize)]
pub struct PersonalityOutcome {
    /// The subject: the name of an aged file system, or a path.
    pub name: String,
    /// The personality.
    pub personality: String,
    /// How the subject was rolled back.
    #[serde(flatten)]
    pub kept: Restored,
    /// The model of the modelled disk below, which slept its service times; `None` on a disk of this machine.
    pub modelled_disk: Option<String>,
    /// The clock, unless it is that of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_clock: Option<VirtualClock>,
    /// Number of files at the start of a repetition.
    pub files: u64,
    /// Total size of these files.
    pub bytes: u64,
    /// The sides: `aged` and `unaged`, or `alone`; in virtual time, with what they differ in besides.
    pub sides: BTreeMap<String, PersonalitySide>,
    /// Aged over unaged, paired by repetition; `None` if there is only one side.
    pub ratio: Option<PersonalityRatios>,
    /// In virtual time, one side over another, paired by seed, if kernels or options differ.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ratios: BTreeMap<String, PersonalityRatios>,
}

/// The result of one side: medians of the repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct PersonalitySide {
    /// Operations per second.
    pub operations_per_s: Interval,
    /// MiB read and written per second.
    pub mib_per_s: Interval,
    /// Latency in microseconds of each kind of operation, by quantile: `median`, `p99`, `p999`, `max`.
    pub latency_us: BTreeMap<String, BTreeMap<&'static str, Interval>>,
    /// The repetitions.
    pub runs: Vec<Repetition>,
}

/// A repetition on one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repetition {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The share of the time in which a modelled disk was busy: near 1 the disk limits the rate, near 0 this machine does.
    pub disk_share: Option<f64>,
}

/// Aged over unaged.
#[derive(Clone, Debug, Serialize)]
pub struct PersonalityRatios {
    /// Of operations per second; below 1 if aging costs time.
    pub operations_per_s: Interval,
    /// Of bytes per second.
    pub mib_per_s: Interval,
    /// Of latencies; above 1 if aging costs time.
    pub latency: BTreeMap<String, BTreeMap<&'static str, Interval>>,
}

/// The reported quantiles of latencies.
pub const QUANTILES: [&str; 4] = ["median", "p99", "p999", "max"];

/// A quantile of the latency by name, in microseconds.
fn quantile(of: &OperationOutcome, name: &str) -> f64 {
    let us = &of.latency_us;
    match name {
        "median" => us.median,
        "p99" => us.p99,
        "p999" => us.p999,
        _ => us.max,
    }
}

/// Runs a personality.
pub fn personality(spec: &PersonalitySpec, watch: &mut dyn Watch) -> Result<PersonalityOutcome, Error> {
    let plan = Plan::new(&spec.personality, spec.seed).map_err(bench_error)?;
    let run = RunPlan {
        kind: PERSONALITY_KIND,
        seed: Some(spec.seed),
        parameters: parameters(spec),
        command: &spec.command,
        resume: false,
    };
    let what = &spec.personality.name;
    if let Some(virtual_time) = &spec.virtual_time {
        return in_virtual_time(spec, virtual_time, run, &plan, watch);
    }
    let unaged = spec.against.then_some(UnagedSide::Copy);
    let pair_plan = aged_pair::Plan::benchmark(Some(run), &spec.on, unaged, spec.disk.as_deref());
    let job = job(spec, spec.seed);
    let each = |pair: &mut AgedPair| pair.each(what, spec.repeat, |turn| job.once(&plan, turn));
    let measured = aged_pair::measure(&pair_plan, watch, each)?;
    let owned = |(side, runs): (&str, _)| (side.to_owned(), runs);
    Ok(outcome(spec, &plan, measured.map(|sides| sides.into_iter().map(owned).collect())))
}

/// Runs a personality in virtual time.
fn in_virtual_time(
    spec: &PersonalitySpec,
    virtual_time: &VirtualTimeSpec,
    run: RunPlan,
    plan: &Plan,
    watch: &mut dyn Watch,
) -> Result<PersonalityOutcome, Error> {
    let plan_of_machines = virtual_time::Plan {
        spec: virtual_time,
        subject: &spec.on,
        run: Some(run),
        unaged: spec.against.then_some(UnagedSide::Copy),
        what: &spec.personality.name,
        seed: spec.seed,
    };
    let one = |on, seed| virtual_time::Job::Personality { on, job: job(spec, seed) };
    let record = |store: &Store, run: Option<RunId>, side: &str, seed: u64, result: &Repetition| {
        let (run, repetition) = (run.expect("it has begun"), seed.wrapping_sub(spec.seed) + 1);
        store.record_all(run, &numbers(result, side, repetition, None))?;
        Ok(store.record_document(run, side, &format!("{PERSONALITY_RUN} {repetition}"), result)?)
    };
    let done = virtual_time::measure(&plan_of_machines, watch, one, record)?;
    let of = |side: &str| done.measured.result.iter().find(|(name, _)| name == side).map(|(_, runs)| runs);
    let ratio =
        |(name, [a, b]): &(String, [String; 2])| Some((name.clone(), PersonalityRatios::of(of(a)?, of(b)?)?));
    // The outcome has that of the usual sides anyway.
    let ratios = done.ratios.iter().filter(|(_, sides)| *sides != SUBJECTS).filter_map(ratio).collect();
    Ok(PersonalityOutcome { virtual_clock: Some(done.clock), ratios, ..outcome(spec, plan, done.measured) })
}

fn job(spec: &PersonalitySpec, seed: u64) -> PersonalityJob {
    PersonalityJob {
        personality: spec.personality.clone(),
        dirty_bytes: spec.dirty_bytes,
        length: spec.length,
        seed,
    }
}

/// One run of a personality.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PersonalityJob {
    /// The personality.
    pub personality: Personality,
    /// Limit of dirty bytes in memory, if any.
    pub dirty_bytes: Option<u64>,
    /// When the run ends.
    pub length: RunLength,
    /// The random seed.
    pub seed: u64,
}

impl PersonalityJob {
    /// Runs one repetition on one side, with the files of `plan`.
    pub fn once(&self, plan: &Plan, side: &mut Turn) -> Result<Repetition, Error> {
        self.has_room(plan, side)?;
        let dir = side.own_dir()?;
        let limited = |side: &Turn| self.dirty_bytes.map(|bytes| side.target.limit_dirty(bytes)).transpose();
        // The limit is checked before any file is created. Making the file system cold remounts it, so the limit is set again afterwards.
        limited(side)?;
        plan.make(dir.path(), &disk::interrupted).map_err(bench_error)?;
        side.target.sync()?;
        side.target.drop_caches()?;
        let files = FileTree::open(plan, dir.path(), self.personality.threads).map_err(bench_error)?;
        let PersonalityJob { personality, length, seed, .. } = self;
        // The files are chosen differently in each repetition, but identically on both sides.
        let seed = seed.wrapping_add(side.repetition);
        let run = Run { personality, plan, files: &files, length: *length, seed };
        let _limit = limited(side)?;
        let busy_ns = |side: &Turn| side.target.modelled().map(|disk| disk.clock_ns()).transpose();
        let begun_ns = busy_ns(side)?;
        let outcome = personality::run(&run, &disk::interrupted).map_err(bench_error)?;
        let busy = busy_ns(side)?.zip(begun_ns).map(|(end, begun)| end.saturating_sub(begun) as f64 / 1e9);
        let disk_share =
            busy.filter(|_| outcome.time_s > 0.0).map(|busy_s| (busy_s / outcome.time_s).min(1.0));
        let repetition = Repetition { outcome, disk_share };
        side.record(&numbers(&repetition, side.subject, side.repetition, None))?;
        side.record_repetition(PERSONALITY_RUN, &repetition)?;
        Ok(repetition)
    }

    /// Refuses a file system without enough space for the files.
    fn has_room(&self, plan: &Plan, side: &Turn) -> Result<(), Error> {
        let (free, files) = (disk::free_bytes(side.target.root())?, plan.needed_bytes());
        // Metadata needs space too.
        let needed = files + files / 8;
        if free >= needed {
            return Ok(());
        }
        let (free_said, needed_said) = (input::bytes(free), input::bytes(needed));
        let fits = (free as f64 / needed as f64 * 100.0).floor() / 100.0;
        let side = if side.subject.is_empty() { "it" } else { side.name() };
        Err(Error::Refused(format!(
            "{} needs {needed_said} of free space, but {side} has {free_said}; a --scale of {fits} \
             times this one creates fewer files",
            self.personality.name
        )))
    }
}

fn parameters(spec: &PersonalitySpec) -> serde_json::Value {
    let length = match spec.length {
        RunLength::Time(time) => serde_json::json!({ "time_s": time.as_secs_f64() }),
        RunLength::Operations(operations) => serde_json::json!({ "operations": operations }),
    };
    serde_json::json!({
        "personality": spec.personality,
        "length": length,
        "repeat": spec.repeat,
        "disk": spec.disk,
        "dirty_bytes": spec.dirty_bytes,
        "virtual_time": spec.virtual_time.as_ref().map(VirtualTimeSpec::parameters),
    })
}

/// The measurements of a repetition; with `disk`, under the names used by experiments.
pub fn numbers(run: &Repetition, subject: &str, repetition: u64, disk: Option<&str>) -> Vec<Measurement> {
    let one = |measure: MeasureInstance, value| {
        let measure = if let Some(disk) = disk { measure.on(disk) } else { measure };
        measure.measurement(subject, repetition, value)
    };
    let outcome = &run.outcome;
    let mut numbers = vec![
        one(measures::OPERATIONS_PER_S.instance(), outcome.operations_per_s),
        one(measures::MIB_PER_S.instance(), outcome.mib_per_s),
    ];
    numbers.extend(run.disk_share.map(|share| one(measures::DISK_SHARE.instance(), share)));
    for (kind, of) in &outcome.by_kind {
        numbers.push(one(measures::OPERATION_PER_S.of(kind), of.per_s));
        let latency =
            |name: &&str| one(measures::LATENCY_US.of(&format!("{kind}_{name}")), quantile(of, name));
        numbers.extend(QUANTILES.iter().map(latency));
    }
    numbers
}

/// The repetitions of each side.
type Sides = Vec<(String, Vec<Repetition>)>;

fn outcome(spec: &PersonalitySpec, plan: &Plan, measured: Measured<Sides>) -> PersonalityOutcome {
    let Measured { name, restored, disk, result: sides } = measured;
    let of = |subject| sides.iter().find(|(found, _)| found == subject).map(|(_, runs)| runs);
    let ratio =
        of(SUBJECTS[0]).zip(of(SUBJECTS[1])).and_then(|(aged, unaged)| PersonalityRatios::of(aged, unaged));
    PersonalityOutcome {
        name,
        personality: spec.personality.name.clone(),
        kept: restored,
        modelled_disk: disk,
        virtual_clock: None,
        files: plan.files(),
        bytes: plan.bytes(),
        sides: sides
            .into_iter()
            .map(|(side, runs)| (named(&side).to_owned(), PersonalitySide::of(runs)))
            .collect(),
        ratio,
        ratios: BTreeMap::new(),
    }
}

impl PersonalitySide {
    fn of(runs: Vec<Repetition>) -> PersonalitySide {
        let of = |value: &dyn Fn(&Outcome) -> f64| {
            let values: Vec<f64> = runs.iter().map(|run| value(&run.outcome)).collect();
            median_interval(&values).expect("a side has a repetition")
        };
        PersonalitySide {
            operations_per_s: of(&|outcome| outcome.operations_per_s),
            mib_per_s: of(&|outcome| outcome.mib_per_s),
            latency_us: by_quantile(&runs, |kind, name| {
                let values: Vec<f64> = runs
                    .iter()
                    .filter_map(|run| Some(quantile(run.outcome.by_kind.get(kind)?, name)))
                    .collect();
                median_interval(&values)
            }),
            runs,
        }
    }
}

impl PersonalityRatios {
    fn of(aged: &[Repetition], unaged: &[Repetition]) -> Option<PersonalityRatios> {
        let ratio = |value: &dyn Fn(&Outcome) -> Option<f64>| {
            let pairs = aged.iter().zip(unaged).filter_map(|(aged, unaged)| {
                let (aged, unaged) = (value(&aged.outcome)?, value(&unaged.outcome)?);
                (unaged > 0.0).then(|| aged / unaged)
            });
            median_interval(&pairs.collect::<Vec<_>>())
        };
        Some(PersonalityRatios {
            operations_per_s: ratio(&|outcome| Some(outcome.operations_per_s))?,
            mib_per_s: ratio(&|outcome| Some(outcome.mib_per_s))?,
            latency: by_quantile(aged, |kind, name| {
                ratio(&|outcome| Some(quantile(outcome.by_kind.get(kind)?, name)))
            }),
        })
    }
}

/// A value per kind of operation and quantile.
fn by_quantile(
    runs: &[Repetition],
    value: impl Fn(&str, &str) -> Option<Interval>,
) -> BTreeMap<String, BTreeMap<&'static str, Interval>> {
    let kinds = runs.first().into_iter().flat_map(|run| run.outcome.by_kind.keys());
    let of_kind = |kind: &String| {
        let values = QUANTILES.into_iter().filter_map(|name| Some((name, value(kind, name)?)));
        (kind.clone(), values.collect())
    };
    kinds.map(of_kind).collect()
}

/// Separates what was refused from what failed.
pub fn bench_error(error: personality::Error) -> Error {
    match &error {
        personality::Error::Interrupted => Error::Interrupted("this repetition is discarded".to_owned()),
        personality::Error::Unknown { .. } | personality::Error::Invalid { .. } => {
            Error::Refused(error.to_string())
        }
        personality::Error::Operation { source, .. } if source.kind() == ErrorKind::StorageFull => {
            Error::Failed(format!("{error}; --scale 0.5 creates half as many files"))
        }
        _ => Error::Failed(error.to_string()),
    }
}
