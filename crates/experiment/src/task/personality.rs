//! Personalities on aged file systems and unaged ones (Kadekodi, Nagarajan and Gibson, Aging Gracefully with Geriatrix,
//! CMU-PDL-17-106, 2017). A round is the number of overwrites before the measurement. An image is aged for each round, for all cells and figures
//! that measure it, and copied to each modelled disk, which sleeps its service times; or it is measured in virtual time.

use super::{Measuring, NamedDisk, Task, TaskKind};
use crate::aged_images::Aged;
use crate::cell::Cell;
use crate::spec::Scale;
use bench::personality::{OperationKind, Personality, Plan, RunLength};
use disk::model::Model;
use fs::{Location, VolumeConfig};
use results::{Measurement, measures};
use run::SUBJECTS;
use run::age;
use run::aged_pair::{self, AgedPair, Subject, UnagedSide};
use run::personality::{PersonalityJob, QUANTILES, Repetition, bench_error, numbers};
use run::virtual_time::{self, Job, VirtualTimeSpec};
use run::{AgeSpec, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workload::Method;
use workload::profile::ByProfile;

/// Parameters of the personality and of the aging in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OnAged {
    /// The personality: a built-in name or a TOML file.
    personality: String,
    /// The profile for aging: a built-in name or a TOML file.
    profile: String,
    /// How the operations of the aging are chosen.
    method: Method,
    /// What the aged file system is compared with; published is an empty one (§9).
    unaged: UnagedSide,
    /// Fullness before the run, as a share of the capacity.
    fullness: f64,
    /// Factor for the number of files of the personality.
    scale: f64,
    /// Number of threads; by default that of the personality.
    threads: Option<u32>,
    /// Limit of dirty bytes in memory; by default the limit of the kernel, which a short run on few files never reaches.
    dirty_bytes: Option<u64>,
    /// Seconds per repetition.
    time_s: f64,
    /// The clock of the measurement.
    #[serde(skip_serializing_if = "Clock::is_wall")]
    clock: Clock,
}

/// The clock of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Clock {
    /// That of this machine.
    #[default]
    Wall,
    /// That of a machine that counts instructions; each repetition has another seed.
    Virtual,
}

impl Clock {
    fn is_wall(&self) -> bool {
        *self == Clock::Wall
    }
}

impl Default for OnAged {
    fn default() -> OnAged {
        OnAged {
            personality: "fileserver".to_owned(),
            profile: "agrawal".to_owned(),
            method: Method::Greedy,
            unaged: UnagedSide::Empty,
            fullness: 0.8,
            scale: 1.0,
            threads: None,
            dirty_bytes: None,
            time_s: 60.0,
            clock: Clock::Wall,
        }
    }
}

inventory::submit!(TaskKind::new::<OnAged>("personality", operation_measures));

/// The measures of kinds of operations.
fn operation_measures() -> Vec<String> {
    let of_kind = |kind: &OperationKind| {
        let kind = kind.name();
        let latency =
            |quantile: &&str| measures::LATENCY_US.of(&format!("{kind}_{quantile}")).name().to_owned();
        let mut names: Vec<String> = QUANTILES.iter().map(latency).collect();
        names.push(measures::OPERATION_PER_S.of(kind).name().to_owned());
        names
    };
    OperationKind::ALL.iter().flat_map(of_kind).collect()
}

impl Task for OnAged {
    fn check(&self, cell: &Cell, scale: &Scale) -> Result<(), Error> {
        if self.is_in_virtual_time() {
            virtual_time::check_size(scale.size_bytes, self.unaged)?;
        }
        self.check_on(scale.size_bytes, cell.seed)
    }

