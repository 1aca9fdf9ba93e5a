//! How exactly aging meets a profile (Kadekodi, Nagarajan and Gibson 2017, Figures 2 and 3 and Table 2): how much churn and time it takes
//! to approach a profile, and the free space that it leaves; with the profile of a naturally aged file system, beside that of the original.

mod free_space;

use super::{Measuring, NamedDisk, Rounds, Task, TaskKind};
use crate::cell::Cell;
use crate::spec::Scale;
use disk::Scratch;
use fs::{Location, Target};
use results::measures::{self, Measure};
use results::{Measurement, Watch};
use run::checkpoint::ONLY;
use run::{Error, site};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Instant;
use workload::profile::ProfileDriver;
use workload::{AgingStats, Conditions, Driver as _, Fit, Method, Segment, Terms};

/// Parameters of the aging in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProfileAccuracy {
    /// The profile. `nature` captures the profile of a file system aged by a synthetic workload.
    profile: String,
    /// How operations are chosen.
    method: Method,
    /// The meaning of a round.
    by: By,
    /// Share of the capacity in live files at the end; with `nature`, the share of the original.
    fullness: f64,
    /// Bytes created over capacity; without it the method decides.
    overwrites: Option<f64>,
    /// Days of the synthetic workload.
    days: u64,
}

impl Default for ProfileAccuracy {
    fn default() -> ProfileAccuracy {
        ProfileAccuracy {
            profile: "agrawal".to_owned(),
            method: Method::Planned,
            by: By::Operations,
            fullness: 0.8,
            overwrites: None,
            days: 10,
        }
    }
}

/// The meaning of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    /// The share of all operations of the aging, in percent.
    Operations,
    /// The age of files after the aging, in percent of the oldest age.
    Age,
    /// The lower bound of a class of free extent lengths, which ends below twice that length.
    FreeExtent,
    /// The size of a new file written to the free space.
    NewFile,
}

inventory::submit!(TaskKind::new::<ProfileAccuracy>("profile-accuracy", Vec::new));

/// Names the profile of a naturally aged file system.
const NATURE: &str = "nature";

/// The side of what a profile asks for.
const PROFILE: &str = "profile";

impl Task for ProfileAccuracy {
    fn check(&self, _cell: &Cell, scale: &Scale) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::Refused(why.to_owned()));
        let last = scale.last();
        match (self.by, self.profile == NATURE) {
            (By::Operations | By::Age, true) => {
                refuse("by = \"operations\" and by = \"age\" need a profile other than nature")
            }
            (By::Operations | By::Age, _) if last > 100 => {
                refuse("with by = \"operations\" and by = \"age\", rounds are percentages: use at most 100")
            }
            (_, true) => Ok(()),
            (_, false) => profile::load(&self.profile).map(drop).map_err(Error::from),
        }
    }

    fn parameters(&self, scale: &Scale, _disks: &[NamedDisk]) -> Result<Value, Error> {
        // All rounds belong to one aging.
        Ok(json!({ "profile": self, "rounds": scale.rounds }))
    }

    fn measure(&self, at: &mut Measuring) -> Result<(), Error> {
        at.record_all(|at| {
            let images = at.images()?;
            let mut run = Run { task: self, images, at };
            match self.by {
                By::Operations => run.convergence(),
                By::Age => run.ages(),
                By::FreeExtent | By::NewFile => run.free_space(),
            }
        })
    }

    fn method(&self, _scale: &Scale) -> (&'static str, String) {
        ("Measured", "the aging itself, or the free space it leaves; no scans".to_owned())
    }

    fn sides(&self) -> &'static [&'static str] {
        &[ONLY, free_space::SIDES[0], free_space::SIDES[1], free_space::SIDES[2], PROFILE]
    }
}

impl ProfileAccuracy {
    fn conditions(
        &self,
        profile: profile::Profile,
        capacity_bytes: u64,
        fullness: f64,
        seed: u64,
    ) -> Conditions {
        let (method, overwrites) = (self.method, self.overwrites);
        Conditions { method, profile, capacity_bytes, fullness, seed, overwrites, churn: None }
    }
}

/// An aging by a profile to measure.
struct Run<'t, 'a> {
    task: &'t ProfileAccuracy,
    /// Directory for the file systems.
    images: Scratch,
    at: &'t mut Measuring<'a>,
}

impl Run<'_, '_> {
    /// The distance from the profile, the churn and the time after each share of the operations.
    fn convergence(&mut self) -> Result<Rounds, Error> {
        let rounds = self.at.scale.rounds.clone();
        let states = self.age(&rounds)?;
        Ok(rounds.into_iter().zip(states.iter().map(State::numbers)).collect())
    }

    /// The ages of all files after the aging beside those of the profile; and its other numbers, which are the same for all ages.
    fn ages(&mut self) -> Result<Rounds, Error> {
        let ages = profile::load(&self.task.profile)?.age.upper;
        let end = self.age(&[100])?.pop().expect("one share has one state");
        let of_age = |&percent: &u64| {
            let mut numbers = end.numbers();
            numbers.extend(age_shares(&ages, &end.reached.age, percent));
            (percent, numbers)
        };
        Ok(self.at.scale.rounds.iter().map(of_age).collect())
    }

