//! The metadata benchmark on separate file systems on modelled disks (Kunkel 2016, figures with fixed and with variable object count). A
//! round is a number of processes, or a repeat of the benchmark phase.
//!
//! The disks sleep their service times, so that ranks, write-back and disk overlap as they do on a drive, and rates are in real time. The
//! busy time of the disk is recorded as well: if it is all of the time, the drive limits the rate; if it is a small part, this machine
//! does.

use super::{Measuring, NamedDisk, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use bench::metadata::{self, Backend, Phase, PhaseOutcome, Ranks, Settings, SizeDistribution, Stonewall};
use disk::modelled::Clock;
use disk::{MemoryLimit, Scratch};
use fs::{Location, Target};
use results::measures::{self, MeasureInstance};
use results::{Measurement, Watch};
use run::Error;
use run::bench::{begins, record_phase};
use run::checkpoint::ONLY;
use run::series::Checkpoint;
use run::unless_interrupted;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

/// Parameters of the benchmark in an experiment file. The defaults are those of the report (section 2.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Metadata {
    /// Data sets per process.
    data_sets: u32,
    /// Objects created in each data set beforehand …
    precreate: u64,
    /// … and processed in each repeat.
    iterations: u64,
    /// Whether `precreate` is for all processes together instead of each.
    shared: bool,
    /// Repeats of the benchmark phase, if the rounds are numbers of processes.
    repeats: u32,
    /// Object size.
    object_bytes: u64,
    /// Memory limit for all processes together, including what is cached for them.
    memory_bytes: Option<u64>,
    /// Whether the memory limit applies: a setting may lift it.
    limited: bool,
    /// Number of processes; the rounds are then repeats.
    processes: Option<u32>,
    /// The most processes; rounds with more are left out.
    processes_max: Option<u64>,
    /// Whether an object is written before another is read.
    write_first: bool,
    /// Whether the data sets are filled one after the other beforehand.
    set_by_set: bool,
    /// Seconds after which a repeat starts no further iteration.
    stonewall_s: Option<u64>,
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
            processes_max: None,
            write_first: true,
            set_by_set: true,
            stonewall_s: None,
        }
    }
}

inventory::submit!(TaskKind::new::<Metadata>("metadata", phase_measures));

impl Task for Metadata {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        if let Some(bytes) = self.limit_bytes() {
            MemoryLimit::available()?;
            if bytes < LEAST_MEMORY_BYTES {
                let why = format!("memory_bytes = {bytes} is too small for the processes themselves");
                return Err(Error::Refused(format!("{why}; use at least {LEAST_MEMORY_BYTES}")));
            }
        }
        for round in self.rounds(scale) {
            let (processes, settings) = self.at(round, scale, cell.seed);
            let refused = |error: metadata::Error| Error::Refused(format!("round {round}: {error}"));
            settings.check(processes).map_err(refused)?;
        }
        Ok(())
    }

    fn parameters(&self, scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error> {
        let mut parameters = json!({ "metadata": self, "disk": disks[0].model });
        if self.processes.is_some() {
            // One run contains all repeats.
            parameters["last_round"] = json!(scale.last());
        }
        Ok(parameters)
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        if self.limit_bytes().is_some() {
            at.say_what_memory_limits_do_not_count()?;
        }
        let images = at.images_of(self.written_bytes(at.scale, at.cell.seed))?;
        Benchmark { task: self, images, at }.run()
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        ("Time", "real: the modelled disks take their service times in real time, on fresh file systems, one per number of \
             processes; the rates include the overhead of this machine"
                .to_owned())
    }

    fn is_per_disk(&self) -> bool {
        true
    }
}

impl Metadata {
    fn limit_bytes(&self) -> Option<u64> {
        self.memory_bytes.filter(|_| self.limited)
    }

    /// The rounds that are measured.
    fn rounds(&self, scale: &Scale) -> impl Iterator<Item = u64> {
        let max = self.processes_max.filter(|_| self.processes.is_none()).unwrap_or(u64::MAX);
        scale.rounds.iter().copied().filter(move |round| *round <= max)
    }

    /// About as many bytes as the store of a disk holds at most: two blocks for each object written, and the journal. Blocks without data take no
    /// space.
    fn written_bytes(&self, scale: &Scale, seed: u64) -> u64 {
        let objects = |round| {
            let (processes, settings) = self.at(round, scale, seed);
            let Settings { data_sets, precreate, iterations, repeats, .. } = settings;
            (precreate + iterations * u64::from(repeats)) * u64::from(data_sets) * u64::from(processes)
        };
        let objects = self.rounds(scale).map(objects).max().unwrap_or(0);
        (objects * 2 * self.object_bytes.next_multiple_of(4096) + (1 << 30)).min(scale.size_bytes)
    }