    fn parameters(&self, scale: &Scale, disks: &[NamedDisk]) -> Result<Value, Error> {
        if self.is_in_virtual_time() && !matches!(disks, [disk] if disk.model.costs_nothing()) {
            return Err(Error::Refused("clock = \"virtual\" needs disks = [\"ideal\"]".to_owned()));
        }
        let models: Vec<&Model> = disks.iter().map(|disk| &disk.model).collect();
        Ok(json!({
            "on_aged": self,
            "personality": self.personality()?,
            "profile": profile::load(&self.profile)?,
            "repeat": scale.repeat,
            "unaged": scale.unaged,
            "disks": models,
        }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_each(|at, round| Run { task: self, at }.measure(round))
    }

    fn method(&self, scale: &Scale) -> (&'static str, String) {
        let clock = match self.clock {
            Clock::Wall => "real: the modelled disks take their service times",
            Clock::Virtual => virtual_time::MEANING,
        };
        let runs = scale.repeat;
        ("Time", format!("{clock}; {runs} runs of each side, each on the unchanged file system"))
    }

    fn sides(&self) -> &'static [&'static str] {
        &SUBJECTS
    }

    fn is_in_virtual_time(&self) -> bool {
        self.clock == Clock::Virtual
    }
}

impl OnAged {
    /// Refuses what cannot run on a file system of this size.
    fn check_on(&self, size_bytes: u64, seed: u64) -> Result<(), Error> {
        if !(self.fullness > 0.0 && self.fullness < 1.0) {
            return Err(Error::Refused(format!("fullness = {} is not between 0 and 1", self.fullness)));
        }
        if !(self.time_s > 0.0 && self.time_s < 1e6) {
            return Err(Error::Refused(format!(
                "time_s = {} must be above 0 and below 1000000",
                self.time_s
            )));
        }
        if !(self.scale > 0.0 && self.scale <= 1000.0) {
            return Err(Error::Refused(format!("scale = {} must be above 0 and at most 1000", self.scale)));
        }
        profile::load(&self.profile)?;
        let needed = Plan::new(&self.personality()?, seed).map_err(bench_error)?.needed_bytes();
        let free = (size_bytes as f64 * (1.0 - self.fullness)) as u64;
        if needed > free {
            let (needed, free) = (input::bytes(needed), input::bytes(free));
            let why = format!("{} needs {needed} of free space, but only {free} are left", self.personality);
            return Err(Error::Refused(format!("{why}; use a smaller scale or fullness")));
        }
        Ok(())
    }

    /// The personality with the settings of the experiment.
    fn personality(&self) -> Result<Personality, Error> {
        let found = Personality::find(&self.personality).map_err(bench_error)?;
        let threads = self.threads.unwrap_or(found.threads);
        let personality = Personality { threads, ..found }.scaled(self.scale);
        let unsound = |why| Error::Refused(format!("personality {}: {why}", self.personality));
        personality.check().map_err(unsound).map(|()| personality)
    }
}

/// A file system to age, and to measure on each disk.
struct Run<'t, 'a> {
    task: &'t OnAged,
    at: &'t mut Measuring<'a>,
}

impl Run<'_, '_> {
    /// Ages the file system, and returns the measurements on all disks.
    fn measure(&mut self, round: u64) -> Result<Vec<Measurement>, Error> {
        let task = self.task;
        let images = &self.at.spec.aged_images;
        let aged = images.get(self.identity(round)?, || self.age(round))?;
        let length = RunLength::Time(Duration::from_secs_f64(task.time_s));
        let job = PersonalityJob {
            personality: task.personality()?,
            dirty_bytes: task.dirty_bytes,
            length,
            seed: self.at.cell.seed,
        };
        let mut measured = aged.measured.clone();
        let on = Subject::Aged { work: aged.images.path().to_owned(), name: aged.name.clone() };
        for disk in self.at.disks {
            let sides = match task.clock {
                Clock::Wall => self.in_wall_time(&job, &on, disk)?,
                Clock::Virtual => self.in_virtual_time(&job, &on)?,
            };
            for (side, runs) in sides {
                // The aged side without the other has no name.
                let side = if side.is_empty() { SUBJECTS[0] } else { &side };
                let repetitions = (1..).zip(&runs);
                measured.extend(
                    repetitions.flat_map(|(at, run)| numbers(run, side, at, Some(disk.model.name()))),
                );
            }
        }
        Ok(measured)
    }

    /// What the aged file system is measured beside.
    fn unaged(&self) -> Option<UnagedSide> {
        self.at.scale.unaged.then_some(self.task.unaged)
    }

    /// The repetitions of each side on a modelled disk.
    fn in_wall_time(
        &mut self,
        job: &PersonalityJob,
        on: &Subject,
        disk: &NamedDisk,
    ) -> Result<Vec<(String, Vec<Repetition>)>, Error> {
        let plan = Plan::new(&job.personality, job.seed).map_err(bench_error)?;
        let what = format!("{} on {}, {}", self.at.cell.name, disk.model.name(), job.personality.name);
        let pair_plan = aged_pair::Plan::benchmark(None, on, self.unaged(), Some(&disk.name));
        let repeat = self.at.scale.repeat;
        let each = |pair: &mut AgedPair| pair.each(&what, repeat, |turn| job.once(&plan, turn));
        let sides = aged_pair::measure(&pair_plan, self.at.watch, each)?.result;
        Ok(sides.into_iter().map(|(side, runs)| (side.to_owned(), runs)).collect())
    }

