//! The metadata benchmark on separate file systems on modelled disks (Kunkel 2016, figures with fixed and with variable object count). A
//! round is a number of processes, or a repeat of the benchmark phase.
//!
//! The disks sleep their service times, so that ranks, write-back and disk overlap as they do on a drive, and rates are in real time. The
//! busy time of the disk is recorded as well: if it is all of the time, the drive limits the rate; if it is a small part, this machine
//! does.

use super::cell::Cell;
use super::outcome::ONLY;
use super::spec::Scale;
use crate::Error;
use crate::bench::{begins, record_phase};
use crate::error::unless_interrupted;
use crate::series::{Checkpoint, Identity};
use bench::metadata::{
    self, Backend, Phase, PhaseOutcome, Ranks, Settings, SizeDistribution, Stonewall, Task,
};
use disk::modelled::Clock;
use disk::{MemoryLimit, Session};
use fs::{Location, Target};
use results::measures::{self, MeasureInstance};
use results::{Measurement, Store, Watch};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Parameters of the benchmark in an experiment file. The defaults are those of the report (section 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metadata {
    /// Data sets per process.
    pub data_sets: u32,
    /// Objects created in each data set beforehand …
    pub precreate: u64,
    /// … and processed in each repeat.
    pub iterations: u64,
    /// Whether both numbers are totals for all processes instead of per process.
    pub shared: bool,
    /// Repeats of the benchmark phase, if the rounds are numbers of processes.
    pub repeats: u32,
    /// Object size.
    pub object_bytes: u64,
    /// Memory limit for all processes together, including what is cached for them.
    pub memory_bytes: Option<u64>,
    /// Whether the memory limit applies: a setting may lift it.
    pub limited: bool,
    /// Number of processes; the rounds are then repeats.
    pub processes: Option<u32>,
    /// Seconds after which a repeat starts no further iteration.
    pub stonewall_s: Option<u64>,
}

impl Default for Metadata {
    fn default() -> Metadata {
        Metadata {
            data_sets: 10,
            precreate: 3_000,
            iterations: 1_000,
            shared: false,
            repeats: 5,
            object_bytes: 3_900,
            memory_bytes: None,
            limited: true,
            processes: None,
            stonewall_s: None,
        }
    }
}

/// The kind of this workload in an experiment file.
pub(super) const KIND: &str = "metadata";

impl Metadata {
    /// Refuses what cannot run in `rounds`, as far as that is known before anything is created.
    pub(super) fn check(&self, seed: u64, rounds: &[u64]) -> Result<(), Error> {
        if let Some(bytes) = self.limit_bytes() {
            MemoryLimit::available()?;
            if bytes < LEAST_MEMORY_BYTES {
                let why = format!("memory_bytes = {bytes} is too small for the processes themselves");
                return Err(Error::Refused(format!("{why}; use at least {LEAST_MEMORY_BYTES}")));
            }
        }
        for round in rounds {
            let (processes, settings) = self.at(*round, rounds, seed);
            let refused = |error: metadata::Error| Error::Refused(format!("round {round}: {error}"));
            settings.check(processes).map_err(refused)?;
        }
        Ok(())
    }

    fn limit_bytes(&self) -> Option<u64> {
        self.memory_bytes.filter(|_| self.limited)
    }

    /// The processes of a round, and the settings of each.
    fn at(&self, round: u64, rounds: &[u64], seed: u64) -> (u32, Settings) {
        let last = *rounds.last().expect("a scale has a round");
        let (processes, repeats) = match self.processes {
            Some(processes) => (processes, last),
            None => (round.try_into().unwrap_or(u32::MAX), u64::from(self.repeats)),
        };
        let each = |objects: u64| match self.shared {
            true => objects / u64::from(processes.max(1)),
            false => objects,
        };
        let after = self.stonewall_s.map(Duration::from_secs);
        let settings = Settings {
            data_sets: self.data_sets,
            precreate: each(self.precreate),
            iterations: each(self.iterations),
            repeats: repeats.try_into().unwrap_or(u32::MAX),
            object_size: SizeDistribution::Fixed(self.object_bytes),
            stonewall: after.map(|after| Stonewall { after, wear_out: false }),
            seed,
            ..Settings::default()
        };
        (processes, settings)
    }
}

/// The minimum memory limit; the processes alone would use up a smaller one.
const LEAST_MEMORY_BYTES: u64 = 8 << 20;

/// A file system on a disk to measure with the benchmark.
pub(super) struct Measuring<'a> {
    pub cell: &'a Cell<Metadata>,
    /// The name of the disk in the experiment.
    pub disk: &'a str,
    /// The name of its model.
    pub model: &'a str,
    pub scale: &'a Scale,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    pub identity: &'a Identity,
    /// Command for a run in a separate process.
    pub apart: fn() -> Command,
    /// The full command line, for the record.
    pub command: &'a str,
    /// Directory for the stores of the disks.
    pub images: &'a Path,
    pub watch: &'a mut dyn Watch,
}