    /// Ages a fresh file system, and returns its states after these shares of the operations, in percent.
    fn age(&mut self, percents: &[u64]) -> Result<Vec<State>, Error> {
        let task = self.task;
        let profile = profile::load(&task.profile)?;
        let conditions = task.conditions(profile, self.at.scale.size_bytes, task.fullness, self.at.cell.seed);
        let mut aging = Aging::begin(&conditions)?;
        let target = self.fresh("aged", Some(aging.inodes))?;
        let mut states = Vec::new();
        for &percent in percents {
            self.at.watch.phase(&format!("{}: {percent} % of the operations", self.at.identity.name), None);
            let reached = aging.advance(target.as_ref(), percent, self.at.watch)?;
            let minutes_per_gib =
                aging.replay_s / 60.0 / (self.at.scale.size_bytes as f64 / (1_u64 << 30) as f64);
            states.push(State { reached, bound_overwrites: aging.bound_overwrites, minutes_per_gib });
        }
        target.close()?;
        self.discard("aged")?;
        Ok(states)
    }

    /// Creates a fresh file system with space for `inodes` files and directories.
    fn fresh(&self, side: &str, inodes: Option<u64>) -> Result<Box<dyn Target>, Error> {
        let location = Location::Image(self.image(side));
        let mut volume = self.at.cell.volume(self.at.scale.size_bytes, location, inodes)?;
        Ok(fs::make(self.at.session, &mut volume, None)?)
    }

    fn image(&self, side: &str) -> std::path::PathBuf {
        self.images.path().join(format!("{side}.img"))
    }

    fn discard(&self, side: &str) -> Result<(), Error> {
        let image = self.image(side);
        std::fs::remove_file(&image).map_err(Error::io("removing", &image))
    }
}

/// The shares of the files whose age is at most `percent` of the oldest: reached, and in the profile. `ages` are the upper edges of its bins.
fn age_shares(ages: &[f64], fit: &Fit, percent: u64) -> [Measurement; 2] {
    let oldest = ages.last().copied().unwrap_or(1.0);
    let bins = ages.partition_point(|age| age / oldest <= percent as f64 / 100.0);
    let reached = (0..bins).map(|bin| fit.actual_share(bin)).sum();
    [
        measures::AGE_SHARE.once(free_space::SIDES[2], reached),
        measures::AGE_SHARE.once(PROFILE, fit.target[..bins].iter().sum()),
    ]
}

/// The state of an aging after a share of its operations.
struct State {
    reached: AgingStats,
    bound_overwrites: f64,
    minutes_per_gib: f64,
}

impl State {
    fn numbers(&self) -> Vec<Measurement> {
        let State { reached, bound_overwrites, minutes_per_gib } = self;
        let one = |measure: Measure, value| measure.once(ONLY, value);
        vec![
            one(measures::FULLNESS, reached.fullness),
            one(measures::OVERWRITES, reached.overwrites),
            one(measures::BOUND_OVERWRITES, *bound_overwrites),
            one(measures::OVERWRITES_OVER_BOUND, reached.overwrites / bound_overwrites),
            one(measures::AGING_OPERATIONS, reached.operations as f64),
            one(measures::AGE_RMS_ERROR, reached.age.rms_error()),
            one(measures::SIZE_RMS_ERROR, reached.size.rms_error()),
            one(measures::DEPTH_RMS_ERROR, reached.depth.rms_error()),
            one(measures::FIT_P_VALUE, reached.p_value()),
            one(measures::AGING_MINUTES_PER_GIB, *minutes_per_gib),
        ]
    }
}

/// An aging in progress, in percent of its operations. Uses one thread, because the order of writes determines the layout.
struct Aging {
    driver: ProfileDriver,
    bound_overwrites: f64,
    /// Files and directories at the end, plus a reserve for temporary ones.
    inodes: u64,
    /// Seconds spent on planning and applying operations.
    replay_s: f64,
}

impl Aging {
    fn begin(conditions: &Conditions) -> Result<Aging, Error> {
        let start = Instant::now();
        let segment = Segment { conditions: conditions.clone(), done: 0 };
        let driver = ProfileDriver::new(vec![segment], 0, &Terms::default(), results::TOOL)?;
        let plan = driver.plan().expect("a profile is planned");
        Ok(Aging {
            bound_overwrites: plan.bound_overwrites,
            inodes: plan.live_files + plan.live_files / 4 + plan.directories,
            driver,
            replay_s: start.elapsed().as_secs_f64(),
        })
    }

    /// Applies the operations up to `percent`.
    fn advance(
        &mut self,
        target: &dyn Target,
        percent: u64,
        watch: &mut dyn Watch,
    ) -> Result<AgingStats, Error> {
        let start = Instant::now();
        site::advance(&mut self.driver, target, percent, watch)?;
        if let Some(first) = self.driver.failures().first() {
            let failures: u64 = self.driver.failures().iter().map(|failure| failure.count).sum();
            return Err(Error::Failed(format!(
                "{failures} operations of the aging failed: {}, first {}",
                first.error, first.first
            )));
        }
        self.replay_s += start.elapsed().as_secs_f64();
        Ok(self.driver.stats())
    }
}
