//! Aging by profiles in experiments (Kadekodi, Nagarajan and Gibson 2017, Figures 2, 3 and 7 and Table 2): how much churn and time it
//! takes to come near a profile, and how the free space of a file system that was aged to the profile of a naturally aged one
//! lies beside that one's.

mod nature;

use super::cell::Cell;
use super::outcome::ONLY;
use super::spec::Scale;
use crate::Error;
use crate::age::make_target;
use crate::feed::Feed;
use crate::manifest::Home;
use crate::series::Identity;
use crate::workload::interrupted;
use ager::{Conditions, Method, Reached};
use disk::Session;
use fs::Target;
use replay::{Flow, Options, Replay};
use results::measures::{self, Measure};
use results::{Measurement, Store, Watch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use trace::{Source as _, TraceDigest};

pub(super) use nature::SIDES;

/// What is aged, as an experiment names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profiled {
    /// The profile. `nature` captures that of a file system that an office has worked on.
    pub profile: String,
    /// How operations are chosen.
    pub method: Method,
    /// What a round is.
    pub by: By,
    /// Share of the capacity that live files take in the end; of `nature` as much as in nature.
    pub fullness: f64,
    /// Bytes created over capacity; what the method takes by itself if it is not given.
    pub overwrites: Option<f64>,
    /// Days that the office works.
    pub days: u64,
}

impl Default for Profiled {
    fn default() -> Profiled {
        Profiled {
            profile: "agrawal".to_owned(),
            method: Method::Planned,
            by: By::Operations,
            fullness: 0.8,
            overwrites: None,
            days: 10,
        }
    }
}

/// What a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The share of all operations of the aging, in percent.
    Operations,
    /// The least length of a class of free extents, which ends below its double.
    FreeExtent,
    /// The size of a file that is written into what is free.
    NewFile,
}

/// The kind of workload that this is in an experiment's file.
pub(super) const KIND: &str = "profile";

/// The profile of a file system that was not aged by one.
const NATURE: &str = "nature";

impl Profiled {
    /// Refuses what cannot be carried out.
    pub(super) fn check(&self, rounds: &[u64]) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::Refused(why.to_owned()));
        let last = *rounds.last().expect("a scale has a round");
        match (self.by, self.profile == NATURE) {
            (By::Operations, true) => refuse("by = \"operations\" needs a profile other than nature"),
            (By::Operations, _) if last > 100 => {
                refuse("with by = \"operations\", rounds are percentages of the operations: use at most 100")
            }
            (By::FreeExtent | By::NewFile, false) => {
                refuse("free extents need a real file system to compare with: use profile = \"nature\"")
            }
            (_, true) => Ok(()),
            (_, false) => profile::load(&self.profile).map(drop).map_err(Error::from),
        }
    }

    fn conditions(
        &self,
        profile: profile::Profile,
        capacity_bytes: u64,
        fullness: f64,
        seed: u64,
    ) -> Conditions {
        let (method, overwrites) = (self.method, self.overwrites);
        Conditions { method, profile, capacity_bytes, fullness, seed, overwrites }
    }
}

/// An aging by a profile, to be measured.
pub(super) struct Profiling<'a> {
    pub cell: &'a Cell<Profiled>,
    pub scale: &'a Scale,
    pub store: &'a Store,
    pub session: &'a Arc<Session>,
    pub identity: &'a Identity,
    /// The full command line, for the record.
    pub command: &'a str,
    /// Where file systems are made.
    pub images: &'a Path,
    pub watch: &'a mut dyn Watch,
}

/// What was measured, by round.
type Found = BTreeMap<u64, Vec<Measurement>>;

impl Profiling<'_> {
    /// Measures all rounds, unless they are in the store.
    pub fn run(&mut self) -> Result<(), Error> {
        let rounds = &self.scale.rounds;
        if self.identity.has_all(self.store, rounds)? {
            return Ok(());
        }
        let found = match self.cell.task.by {
            By::Operations => self.convergence()?,
            By::FreeExtent | By::NewFile => self.beside_nature()?,
        };
        for (round, numbers) in found {
            self.identity.record(self.store, round, (self.command, self.cell.seed), &numbers)?;
        }
        Ok(())
    }

    /// How near the aging has come to the profile after each share of its operations, with what churn, and in what time.
    fn convergence(&mut self) -> Result<Found, Error> {
        let task = &self.cell.task;
        let profile = profile::load(&task.profile)?;
        let conditions = task.conditions(profile, self.scale.size_bytes, task.fullness, self.cell.seed);
        let mut aging = Aging::begin(&conditions)?;
        let target = self.fresh("aged", aging.inodes())?;
        let mut found = Found::new();
        for &round in &self.scale.rounds {
            self.watch.phase(&format!("{}: {round} % of the operations", self.identity.name), None);
            let reached = aging.advance(target.as_ref(), round, self.watch)?;
            let minutes = aging.replay_s / 60.0 / (self.scale.size_bytes as f64 / (1_u64 << 30) as f64);
            found.insert(round, numbers(&reached, aging.bound_overwrites, minutes));
        }
        target.close()?;
        self.discard("aged")?;
        Ok(found)
    }

    /// A fresh file system for so many files and directories.
    fn fresh(&self, side: &str, inodes: Option<u64>) -> Result<Box<dyn Target>, Error> {
        let home = Home::Image(self.image(side));
        let mut made = self.cell.made(self.scale.size_bytes, home, inodes)?;
        make_target(self.session, &mut made, None)
    }

    fn image(&self, side: &str) -> std::path::PathBuf {
        self.images.join(format!("{side}.img"))
    }

    fn discard(&self, side: &str) -> Result<(), Error> {
        let image = self.image(side);
        std::fs::remove_file(&image).map_err(Error::io("removing", &image))
    }
}

