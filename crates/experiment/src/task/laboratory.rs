//! The allocator laboratory: simulated file systems, aged and measured at the speed of memory (Smith and Seltzer 1997, Figures 1, 2 and 5
//! to 8, and the tables).

use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use disk::model::Model;
use ffs::benchmark::{HotFiles, MeanStdDev, SequentialPoint};
use ffs::{Configuration, History, HistoryShape, Measures, SimulatedFs};
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
    /// Days of the history.
    days: u64,
    /// Share of the blocks for data that files use at the end.
    fullness: f64,
    /// Number of runs of the sequential benchmark, each with its files at other positions.
    placements: u32,
}

impl Default for Laboratory {
    fn default() -> Laboratory {
        let HistoryShape { days, final_fullness: fullness } = HistoryShape::default();
        Laboratory { policy: String::new(), by: By::Day, beside: None, days, fullness, placements: 10 }
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
    /// None: the configuration of the empty file system, at round 0.
    Configuration,
}

inventory::submit!(TaskKind::new::<Laboratory>("laboratory", Vec::new));

impl Task for Laboratory {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        let kind = kind(&cell.fs)?;
        for policy in std::iter::once(&self.policy).chain(&self.beside) {
            kind.create(policy, scale.size_bytes).map_err(refused)?;
        }
        match (self.by, scale.last()) {
            (By::Day, day) if day > self.days => {
                Err(Error::Refused(format!("no day {day}: the history has {} days", self.days)))
            }
            (By::Configuration, round) if round > 0 => {
                Err(Error::Refused(format!("no round {round}: a configuration has round 0 only")))
            }
            _ if !(self.fullness > 0.0 && self.fullness < 1.0) => {
                Err(Error::Refused(format!("fullness = {} is not between 0 and 1", self.fullness)))
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
            let phase = format!("{name}: {} days on {fs}, {}", self.days, self.policy);
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

/// An aged and an empty file system.
type Sides = [Box<dyn ffs::Simulation>; 2];

/// The benchmark for each round, on an aged and an empty file system.
type Points = [Vec<SequentialPoint>; 2];

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
            By::Configuration => self.configuration(),
        }
    }

    /// Ages a file system with a policy; calls `look` at the end of each day.
    fn aged(
        &self,
        policy: &str,
        mut look: impl FnMut(&dyn ffs::Simulation) -> Result<(), Error>,
    ) -> Result<Box<dyn ffs::Simulation>, Error> {
        let size_bytes = self.scale.size_bytes;
        let mut simulation = self.empty(policy)?;
        let mut looked = Ok(());
        let seen = |now: &dyn ffs::Simulation| {
            if looked.is_ok() {
                looked = if disk::interrupted() { Err(run::interrupted()) } else { look(now) };
            }
        };
        let shape = HistoryShape { days: self.task.days, final_fullness: self.task.fullness };
        let history = History::with_shape(size_bytes, shape, self.cell.seed);
        ffs::run(simulation.as_mut(), history, seen).map_err(failed)?;
        looked?;
        found_space(simulation.counts(), "history")?;
        Ok(simulation)
    }