impl Measuring<'_> {
    /// Measures the rounds that the store does not hold yet.
    pub fn run(&mut self) -> Result<(), Error> {
        let mut left = Vec::new();
        for round in &self.scale.rounds {
            if self.identity.find(self.store, Checkpoint::Round(*round))?.is_none() {
                left.push(*round);
            }
        }
        match self.cell.task.processes {
            // One run contains all repeats.
            Some(_) if !left.is_empty() => self.measure(*left.last().expect("is not empty"), &left),
            Some(_) => Ok(()),
            None => left.iter().try_for_each(|round| self.measure(*round, &[*round])),
        }
    }

    /// Executes the run of a round, and records it for all `rounds` that it contains.
    fn measure(&mut self, round: u64, rounds: &[u64]) -> Result<(), Error> {
        let begin = |round: &u64| {
            let run =
                self.identity.begin(self.store, Checkpoint::Round(*round), self.command, self.cell.seed)?;
            Ok((*round, run))
        };
        let runs = rounds.iter().map(begin).collect::<Result<Vec<_>, Error>>()?;
        let measured = unless_interrupted(self.phases(round));
        for (round, run) in runs {
            let recorded = measured.as_ref().map_err(again).and_then(|phases| {
                let repeat = self.cell.task.processes.map(|_| round);
                self.store.record_all(run, &numbers(phases, repeat, self.model))?;
                for (place, (outcome, _)) in phases.iter().enumerate() {
                    record_phase(self.store, run, place, outcome)?;
                }
                Ok(())
            });
            self.store.end_with(run, &recorded)?;
            recorded?;
        }
        Ok(())
    }

    /// Runs all phases on a fresh file system. Returns each with the seconds during which its disk was busy.
    fn phases(&mut self, round: u64) -> Result<Vec<(PhaseOutcome, f64)>, Error> {
        let (cell, scale) = (self.cell, self.scale);
        let (processes, settings) = cell.task.at(round, &scale.rounds, cell.seed);
        let dir = self.images.join("disk");
        let location =
            Location::Modelled { dir: dir.clone(), model: self.disk.to_owned(), clock: Clock::Real };
        let objects = settings.precreate * u64::from(settings.data_sets) * u64::from(processes);
        let dirs = u64::from(settings.data_sets + 1) * u64::from(processes) + 1;
        let mut volume = cell.volume(scale.size_bytes, location, Some(objects + dirs))?;
        let name = &self.identity.name;
        self.watch.phase(&format!("{name}: creating the file system, {processes} processes"), None);
        let target = fs::make(self.session, &mut volume, None)?;
        let limit = cell.task.limit_bytes().map(|bytes| MemoryLimit::new(self.session, bytes)).transpose()?;
        let mut command = (self.apart)();
        limit.as_ref().map_or(Ok(()), |limit| limit.confine(&mut command))?;
        let backend = Backend::Posix { root: target.root().join("objects") };
        let title = format!("{name}, {processes} processes");
        let mut recorder = Recorder {
            title,
            target: target.as_ref(),
            watch: self.watch,
            begun_ns: 0,
            failed: None,
            phases: Vec::new(),
        };
        let task = Task { settings, ranks: Ranks::Processes(processes), backend, run_info: None };
        let done = metadata::run_in_subprocess(&mut command, &task, &disk::interrupted, &mut recorder);
        let (failed, phases) = (recorder.failed.take(), recorder.phases);
        failed.map_or(done.map_err(|error| Error::Failed(error.to_string())), Err)?;
        limit.map_or(Ok(()), MemoryLimit::remove)?;
        target.close()?;
        std::fs::remove_dir_all(&dir).map_err(Error::io("removing", &dir))?;
        Ok(phases)
    }
}