fn numbers(reached: &Reached, bound: f64, minutes: f64) -> Vec<Measurement> {
    let one = |measure: Measure, value| measure.once(ONLY, value);
    vec![
        one(measures::OVERWRITES, reached.overwrites),
        one(measures::BOUND_OVERWRITES, bound),
        one(measures::OVERWRITES_OVER_BOUND, reached.overwrites / bound),
        one(measures::AGING_OPERATIONS, reached.operations as f64),
        one(measures::AGE_RMS_ERROR, reached.age.rms_error()),
        one(measures::SIZE_RMS_ERROR, reached.size.rms_error()),
        one(measures::DEPTH_RMS_ERROR, reached.depth.rms_error()),
        one(measures::FIT_P_VALUE, reached.p_value()),
        one(measures::AGING_MINUTES_PER_GIB, minutes),
    ]
}

/// An aging on its way, in percents of its operations.
struct Aging {
    ager: Option<Box<dyn ager::Ager>>,
    digest: TraceDigest,
    seed: u64,
    bound_overwrites: f64,
    /// Operations given out, directories included.
    passed: u64,
    /// What has been planned of them and applied, in seconds.
    replay_s: f64,
}

impl Aging {
    fn begin(conditions: &Conditions) -> Result<Aging, Error> {
        let start = Instant::now();
        let ager = ager::begin(conditions)?;
        let bound_overwrites = ager.plan().bound_overwrites;
        Ok(Aging {
            ager: Some(ager),
            digest: TraceDigest::new(),
            seed: conditions.seed,
            bound_overwrites,
            passed: 0,
            replay_s: start.elapsed().as_secs_f64(),
        })
    }

    /// The files and directories that there are in the end, and what comes and goes beside them.
    fn inodes(&self) -> Option<u64> {
        let plan = self.ager.as_ref()?.plan();
        Some(plan.live_files + plan.live_files / 4 + plan.directories)
    }

    /// Applies all up to this share of the operations. By one thread, as the order of writes is the layout.
    fn advance(
        &mut self,
        target: &dyn Target,
        percent: u64,
        watch: &mut dyn Watch,
    ) -> Result<Reached, Error> {
        let start = Instant::now();
        let kind = fs::find(target.kind_name()).ok();
        let block_bytes = target.block_bytes();
        let options = Options {
            seed: self.seed,
            inline_limit_bytes: kind.map_or(0, |kind| kind.inline_limit_bytes()),
            grouped_limit_bytes: kind.map_or(0, |kind| kind.grouped_limit_bytes(block_bytes)),
            ..Options::default()
        };
        let ager = self.ager.take().expect("it is put back");
        let all = self.passed + ager.remaining().unwrap_or(u64::MAX / 200);
        let mut feed = Feed::new(ager, &mut self.digest, None);
        // The published method tells how many there are only on its way.
        feed.allow(if percent == 100 { u64::MAX } else { (all * percent / 100).saturating_sub(self.passed) });
        let mut replay = Replay::posix(target.root(), &options)?;
        replay.run(&mut feed, None, &mut |progress| {
            watch.at(progress.operations);
            if disk::interrupted() { Flow::Stop } else { Flow::Go }
        })?;
        if disk::interrupted() {
            return Err(interrupted());
        }
        let failures: u64 = replay.errors().iter().map(|failure| failure.count).sum();
        if let Some(first) = replay.errors().first() {
            return Err(Error::Failed(format!(
                "{failures} operations of the aging failed: {}, first {}",
                first.error, first.first
            )));
        }
        replay.close();
        target.settle()?;
        self.passed += feed.passed;
        let reached = feed.ager.reached();
        self.ager = Some(feed.ager);
        self.replay_s += start.elapsed().as_secs_f64();
        Ok(reached)
    }
}