    fn days(&self) -> Result<Rounds, Error> {
        let mut found = Rounds::new();
        self.aged(&self.task.policy, |now| {
            let day = now.counts().checkpoints;
            if self.scale.rounds.contains(&day) {
                found.insert(day, self.state(now));
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn configuration(&self) -> Result<Rounds, Error> {
        let empty = self.empty(&self.task.policy)?;
        Ok([(0, of_configuration(&empty.configuration()))].into())
    }

    /// All measurements of the current state of a file system.
    fn state(&self, now: &dyn ffs::Simulation) -> Vec<Measurement> {
        let mut numbers = of_files(&now.measure());
        for model in &self.models {
            let cost = now.scan_s_per_gib(model);
            numbers.extend(cost.map(|cost| on(measures::MODELLED_S_PER_GIB, ONLY, model, cost)));
            let hot = now.hot_files(model);
            numbers.extend(hot.iter().flat_map(|hot| hot_speeds(hot, model)));
            if std::ptr::eq(model, &self.models[0]) {
                numbers.extend(hot.iter().flat_map(of_hot_files));
            }
        }
        numbers
    }

    fn file_sizes(&self) -> Result<Rounds, Error> {
        let both = |policy: &str| -> Result<Sides, Error> {
            Ok([self.aged(policy, |_| Ok(()))?, self.empty(policy)?])
        };
        let own = both(&self.task.policy)?;
        let beside = self.task.beside.as_deref().map(both).transpose()?;
        let mut found = of_own_files(&own[0].measure());
        for model in &self.models {
            let of = |[aged, empty]: &Sides| -> Result<Points, Error> {
                Ok([self.sequential(aged.as_ref(), model)?, self.sequential(empty.as_ref(), model)?])
            };
            self.add_compared(&mut found, model, &of(&own)?, beside.as_ref().map(of).transpose()?.as_ref());
        }
        Ok(found)
    }

    /// Adds all measurements of the benchmark with the policy, and with the policy to compare with.
    fn add_compared(&self, found: &mut Rounds, model: &Model, own: &Points, beside: Option<&Points>) {
        for (side, subject) in SUBJECTS.into_iter().enumerate() {
            for (at, point) in own[side].iter().enumerate() {
                let numbers = found.entry(point.file_bytes).or_default();
                numbers.extend(speeds(subject, point, model));
                if std::ptr::eq(model, &self.models[0]) {
                    numbers.extend(of_benchmark(subject, point));
                }
                let other = beside.map(|beside| &beside[side][at]);
                numbers.extend(other.into_iter().flat_map(|other| gains(subject, point, other, model)));
            }
            let other = beside.map(|beside| &beside[side][..]).unwrap_or_default();
            for (size, area) in areas(subject, &own[side], other, model) {
                found.entry(size).or_default().push(area);
            }
        }
        for (aged, empty) in own[0].iter().zip(&own[1]) {
            let read = aged.read_bytes_per_s.zip(empty.read_bytes_per_s);
            let ratio = read
                .map(|(aged, empty)| on(measures::READ_AGED_OVER_EMPTY, ONLY, model, aged.mean / empty.mean));
            found.entry(aged.file_bytes).or_default().extend(ratio);
        }
    }

    /// An empty file system with a policy.
    fn empty(&self, policy: &str) -> Result<Box<dyn ffs::Simulation>, Error> {
        kind(&self.cell.fs)?.create(policy, self.scale.size_bytes).map_err(refused)
    }

    /// The sequential benchmark for each round.
    fn sequential(
        &self,
        simulation: &dyn ffs::Simulation,
        model: &Model,
    ) -> Result<Vec<SequentialPoint>, Error> {
        simulation.sequential(model, &self.scale.rounds, self.task.placements).map_err(failed)
    }
}

/// Fails if operations of a history or its replay found no space: the file system is then another than was asked for.
pub(super) fn found_space(counts: ffs::OperationCounts, what: &str) -> Result<(), Error> {
    match counts.no_space {
        0 => Ok(()),
        failed => Err(Error::Failed(format!(
            "{failed} operations of the {what} found no space; use a larger file system or a lower fullness"
        ))),
    }
}

/// The measurements by file size if nothing aged: those of an empty file system take the place of the aged ones. `None` for other experiments.
#[cfg(test)]
pub(crate) fn without_aging(cell: &Cell, scale: &Scale, models: Vec<Model>) -> Option<Rounds> {
    let mut table = scale.workload.clone();
    table.extend(cell.variant.workload.clone());
    if table.remove("kind")?.as_str() != Some("laboratory") {
        return None;
    }
    let task = Laboratory { placements: 1, ..crate::spec::plain(table).expect("a valid experiment") };
    if task.by != By::FileSize {
        return None;
    }
    let of = Simulation { task: &task, cell, scale, models };
    let mut found = Rounds::new();
    for model in &of.models {
        let points = |policy: &str| {
            let empty = of.empty(policy).expect("a known policy");
            let points = of.sequential(empty.as_ref(), model).expect("space on an empty file system");
            [points.clone(), points]
        };
        let beside = task.beside.as_deref().map(points);
        of.add_compared(&mut found, model, &points(&task.policy), beside.as_ref());
    }
    Some(found)
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
        (measures::SPLIT_ADJACENT_SHARE, now.split_adjacent_share),
        (measures::SPLIT_WITHIN_TEN_SHARE, now.split_within_ten_share),
        (measures::FREE_FRAGMENT_SHARE, Some(now.free_fragment_share)),
    ];
    let shares = scores.into_iter().filter_map(|(measure, share)| Some(measure.once(ONLY, share?)));
    let mut numbers: Vec<Measurement> = shares.collect();
    numbers.push(measures::FILES.once(ONLY, now.files as f64));
    numbers.push(measures::SPLIT_FILES.once(ONLY, now.split_files as f64));
    numbers
}

/// The layout of the files that aging left, by the largest size of their class; and the free space, which is the same for all classes.
fn of_own_files(now: &Measures) -> Rounds {
    let subject = SUBJECTS[0];
    let of = |class: &ffs::SizeClass| {
        let scores = [
            (measures::LAYOUT_SCORE, class.layout_score),
            (measures::LAYOUT_SCORE_MULTIPLES, class.layout_score_multiples),
            (measures::LAYOUT_SCORE_OTHERS, class.layout_score_others),
            (measures::FREE_FRAGMENT_SHARE, Some(now.free_fragment_share)),
            (measures::FULLNESS, Some(now.fullness)),
        ];
        let shares = scores.into_iter().filter_map(|(measure, share)| Some(measure.once(subject, share?)));
        (class.upper_bytes, shares.collect())
    };
    now.by_size.iter().map(of).collect()
}

fn of_configuration(of: &Configuration) -> Vec<Measurement> {
    let mut numbers = vec![
        measures::FS_BYTES.once(ONLY, of.size_bytes as f64),
        measures::FS_BLOCK_BYTES.once(ONLY, of.block_bytes as f64),
        measures::FRAGMENT_BYTES.once(ONLY, of.fragment_bytes as f64),
        measures::CLUSTER_BYTES.once(ONLY, of.cluster_bytes as f64),
        measures::CYLINDER_GROUPS.once(ONLY, f64::from(of.groups)),
    ];
    numbers.extend(of.first_group_bytes.map(|bytes| measures::FIRST_SECTION_BYTES.once(ONLY, bytes as f64)));
    numbers
}

fn of_hot_files(hot: &HotFiles) -> Vec<Measurement> {
    let mut numbers = vec![
        measures::HOT_FILES.once(ONLY, hot.files as f64),
        measures::HOT_BYTES.once(ONLY, hot.bytes as f64),
        measures::HOT_SHARE_OF_FILES.once(ONLY, hot.file_share),
        measures::HOT_SHARE_OF_SPACE.once(ONLY, hot.space_share),
        measures::HOT_SPLIT_FILES.once(ONLY, hot.split_files as f64),
    ];
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

/// The throughput over that with the other policy.
fn gains(
    subject: &str,
    own: &SequentialPoint,
    other: &SequentialPoint,
    model: &Model,
) -> impl Iterator<Item = Measurement> {
    let pairs = [
        (measures::READ_GAIN, own.read_bytes_per_s, other.read_bytes_per_s),
        (measures::CREATE_GAIN, own.create_bytes_per_s, other.create_bytes_per_s),
    ];
    let gain = move |(measure, own, other): (Measure, Option<MeanStdDev>, Option<MeanStdDev>)| {
        Some(on(measure, subject, model, own?.mean / other?.mean))
    };
    pairs.into_iter().filter_map(gain)
}

/// The areas between the lines of both policies over the logarithm of the file size, up to each size.
fn areas(
    subject: &str,
    own: &[SequentialPoint],
    other: &[SequentialPoint],
    model: &Model,
) -> Vec<(u64, Measurement)> {
    type Rate = fn(&SequentialPoint) -> Option<MeanStdDev>;
    let rates: [(Measure, Rate); 2] = [
        (measures::READ_GAIN_AREA, |point| point.read_bytes_per_s),
        (measures::CREATE_GAIN_AREA, |point| point.create_bytes_per_s),
    ];
    let mut areas = Vec::new();
    for (measure, rate) in rates {
        let gains: Vec<(u64, f64)> = (own.iter().zip(other))
            .filter_map(|(own, other)| Some((own.file_bytes, rate(own)?.mean - rate(other)?.mean)))
            .collect();
        let mut area = 0.0;
        for pair in gains.windows(2) {
            let ((from, before), (to, behind)) = (pair[0], pair[1]);
            area += (before + behind) / 2.0 * (to as f64 / from as f64).log2();
            areas.push((to, on(measure, subject, model, area)));
        }
    }
    areas
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Variant;
    use std::sync::Arc;

    #[test]
    fn history_without_space_fails() {
        let run = |fullness| {
            let task =
                Laboratory { policy: "baseline".to_owned(), days: 20, fullness, ..Laboratory::default() };
            let scale = toml::from_str("size_bytes = 67_108_864\nrounds = [20]\nworkload = {}").unwrap();
            let (name, variant) = (String::new(), Variant::default());
            let cell = Cell { name, fs: "ffs".to_owned(), variant, seed: 1, task: Arc::new(task.clone()) };
            Simulation { task: &task, cell: &cell, scale: &scale, models: Vec::new() }.run()
        };
        assert_eq!(run(0.3).unwrap().len(), 1);
        let failure = run(0.97).unwrap_err().to_string();
        assert!(failure.contains("operations of the history found no space; use a larger"), "{failure}");
    }
}
