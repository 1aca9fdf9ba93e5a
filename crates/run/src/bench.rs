//! Benchmarks that record their measurements in the store immediately.

mod import;
mod on;
pub(crate) mod virtual_time;

pub use import::{ImportedFile, import_metadata};
pub use on::{OnAged, PhasePair, metadata_on, metadata_side};
pub use virtual_time::{MetadataJob, PhaseRatios, VirtualMetadataOutcome, metadata_in_virtual_time};

use crate::Error;
use crate::virtual_time::VirtualTimeSpec;
use crate::work::Work;
use bench::memory::{self, OccupiedMemory};
use bench::metadata::{self, Interface, Launch, Phase, PhaseOutcome, Task};
use disk::{MemoryLimit, Session};
use ranks::Group;
use results::measures::{self, MeasureInstance};
use results::{Measurement, NewRun, RunId, Store, Watch};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::Command;

/// Parameters of the metadata benchmark.
#[derive(Clone)]
pub struct MetadataSpec {
    /// Name of the run in the store.
    pub name: String,
    /// The work directory whose store keeps the results; without one they are only passed to the caller.
    pub work: Option<PathBuf>,
    /// The operations, the ranks, and the location of the objects.
    pub task: Task,
    /// Maximum free memory during the run, in bytes.
    pub free_memory_bytes: Option<u64>,
    /// Maximum free memory for a moment between phases, in bytes, to empty caches.
    pub free_memory_between_bytes: Option<u64>,
    /// Memory limit for all ranks together, including their caches, by a control group.
    pub memory_bytes: Option<u64>,
    /// The commands of other processes.
    pub commands: RankCommands,
    /// The full command line, for the record.
    pub command: String,
}

/// The commands that start other processes of the benchmark.
#[derive(Clone, Copy)]
pub struct RankCommands {
    /// Starts a rank.
    pub rank: fn() -> Command,
    /// Starts a run of all ranks.
    pub subprocess: fn() -> Command,
}

/// The result of the metadata benchmark.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MetadataOutcome {
    /// Name of the run.
    pub name: String,
    /// The interface.
    pub interface: String,
    /// Number of ranks.
    pub ranks: u32,
    /// The memory limit, if any.
    pub memory: Option<Memory>,
    /// The phases.
    pub phases: Vec<PhaseOutcome>,
}

/// A limit on memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// The mechanism.
    pub by: MemoryBy,
    /// The requested limit, in bytes.
    pub limit_bytes: u64,
    /// The memory that was free when the run started: free memory of the machine, limited by that of the control group.
    pub free_bytes: u64,
}

/// The mechanism of a memory limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryBy {
    /// Occupies memory of the machine, as published.
    Occupying,
    /// Runs in a control group.
    ControlGroup,
}

impl MetadataOutcome {
    /// Operations that failed.
    pub fn errors(&self) -> u64 {
        self.phases.iter().map(|phase| phase.errors).sum()
    }
}

/// Ranks started by another program.
pub struct ExternalRanks<'a> {
    /// All ranks, from the view of rank 0.
    pub group: &'a mut dyn Group,
    /// The interface to the objects of rank 0.
    pub interface: &'a mut dyn Interface,
}

/// Runs the metadata benchmark, with ranks that are started here or are `external`. Passes each phase to `seen` when it ends.
pub fn metadata(
    spec: &MetadataSpec,
    external: Option<ExternalRanks>,
    watch: &mut dyn Watch,
    seen: &mut dyn FnMut(&PhaseOutcome),
) -> Result<MetadataOutcome, Error> {
    spec.task.check().map_err(bench_error)?;
    let work = spec.work.as_deref().map(Work::take).transpose()?;
    let store = work.as_ref().map(Work::store).transpose()?;
    if let Some(work) = &work {
        work.keep();
    }
    recorded(spec, store.as_ref(), external, watch, seen)
}

