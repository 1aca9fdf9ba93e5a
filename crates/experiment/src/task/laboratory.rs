//! The allocator laboratory: simulated file systems, aged and measured at the speed of memory (Smith and Seltzer 1997, Figures 1, 2 and 5
//! to 8, and both tables).

use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use disk::model::Model;
use ffs::benchmark::{HotFiles, SequentialPoint};
use ffs::{History, Measures, SimulatedFs};
use fs::FileSystem;
use results::Measurement;
use results::measures::{self, Measure};
use run::Error;
use run::SUBJECTS;
use run::checkpoint::ONLY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Parameters of a simulation in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Laboratory {
    /// The allocation policy.
    policy: String,
    /// The meaning of a round, which determines what is measured.
    by: By,
    /// The policy to compare throughput with.
    beside: Option<String>,
    /// File size of the sequential benchmark after each day, in bytes; without it the benchmark does not run.
    file_bytes: Option<u64>,
    /// Number of runs of the sequential benchmark, each with its files at other positions.
    placements: u32,
}

impl Default for Laboratory {
    fn default() -> Laboratory {
        Laboratory { policy: String::new(), by: By::Day, beside: None, file_bytes: None, placements: 10 }
    }
}

/// The meaning of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    /// A day of the history; measures at its end.
    Day,
    /// A file size of the sequential benchmark, after the whole history and on an empty file system.
    FileSize,
    /// The upper bound of a class of file sizes, after the whole history.
    SizeClass,
    /// The fullness of the file system after the whole history, in percent.
    Fullness,
}

inventory::submit!(TaskKind::new::<Laboratory>("laboratory", Vec::new));

impl Task for Laboratory {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        let kind = kind(&cell.fs)?;
        for policy in std::iter::once(&self.policy).chain(&self.beside) {
            kind.create(policy, scale.size_bytes).map_err(refused)?;
        }
        match (self.by, scale.rounds.last()) {
            (By::Fullness, Some(&percent)) if percent > 100 => {
                Err(Error::Refused(format!("fullness cannot be {percent} %: the maximum is 100")))
            }
            (By::Day, Some(&day)) if day > ffs::HISTORY_DAYS => {
                Err(Error::Refused(format!("no day {day}: the history has {} days", ffs::HISTORY_DAYS)))
            }
            _ if self.placements == 0 => Err(Error::Refused("placements must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }

    fn parameters(&self, _scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error> {
        let models: Vec<&Model> = disks.iter().map(|disk| &disk.model).collect();
        Ok(json!({ "laboratory": self, "disks": models }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_all(|at| {
            let (name, fs) = (&at.identity.name, &at.cell.fs);
            let phase = format!("{name}: {} days on {fs}, {}", ffs::HISTORY_DAYS, self.policy);
            at.watch.phase(&phase, None);
            Simulation { task: self, cell: at.cell, scale: at.scale, models: at.models() }.run()
        })
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        (
            "Simulation",
            "of the allocator alone, in memory; throughput is computed on the modelled disks".to_owned(),
        )
    }

    /// The measure determines whether there are sides.
    fn sides(&self) -> &'static [&'static str] {
        &[ONLY, SUBJECTS[0], SUBJECTS[1]]
    }

    fn file_system(&self, name: &str) -> Result<Option<&'static dyn FileSystem>, Error> {
        kind(name).map(|_| None)
    }
}

/// Finds a kind of simulated file system by its name in an experiment.
fn kind(name: &str) -> Result<SimulatedFs, Error> {
    let kinds = [SimulatedFs::Fast, SimulatedFs::Extents];
    kinds.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names = kinds.map(SimulatedFs::name).join(", ");
        Error::Refused(format!("unknown simulated file system {name:?}; known: {names}"))
    })
}

/// A simulated file system to age and measure.
struct Simulation<'a> {
    task: &'a Laboratory,
    cell: &'a Cell,
    scale: &'a Scale,
    /// The disks used to compute throughput.
    models: Vec<Model>,
}

impl Simulation<'_> {
    fn run(&self) -> Result<Rounds, Error> {
        match self.task.by {
            By::Day => self.days(),
            By::FileSize => self.file_sizes(),
            By::SizeClass => self.size_classes(),
            By::Fullness => self.fullnesses(),
        }
    }