/// Duplicates an error, for each checkpoint that it prevented.
fn again(error: &Error) -> Error {
    match error {
        Error::Interrupted(what) => Error::Interrupted(what.clone()),
        error => Error::Failed(error.to_string()),
    }
}

/// Reads the disk's clock between phases.
struct Recorder<'a> {
    title: String,
    target: &'a dyn Target,
    watch: &'a mut dyn Watch,
    begun_ns: u64,
    failed: Option<Error>,
    phases: Vec<(PhaseOutcome, f64)>,
}

impl Recorder<'_> {
    fn clock_ns(&self) -> Result<u64, Error> {
        Ok(self.target.modelled().expect("the file system is on a modelled disk").clock_ns()?)
    }

    fn note(&mut self, outcome: &PhaseOutcome) -> Result<(), Error> {
        if let Some(failure) = outcome.failures.first() {
            return Err(Error::Failed(format!("{} operations failed; {failure}", outcome.errors)));
        }
        let busy_s = self.clock_ns()?.saturating_sub(self.begun_ns) as f64 / 1e9;
        self.phases.push((outcome.clone(), busy_s));
        Ok(())
    }
}

impl metadata::PhaseObserver for Recorder<'_> {
    fn phase_started(&mut self, phase: Phase, iteration: u32) {
        begins(self.watch, &self.title, phase, iteration);
        match self.clock_ns() {
            Ok(ns) => self.begun_ns = ns,
            Err(error) => self.failed = Some(error),
        }
    }

    fn phase_ended(&mut self, outcome: &PhaseOutcome) -> Result<(), metadata::Error> {
        if self.failed.is_none() {
            self.failed = self.note(outcome).err();
        }
        self.failed.as_ref().map_or(Ok(()), |error| Err(metadata::Error::Settings(error.to_string())))
    }
}

/// Example measures of a phase, for messages.
pub(super) const EXAMPLES: &str = "benchmark_objects_per_s, benchmark_disk_share";

/// Whether `name` is a measure of a phase.
pub(super) fn is_measure(name: &str) -> bool {
    let families = [measures::PHASE_OBJECTS_PER_S, measures::PHASE_DISK_SHARE];
    let phases = [Phase::Precreate, Phase::Benchmark, Phase::Cleanup];
    phases.iter().any(|phase| families.iter().any(|family| family.of(phase.name()).name() == name))
}

/// The measurements of a run: of all its repeats, or of one.
fn numbers(phases: &[(PhaseOutcome, f64)], repeat: Option<u64>, disk: &str) -> Vec<Measurement> {
    let mut numbers = Vec::new();
    let precreate = phases.iter().find(|(outcome, _)| outcome.phase == Phase::Precreate);
    for (outcome, busy_s) in phases {
        let benchmark = outcome.phase == Phase::Benchmark;
        let number_of = u64::from(outcome.iteration) + 1;
        if benchmark && repeat.is_some_and(|repeat| repeat != number_of) {
            continue;
        }
        let repetition = if repeat.is_some() { 1 } else { number_of };
        let mut one = |measure: MeasureInstance, value| {
            numbers.push(measure.on(disk).measurement(ONLY, repetition, value));
        };
        let phase = outcome.phase.name();
        one(measures::PHASE_OBJECTS_PER_S.of(phase), outcome.objects_per_s);
        if outcome.time_s > 0.0 {
            // The disk may be busy for a moment before the first rank begins and after the last ends.
            one(measures::PHASE_DISK_SHARE.of(phase), (busy_s / outcome.time_s).min(1.0));
        }
        let over = precreate.map_or(f64::NAN, |(made, _)| outcome.objects_per_s / made.objects_per_s);
        match outcome.phase {
            Phase::Precreate => {}
            Phase::Benchmark => {
                one(measures::BENCHMARK_OPERATIONS_PER_S.instance(), outcome.operations_per_s);
                one(measures::BENCHMARK_OVER_PRECREATE.instance(), over);
            }
            Phase::Cleanup => one(measures::CLEANUP_OVER_PRECREATE.instance(), over),
        }
    }
    numbers
}