/// Runs the benchmark, and records the result in the store, if there is one.
fn recorded(
    spec: &MetadataSpec,
    store: Option<&Store>,
    external: Option<ExternalRanks>,
    watch: &mut dyn Watch,
    seen: &mut dyn FnMut(&PhaseOutcome),
) -> Result<MetadataOutcome, Error> {
    let run = store.map(|store| begin(store, spec, None)).transpose()?;
    let mut recorded = store.map(|store| store.record_progress(&mut *watch));
    let watch: &mut dyn Watch = match &mut recorded {
        Some(recorded) => recorded,
        None => watch,
    };
    let mut recorder =
        Recorder { spec, watch, seen, store: store.zip(run), phases: Vec::new(), failed: None };
    let result = limited(spec, external, &mut recorder);
    if let (Some(store), Some(run)) = (store, run) {
        store.end_with(run, &result)?;
    }
    let phases = recorder.phases;
    Ok(MetadataOutcome {
        name: spec.name.clone(),
        interface: spec.task.backend.interface().to_owned(),
        ranks: spec.task.ranks.number(),
        memory: result?,
        phases,
    })
}

/// Applies the memory limit, and runs the benchmark.
fn limited(
    spec: &MetadataSpec,
    external: Option<ExternalRanks>,
    recorder: &mut Recorder,
) -> Result<Option<Memory>, Error> {
    let occupied = spec.free_memory_bytes.map(memory::limit_free).transpose();
    let occupied = occupied.map_err(|error| Error::Refused(error.to_string()))?;
    say_free(recorder.watch, occupied.as_ref());
    let uncounted = || spec.task.backend.root().and_then(fs::memory_limit_note);
    if let (Some(_), Some(uncounted)) = (spec.memory_bytes, uncounted()) {
        recorder.watch.say(uncounted);
    }
    let group = spec.memory_bytes.map(|bytes| MemoryLimit::new(&Session::begin()?, bytes)).transpose()?;
    let memory = match (spec.free_memory_bytes.zip(occupied.as_ref()), &group) {
        (Some((limit_bytes, occupied)), _) => {
            Some(Memory { by: MemoryBy::Occupying, limit_bytes, free_bytes: occupied.free_bytes })
        }
        (None, Some(group)) => {
            let available = memory::available().map_err(|error| Error::Refused(error.to_string()))?;
            let limit_bytes = group.limit_bytes();
            let free_bytes = available.min(limit_bytes);
            Some(Memory { by: MemoryBy::ControlGroup, limit_bytes, free_bytes })
        }
        (None, None) => None,
    };
    let (task, interrupted) = (&spec.task, &disk::interrupted);
    let done = match (external, &group) {
        (Some(ExternalRanks { group, interface }), _) => {
            metadata::run(&task.settings, group, interface, task.run_info.as_deref(), interrupted, recorder)
        }
        (None, Some(group)) => {
            let mut command = (spec.commands.subprocess)();
            group.confine(&mut command)?;
            metadata::run_in_subprocess(&mut command, task, interrupted, recorder)
        }
        (None, None) => Launch { task, interrupted, rank_command: &spec.commands.rank }.run(recorder),
    };
    // An error of the store is more specific than the resulting abort of the run.
    recorder.failed.take().map_or(done.map_err(bench_error), Err)?;
    group.map_or(Ok(()), MemoryLimit::remove)?;
    Ok(memory)
}

fn begin(
    store: &Store,
    spec: &MetadataSpec,
    virtual_time: Option<&VirtualTimeSpec>,
) -> Result<RunId, results::Error> {
    store.begin(&NewRun {
        kind: "metadata",
        name: &spec.name,
        command: &spec.command,
        seed: Some(spec.task.settings.seed),
        parameters: serde_json::json!({
            "settings": spec.task.settings,
            "ranks": spec.task.ranks,
            "keeper": spec.task.backend,
            "free_memory_bytes": spec.free_memory_bytes,
            "free_memory_between_bytes": spec.free_memory_between_bytes,
            "memory_bytes": spec.memory_bytes,
            "virtual_time": virtual_time.map(VirtualTimeSpec::parameters),
        }),
    })
}

/// Separates what was refused from what failed.
pub fn bench_error(error: metadata::Error) -> Error {
    match error {
        metadata::Error::Interrupted => {
            Error::Interrupted("the objects still exist; delete them with `--phases cleanup`".to_owned())
        }
        metadata::Error::Settings(_) | metadata::Error::Group(ranks::Error::Message(_)) => {
            Error::Refused(error.to_string())
        }
        _ => Error::Failed(error.to_string()),
    }
}