    /// Ages a file system with a policy up to `fullness`; calls `look` at the end of each day.
    fn aged(
        &self,
        policy: &str,
        fullness: f64,
        mut look: impl FnMut(&dyn ffs::Simulation) -> Result<(), Error>,
    ) -> Result<Box<dyn ffs::Simulation>, Error> {
        let size_bytes = self.scale.size_bytes;
        let mut simulation = kind(&self.cell.fs)?.create(policy, size_bytes).map_err(refused)?;
        let mut looked = Ok(());
        let seen = |now: &dyn ffs::Simulation| {
            if looked.is_ok() {
                looked = if disk::interrupted() { Err(run::interrupted()) } else { look(now) };
            }
        };
        ffs::run(
            simulation.as_mut(),
            History::with_final_fullness(size_bytes, fullness, self.cell.seed),
            seen,
        )
        .map_err(failed)?;
        looked.map(|()| simulation)
    }

    fn days(&self) -> Result<Rounds, Error> {
        let mut found = Rounds::new();
        self.aged(&self.task.policy, ffs::FINAL_FULLNESS, |now| {
            let day = now.counts().checkpoints;
            if self.scale.rounds.contains(&day) {
                found.insert(day, self.state(now)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn fullnesses(&self) -> Result<Rounds, Error> {
        let measured = |percent: &u64| {
            let aged = self.aged(&self.task.policy, *percent as f64 / 100.0, |_| Ok(()))?;
            Ok((*percent, self.state(aged.as_ref())?))
        };
        self.scale.rounds.iter().map(measured).collect()
    }

    /// All measurements of the current state of a file system.
    fn state(&self, now: &dyn ffs::Simulation) -> Result<Vec<Measurement>, Error> {
        let task = self.task;
        let mut numbers = of_files(&now.measure());
        for model in &self.models {
            let cost = now.scan_s_per_gib(model);
            numbers.extend(cost.map(|cost| on(measures::MODELLED_S_PER_GIB, ONLY, model, cost)));
            let hot = now.hot_files(model);
            numbers.extend(hot.iter().flat_map(|hot| hot_speeds(hot, model)));
            let sizes: Vec<u64> = task.file_bytes.into_iter().collect();
            let points = now.sequential(model, &sizes, task.placements).map_err(failed)?;
            numbers.extend(points.iter().flat_map(|point| speeds(ONLY, point, model)));
            if std::ptr::eq(model, &self.models[0]) {
                numbers.extend(hot.iter().flat_map(of_hot_files));
                numbers.extend(points.iter().flat_map(|point| of_benchmark(ONLY, point)));
            }
        }
        Ok(numbers)
    }

    fn file_sizes(&self) -> Result<Rounds, Error> {
        let task = self.task;
        let mut found = Rounds::new();
        for model in &self.models {
            let of_policy = self.sequential(&task.policy, model)?;
            let beside = task.beside.as_deref().map(|policy| self.sequential(policy, model)).transpose()?;
            for (side, subject) in SUBJECTS.into_iter().enumerate() {
                for (at, point) in of_policy[side].iter().enumerate() {
                    let numbers = found.entry(point.file_bytes).or_default();
                    numbers.extend(speeds(subject, point, model));
                    if std::ptr::eq(model, &self.models[0]) {
                        numbers.extend(of_benchmark(subject, point));
                    }
                    let other = beside.as_ref().and_then(|beside| beside[side][at].read_bytes_per_s);
                    if let Some((own, other)) = point.read_bytes_per_s.zip(other) {
                        let gain = own.mean / other.mean;
                        numbers.push(on(measures::READ_GAIN, subject, model, gain));
                    }
                }
            }
        }
        Ok(found)
    }

    /// The sequential benchmark for each round, aged and on an empty file system.
    fn sequential(&self, policy: &str, model: &Model) -> Result<[Vec<SequentialPoint>; 2], Error> {
        let empty = kind(&self.cell.fs)?.create(policy, self.scale.size_bytes).map_err(refused)?;
        let aged = self.aged(policy, ffs::FINAL_FULLNESS, |_| Ok(()))?;
        let of = |simulation: &dyn ffs::Simulation| {
            simulation.sequential(model, &self.scale.rounds, self.task.placements).map_err(failed)
        };
        Ok([of(aged.as_ref())?, of(empty.as_ref())?])
    }

    fn size_classes(&self) -> Result<Rounds, Error> {
        let aged = self.aged(&self.task.policy, ffs::FINAL_FULLNESS, |_| Ok(()))?;
        let mut found = Rounds::new();
        for class in aged.measure().by_size {
            if !self.scale.rounds.contains(&class.upper_bytes) {
                continue;
            }
            let scores = [
                (measures::LAYOUT_SCORE, class.layout_score),
                (measures::LAYOUT_SCORE_MULTIPLES, class.layout_score_multiples),
                (measures::LAYOUT_SCORE_OTHERS, class.layout_score_others),
            ];
            let scores = scores.into_iter().filter_map(|(measure, score)| Some(measure.once(ONLY, score?)));
            let mut numbers: Vec<Measurement> = scores.collect();
            numbers.push(measures::FILES.once(ONLY, class.files as f64));
            found.insert(class.upper_bytes, numbers);
        }
        Ok(found)
    }
}

fn refused(error: ffs::Error) -> Error {
    Error::Refused(error.to_string())
}

fn failed(error: ffs::Error) -> Error {
    Error::Failed(error.to_string())
}

fn on(measure: Measure, subject: &str, model: &Model, value: f64) -> Measurement {
    measure.on(model.name()).measurement(subject, 1, value)
}

fn of_files(now: &Measures) -> Vec<Measurement> {
    let scores = [
        (measures::LAYOUT_SCORE, now.layout_score),
        (measures::LAYOUT_SCORE_MULTIPLES, now.layout_score_multiples),
        (measures::LAYOUT_SCORE_OTHERS, now.layout_score_others),
        (measures::FULLNESS, Some(now.fullness)),
        (measures::SPLIT_FILE_SHARE, Some(now.split_file_share)),
        (measures::FREE_FRAGMENT_SHARE, Some(now.free_fragment_share)),
    ];
    let shares = scores.into_iter().filter_map(|(measure, share)| Some(measure.once(ONLY, share?)));
    let mut numbers: Vec<Measurement> = shares.collect();
    numbers.push(measures::FILES.once(ONLY, now.files as f64));
    numbers.push(measures::SPLIT_FILES.once(ONLY, now.split_files as f64));
    numbers
}

fn of_hot_files(hot: &HotFiles) -> Vec<Measurement> {
    let mut numbers = vec![measures::HOT_FILE_SHARE.once(ONLY, hot.file_share)];
    numbers.extend(hot.layout_score.map(|score| measures::HOT_LAYOUT_SCORE.once(ONLY, score)));
    numbers
}

fn hot_speeds(hot: &HotFiles, model: &Model) -> impl Iterator<Item = Measurement> {
    let speeds = [
        (measures::HOT_READ_BYTES_PER_S, hot.read_bytes_per_s),
        (measures::HOT_WRITE_BYTES_PER_S, hot.write_bytes_per_s),
    ];
    speeds.into_iter().filter_map(move |(measure, speed)| Some(on(measure, ONLY, model, speed?)))
}

fn of_benchmark(subject: &str, point: &SequentialPoint) -> Option<Measurement> {
    Some(measures::SEQUENTIAL_LAYOUT_SCORE.once(subject, point.layout_score?))
}

fn speeds(subject: &str, point: &SequentialPoint, model: &Model) -> Vec<Measurement> {
    let speeds = [
        (measures::CREATE_BYTES_PER_S, measures::CREATE_BYTES_PER_S_DEVIATION, point.create_bytes_per_s),
        (measures::READ_BYTES_PER_S, measures::READ_BYTES_PER_S_DEVIATION, point.read_bytes_per_s),
    ];
    let mut numbers = Vec::new();
    for (mean, deviation, speed) in speeds {
        let Some(speed) = speed else { continue };
        numbers.push(on(mean, subject, model, speed.mean));
        numbers.push(on(deviation, subject, model, speed.standard_deviation));
    }
    numbers
}