    /// The processes of a round, and the settings of each.
    fn at(&self, round: u64, scale: &Scale, seed: u64) -> (u32, Settings) {
        let (processes, repeats) = match self.processes {
            Some(processes) => (processes, scale.last()),
            None => (round.try_into().unwrap_or(u32::MAX), u64::from(self.repeats)),
        };
        let sharing = if self.shared { u64::from(processes.max(1)) } else { 1 };
        let after = self.stonewall_s.map(Duration::from_secs);
        let settings = Settings {
            data_sets: self.data_sets,
            precreate: self.precreate / sharing,
            iterations: self.iterations,
            repeats: repeats.try_into().unwrap_or(u32::MAX),
            object_size: SizeDistribution::Fixed(self.object_bytes),
            stonewall: after.map(|after| Stonewall { after, wear_out: false }),
            write_first: self.write_first,
            set_by_set: self.set_by_set,
            seed,
            ..Settings::default()
        };
        (processes, settings)
    }
}

/// The minimum memory limit; the processes alone would use up a smaller one.
const LEAST_MEMORY_BYTES: u64 = 8 << 20;

/// The benchmark on a disk.
struct Benchmark<'t, 'a> {
    task: &'t Metadata,
    /// Directory for the store of the disk.
    images: Scratch,
    at: &'t mut Measuring<'a>,
}

impl Benchmark<'_, '_> {
    /// Measures the rounds that the store does not hold yet.
    fn run(&mut self) -> Result<(), Error> {
        let mut left = Vec::new();
        for round in self.task.rounds(self.at.scale) {
            if self.at.identity.find(self.at.store, Checkpoint::Round(round))?.is_none() {
                left.push(round);
            }
        }
        match self.task.processes {
            // One run contains all repeats.
            Some(_) if !left.is_empty() => self.measure(*left.last().expect("is not empty"), &left),
            Some(_) => Ok(()),
            None => left.iter().try_for_each(|round| self.measure(*round, &[*round])),
        }
    }

    /// Executes the run of a round, and records it for all `rounds` that it contains.
    fn measure(&mut self, round: u64, rounds: &[u64]) -> Result<(), Error> {
        let begin = |round: &u64| {
            let run = self.at.identity.begin(
                self.at.store,
                Checkpoint::Round(*round),
                &self.at.spec.command,
                self.at.cell.seed,
            )?;
            Ok((*round, run))
        };
        let runs = rounds.iter().map(begin).collect::<Result<Vec<_>, Error>>()?;
        let measured = unless_interrupted(self.phases(round));
        for (round, run) in runs {
            let recorded = measured.as_ref().map_err(again).and_then(|phases| {
                let repeat = self.task.processes.map(|_| round);
                self.at.store.record_all(run, &numbers(phases, repeat, self.at.disks[0].model.name()))?;
                for (place, (outcome, _)) in phases.iter().enumerate() {
                    record_phase(self.at.store, run, place, outcome)?;
                }
                Ok(())
            });
            self.at.store.end_with(run, &recorded)?;
            recorded?;
        }
        Ok(())
    }