    /// The repetitions of each side in virtual time, each with another seed.
    fn in_virtual_time(
        &mut self,
        job: &PersonalityJob,
        on: &Subject,
    ) -> Result<Vec<(String, Vec<Repetition>)>, Error> {
        let repeat = self.at.scale.repeat;
        let spec = VirtualTimeSpec { seeds: repeat, ..VirtualTimeSpec::default() };
        let plan = virtual_time::Plan {
            spec: &spec,
            subject: on,
            run: None,
            unaged: self.unaged(),
            what: &format!("{}, {}", self.at.cell.name, job.personality.name),
            // No seed of another aging, whose number follows that of this one.
            seed: job.seed.wrapping_mul(repeat),
        };
        let one = |on, seed| Job::Personality { on, job: PersonalityJob { seed, ..job.clone() } };
        // The checkpoint is recorded when it is complete.
        let measured = virtual_time::measure(&plan, self.at.watch, one, |_, _, _, _, _| Ok(()))?;
        Ok(measured.measured.result)
    }

    /// What the aged file system of a round depends on.
    fn identity(&self, round: u64) -> Result<String, Error> {
        let OnAged { profile, method, fullness, clock, .. } = self.task;
        let volume = self.volume(Path::new(""))?;
        Ok(json!([volume, profile, method, fullness, clock, round, self.at.cell.seed]).to_string())
    }

    fn volume(&self, image: &Path) -> Result<VolumeConfig, Error> {
        self.at.cell.volume(self.at.scale.size_bytes, Location::Image(image.to_owned()), None)
    }

    /// Ages a file system in an image.
    fn age(&mut self, round: u64) -> Result<Aged, Error> {
        let (cell, images, name) = (self.at.cell, self.at.images()?, format!("round-{round}"));
        self.at.watch.phase(&format!("{}: aging", cell.name), None);
        let workload = ByProfile {
            profile: profile::load(&self.task.profile)?,
            method: self.task.method,
            fullness: Some(self.task.fullness),
            overwrites: Some(round as f64),
            churn: None,
        };
        let volume = self.volume(&images.path().join(format!("{name}.img")))?;
        let work = images.path().to_owned();
        let is_aged_here = self.task.clock.is_wall() || fs::can_mount(fs::find(&cell.fs)?);
        let reached = if is_aged_here {
            let spec =
                AgeSpec::new(&name, work, volume, Arc::new(workload), cell.seed, &self.at.spec.command);
            age(&spec, self.at.watch)?.profile.expect("it is aged by a profile")
        } else {
            virtual_time::age(&work, &name, &volume, workload, cell.seed)?
        };
        if let Some(first) = reached.failures.first() {
            return Err(Error::Failed(format!(
                "{} operations of the aging failed, so it is not aged as asked for: {}, first {}; use a larger file system or a lower fullness",
                reached.errors, first.error, first.first
            )));
        }
        let measured = [
            (measures::FULLNESS, reached.fullness),
            (measures::OVERWRITES, reached.overwrites),
            (measures::AGE_RMS_ERROR, reached.age_rms_error),
        ];
        let measured = measured.map(|(measure, value)| measure.once(SUBJECTS[0], value)).into();
        Ok(Aged { images, name, measured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_match_recorded_names() {
        for name in ["read_p999_us", "fsync_max_us", "create_per_s"] {
            assert!(operation_measures().iter().any(|known| known == name), "{name}");
        }
        for name in ["read_p98_us", "reads_per_s", "read_max", "read", "_per_s", "layout_score"] {
            assert!(!operation_measures().iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn impossible_parameters_are_refused_before_aging() {
        let small = OnAged { scale: 0.01, ..OnAged::default() };
        small.check_on(1 << 30, 1).unwrap();
        for (task, said) in [
            (OnAged::default(), "smaller scale"),
            (OnAged { fullness: 1.0, ..small.clone() }, "fullness"),
            (OnAged { time_s: 0.0, ..small.clone() }, "time_s"),
            (OnAged { scale: -1.0, ..small.clone() }, "scale"),
            (OnAged { personality: "nobody".to_owned(), ..small.clone() }, "nobody"),
            (OnAged { profile: "nobody".to_owned(), ..small.clone() }, "nobody"),
            (OnAged { threads: Some(0), ..small.clone() }, "threads"),
        ] {
            let error = task.check_on(1 << 30, 1).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