fn say_free(watch: &mut dyn Watch, occupied: Option<&OccupiedMemory>) {
    if let Some(occupied) = occupied {
        let (taken, free) = (input::bytes(occupied.bytes()), input::bytes(occupied.free_bytes));
        let how = if occupied.locked { "locked" } else { "not locked: may be swapped out" };
        watch.say(&format!("{taken} of memory occupied ({how}), {free} free"));
    }
}

/// Reports that a phase of a run begins.
pub fn begins(watch: &mut dyn Watch, title: &str, phase: Phase, iteration: u32) {
    let repeat = if phase == Phase::Benchmark { format!(" {}", iteration + 1) } else { String::new() };
    watch.phase(&format!("{title}: {}{repeat}", phase.name()), None);
}

/// Records the outcome of a phase; `place` is its number in the run.
pub fn record_phase(
    store: &Store,
    run: RunId,
    place: usize,
    outcome: &PhaseOutcome,
) -> Result<(), results::Error> {
    store.record_document(run, outcome.phase.name(), &format!("phase {place}"), outcome)
}

/// Records the progress of the benchmark.
struct Recorder<'a> {
    spec: &'a MetadataSpec,
    watch: &'a mut dyn Watch,
    seen: &'a mut dyn FnMut(&PhaseOutcome),
    store: Option<(&'a Store, RunId)>,
    phases: Vec<PhaseOutcome>,
    failed: Option<Error>,
}

impl metadata::PhaseObserver for Recorder<'_> {
    fn phase_started(&mut self, phase: Phase, iteration: u32) {
        begins(self.watch, &self.spec.name, phase, iteration);
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), metadata::Error> {
        (self.seen)(outcome);
        let kept = self.keep(outcome).and_then(|()| self.empty_caches());
        self.phases.push(outcome.clone());
        kept.map_err(|error| {
            let why = error.to_string();
            self.failed = Some(error);
            ranks::Error::Rank { rank: 0, why }.into()
        })
    }
}

impl Recorder<'_> {
    fn keep(&self, outcome: &PhaseOutcome) -> Result<(), Error> {
        let Some((store, run)) = self.store else { return Ok(()) };
        let place = self.phases.len();
        store.record_all(run, &numbers(outcome))?;
        Ok(record_phase(store, run, place, outcome)?)
    }

    fn empty_caches(&mut self) -> Result<(), Error> {
        let Some(limit) = self.spec.free_memory_between_bytes else { return Ok(()) };
        let occupied = memory::limit_free(limit).map_err(|e| Error::Refused(e.to_string()))?;
        say_free(self.watch, Some(&occupied));
        Ok(())
    }
}

/// The measurements of a phase: the subject is the phase, the repetition its repeat.
fn numbers(outcome: &PhaseOutcome) -> Vec<Measurement> {
    let repetition = u64::from(outcome.iteration) + 1;
    // Repeats with waiting times are separate measures.
    let one = |measure: MeasureInstance, value| {
        measure.waiting(outcome.waiting).measurement(outcome.phase.name(), repetition, value)
    };
    let mut numbers = vec![
        one(measures::OBJECTS.instance(), outcome.objects as f64),
        one(measures::OBJECTS_PER_S.instance(), outcome.objects_per_s),
        one(measures::OPERATIONS_PER_S.instance(), outcome.operations_per_s),
        one(measures::MIB_PER_S.instance(), outcome.mib_per_s),
        one(measures::ERRORS.instance(), outcome.errors as f64),
        one(measures::TIME_S.instance(), outcome.time_s),
        one(measures::BALANCE.instance(), outcome.balance),
    ];
    for (op, us) in &outcome.latency_us {
        let quantiles = [us.min, us.q1, us.median, us.q3, us.p90, us.p99, us.p999, us.max];
        let latencies = measures::LATENCIES.iter().zip(quantiles);
        numbers.extend(latencies.map(|(measure, value)| one(measure.of(op), value)));
    }
    numbers
}
