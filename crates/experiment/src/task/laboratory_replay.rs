//! Verification in the allocator laboratory: the history on one simulated file system, and the workload derived from its nightly snapshots
//! on another (Smith and Seltzer 1997, §3.4, Figures 3 and 4).

mod real;

use super::laboratory::found_space;
use super::replayed::{By, DailyLayout, SIDES, both, layout};
use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use ffs::geometry::GROUP_INODES;
use ffs::{
    History, HistoryShape, Interleaved, Measures, OperationCounts, SimulatedFs, Simulation, SizeClass,
};
use fs::FileSystem;
use real::{Nightly, Real};
use results::measures;
use run::Error;
use run::checkpoint::ONLY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use snapshot::activity::{Action, ActivitySet};
use trace::{Op, Source as _};
use workload::snapshots::{Extracted, Options, Placement, ShortLived};

/// Parameters of a verification in the laboratory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LaboratoryReplay {
    /// The allocation policy of both file systems.
    policy: String,
    /// The meaning of a round.
    by: By,
    /// Days of the history.
    days: u64,
    /// Files that the history changes at the same time.
    concurrency: usize,
    /// What the sizes of short-lived files in the replay are multiplied by.
    short_lived_scale: u64,
}

impl Default for LaboratoryReplay {
    fn default() -> LaboratoryReplay {
        LaboratoryReplay {
            policy: "baseline".to_owned(),
            by: By::Day,
            days: ffs::HISTORY_DAYS,
            concurrency: 5,
            short_lived_scale: 1,
        }
    }
}

inventory::submit!(TaskKind::new::<LaboratoryReplay>("laboratory-replay", Vec::new));

impl Task for LaboratoryReplay {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        self.create(cell, scale)?;
        match scale.last() {
            day if self.by == By::Day && day > self.days => {
                Err(Error::Refused(format!("no day {day}: the history has {} days", self.days)))
            }
            _ if self.short_lived_scale == 0 => {
                Err(Error::Refused("short_lived_scale must be at least 1".to_owned()))
            }
            _ if self.concurrency == 0 => Err(Error::Refused("concurrency must be at least 1".to_owned())),
            _ => Ok(()),
        }
    }

    fn parameters(&self, _scale: &Scale, _disks: &[NamedDisk]) -> Result<Value, Error> {
        Ok(json!({ "laboratory_replay": self }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_all(|at| {
            let phase = format!("{}: replay of {} days", at.identity.name, self.days);
            at.watch.phase(&phase, Some(self.days));
            let both = self.both(at)?;
            Ok(match self.by {
                By::Day => both.days(),
                By::SizeClass => both.size_classes(),
            })
        })
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        let text = "of the allocator alone, in memory: a history, and a replay of its nightly snapshots on another file system";
        ("Simulation", text.to_owned())
    }

    fn sides(&self) -> &'static [&'static str] {
        &SIDES
    }

    fn file_system(&self, name: &str) -> Result<Option<&'static dyn FileSystem>, Error> {
        match name == SimulatedFs::Fast.name() {
            true => Ok(None),
            false => Err(Error::Refused(format!(
                "the snapshots of {name:?} cannot be replayed by cylinder group; use {:?}",
                SimulatedFs::Fast.name()
            ))),
        }
    }
}

/// Both file systems at the end of each day.
struct Both {
    real: Vec<Measures>,
    replayed: Vec<Measures>,
    /// The operations of the replayed workload up to each day.
    workload: Vec<OperationCounts>,
}

impl LaboratoryReplay {
    fn create(&self, cell: &Cell, scale: &Scale) -> Result<Box<dyn Simulation>, Error> {
        self.file_system(&cell.fs)?;
        SimulatedFs::Fast
            .create(&self.policy, scale.size_bytes)
            .map_err(|error| Error::Refused(error.to_string()))
    }

    /// The built-in profiles of short-lived files, with sizes to scale.
    fn short_lived_files(&self) -> ActivitySet {
        let mut set = ActivitySet::builtin();
        for event in set.profiles.iter_mut().flat_map(|profile| &mut profile.events) {
            if let Action::Create { size, .. } = &mut event.action {
                *size = size.saturating_mul(self.short_lived_scale);
            }
        }
        set
    }

    fn both(&self, at: &mut Measuring) -> Result<Both, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Failed(error.to_string());
        let seed = at.cell.seed;
        let shape = HistoryShape { days: self.days, ..HistoryShape::default() };
        let history = History::with_shape(at.scale.size_bytes, shape, seed);
        let history = Interleaved::new(history, self.concurrency, seed);
        let real = Real::new(self.create(at.cell, at.scale)?, at.scale.size_bytes, history);
        let nightly = Nightly::new(real, self.days);
        let options = Options {
            placement: Placement::CylinderGroups { inodes_per_group: Some(u64::from(GROUP_INODES)) },
            short_lived: Some(ShortLived::published(self.short_lived_files())),
            ..Options::published(seed)
        };
        let mut source =
            Extracted::new(Box::new(nightly.clone()), options).map_err(|error| failed(&error))?;
        let mut simulation = self.create(at.cell, at.scale)?;
        let (mut replayed, mut workload, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch).map_err(|error| failed(&error))?;
            if batch.is_empty() {
                break;
            }
            for op in &batch {
                simulation.apply(op).map_err(|error| failed(&error))?;
                if let Op::Checkpoint { .. } = op {
                    replayed.push(simulation.measure());
                    workload.push(simulation.counts());
                    at.watch.at(replayed.len() as u64);
                    if disk::interrupted() {
                        return Err(run::interrupted());
                    }
                }
            }
        }
        found_space(nightly.counts(), "history")?;
        found_space(simulation.counts(), "replay")?;
        Ok(Both { real: nightly.measured(), replayed, workload })
    }
}

impl Both {
    fn days(&self) -> Rounds {
        let mut layout = DailyLayout::default();
        let mut found = Rounds::new();
        let sides = self.real.iter().zip(&self.replayed).zip(&self.workload);
        for (day, ((real, replayed), workload)) in (1..).zip(sides) {
            let mut numbers = both(measures::FULLNESS, [real, replayed].map(|now| Some(now.fullness)));
            numbers.extend(both(measures::FILES, [real, replayed].map(|now| Some(now.files as f64))));
            numbers.extend(layout.next([real.layout_score, replayed.layout_score]));
            let operations = workload.operations - workload.checkpoints;
            numbers.push(measures::OPERATIONS.once(ONLY, operations as f64));
            numbers.push(measures::WORKLOAD_BYTES.once(ONLY, workload.bytes_written as f64));
            found.insert(day, numbers);
        }
        found
    }

    fn size_classes(&self) -> Rounds {
        let mut found = Rounds::new();
        let (Some(real), Some(replayed)) = (self.real.last(), self.replayed.last()) else { return found };
        for class in &real.by_size {
            let same = |other: &&SizeClass| other.upper_bytes == class.upper_bytes;
            let Some(other) = replayed.by_size.iter().find(same) else { continue };
            let of = |value: fn(&SizeClass) -> Option<f64>| [value(class), value(other)];
            let scores = of(|class| class.layout_score);
            let mut numbers = layout(scores);
            numbers.extend(both(measures::LAYOUT_BELOW_HALF_SHARE, of(|class| class.below_half_share)));
            numbers.extend(both(measures::FILES, of(|class| Some(class.files as f64))));
            if let [Some(real), Some(replayed)] = scores
                && real > 0.0
            {
                numbers.push(measures::LAYOUT_SCORE_OVER_REAL.once(ONLY, replayed / real));
            }
            found.insert(class.upper_bytes, numbers);
        }
        found
    }
}