    /// Runs all phases on a fresh file system. Returns each with the seconds during which its disk was busy.
    fn phases(&mut self, round: u64) -> Result<Vec<(PhaseOutcome, f64)>, Error> {
        let (cell, scale) = (self.at.cell, self.at.scale);
        let (processes, settings) = self.task.at(round, scale, cell.seed);
        let dir = self.images.path().join("disk");
        let location =
            Location::Modelled { dir: dir.clone(), model: self.at.disks[0].name.clone(), clock: Clock::Real };
        let objects = settings.precreate * u64::from(settings.data_sets) * u64::from(processes);
        let dirs = u64::from(settings.data_sets + 1) * u64::from(processes) + 1;
        let mut volume = cell.volume(scale.size_bytes, location, Some(objects + dirs))?;
        let name = &self.at.identity.name;
        self.at.watch.phase(&format!("{name}: creating the file system, {processes} processes"), None);
        let target = fs::make(self.at.session, &mut volume, None)?;
        let bytes = self.task.limit_bytes();
        let limit = bytes.map(|bytes| MemoryLimit::new(self.at.session, bytes)).transpose()?;
        // The kernel allows a fifth of the free memory to be dirty, which was the limit as published, and is that of the machine here.
        let dirty = bytes.map(|bytes| target.limit_dirty(bytes / 5)).transpose()?;
        let mut command = (self.at.spec.subprocess)();
        limit.as_ref().map_or(Ok(()), |limit| limit.confine(&mut command))?;
        let backend = Backend::posix(target.root().join("objects"));
        let title = format!("{name}, {processes} processes");
        let mut recorder = Recorder {
            title,
            target: target.as_ref(),
            watch: &mut *self.at.watch,
            begun_ns: 0,
            failed: None,
            phases: Vec::new(),
        };
        let task = metadata::Task { settings, ranks: Ranks::Processes(processes), backend, run_info: None };
        let done = metadata::run_in_subprocess(&mut command, &task, &disk::interrupted, &mut recorder);
        let (failed, phases) = (recorder.failed.take(), recorder.phases);
        failed.map_or(done.map_err(|error| Error::Failed(error.to_string())), Err)?;
        limit.map_or(Ok(()), MemoryLimit::remove)?;
        drop(dirty);
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

/// The measures of phases.
fn phase_measures() -> Vec<String> {
    let families = [measures::PHASE_OBJECTS_PER_S, measures::PHASE_DISK_SHARE];
    let phases = [Phase::Precreate, Phase::Benchmark, Phase::Cleanup];
    let of = |family: &measures::Measure| phases.map(|phase| family.of(phase.name()).name().to_owned());
    families.iter().flat_map(of).collect()
}

/// The measurements of a run: means over all its repeats (section 2.4), or those of one repeat.
fn numbers(phases: &[(PhaseOutcome, f64)], repeat: Option<u64>, disk: &str) -> Vec<Measurement> {
    let of = |phase| phases.iter().filter(move |(outcome, _)| outcome.phase == phase);
    let rate = |(outcome, _): &(PhaseOutcome, f64)| outcome.objects_per_s;
    let mut numbers = Vec::new();
    let mut one = |measure: MeasureInstance, value| {
        numbers.push(measure.on(disk).measurement(ONLY, 1, value));
    };
    let precreate = mean(of(Phase::Precreate).map(rate));
    for phase in [Phase::Precreate, Phase::Benchmark, Phase::Cleanup] {
        let is_asked = |outcome: &PhaseOutcome| {
            phase != Phase::Benchmark
                || repeat.is_none_or(|repeat| repeat == u64::from(outcome.iteration) + 1)
        };
        let asked: Vec<_> = of(phase).filter(|(outcome, _)| is_asked(outcome)).collect();
        let objects_per_s = mean(asked.iter().copied().map(rate));
        one(measures::PHASE_OBJECTS_PER_S.of(phase.name()), objects_per_s);
        // The disk may be busy for a moment before the first rank begins and after the last ends.
        let share = |(outcome, busy_s): &&(PhaseOutcome, f64)| (busy_s / outcome.time_s).min(1.0);
        one(measures::PHASE_DISK_SHARE.of(phase.name()), mean(asked.iter().map(share)));
        match phase {
            Phase::Precreate => {}
            Phase::Benchmark => {
                let operations = asked.iter().map(|(outcome, _)| outcome.operations_per_s);
                one(measures::BENCHMARK_OPERATIONS_PER_S.instance(), mean(operations));
                one(measures::BENCHMARK_OVER_PRECREATE.instance(), objects_per_s / precreate);
            }
            Phase::Cleanup => one(measures::CLEANUP_OVER_PRECREATE.instance(), objects_per_s / precreate),
        }
    }
    let repeats: Vec<f64> = of(Phase::Benchmark).map(rate).collect();
    if let Some((first, others)) = repeats.split_first() {
        one(measures::FIRST_REPEAT_OUTSIDE.instance(), outside(*first, others));
    }
    numbers.retain(|number| number.value.is_finite());
    numbers
}

/// The distance of a value from the range of others, over their mean; 0 within the range, not a number without others.
fn outside(value: f64, others: &[f64]) -> f64 {
    let least = others.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = others.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least - value).max(value - greatest).max(0.0) / mean(others.iter().copied())
}

/// The mean; not a number if there is nothing.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, of) = values.fold((0.0, 0.0), |(sum, of), value| (sum + value, of + 1.0));
    sum / of
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn distance_is_from_the_range_of_the_others() {
        let others = [8.0, 12.0];
        assert_eq!([4.0, 8.0, 10.0, 17.0].map(|value| outside(value, &others)), [0.4, 0.0, 0.0, 0.5]);
        assert!(outside(1.0, &[]).is_nan());
    }
}
