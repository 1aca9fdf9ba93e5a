//! What a run of the benchmark is asked to be. The words are those of md-workbench where it has them.

use super::contents::Sizes;
use super::error::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What a run is asked to be. All ranks have the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Data sets of each rank.
    pub data_sets: u32,
    /// Objects made in each data set before the benchmark phase.
    pub precreate: u64,
    /// Objects that a rank goes through in each data set in one repeat of the benchmark phase.
    pub iterations: u64,
    /// How often the benchmark phase is repeated.
    pub repeats: u32,
    /// How large objects are.
    pub object_size: Sizes,
    /// How many ranks lie between who writes and who reads, for each data set.
    pub offset: u32,
    /// The number of the first object, for runs that go on where others ended.
    pub start_item: u64,
    /// Ends a benchmark phase after some time.
    pub stonewall: Option<Stonewall>,
    /// Waiting after each operation of the benchmark phase.
    pub waiting: Waiting,
    /// Whether the benchmark phase only stats and reads.
    pub read_only: bool,
    /// Whether errors of the precreate phase are counted only, instead of ending the run.
    pub ignore_precreate_errors: bool,
    /// Whether what is read is compared with what was written.
    pub verify: bool,
    /// The phases to run.
    pub phases: Phases,
    /// What the contents and sizes of objects follow from.
    pub seed: u64,
    /// The file that every latency is kept in, if it is to be.
    #[serde(default)]
    pub latencies: Option<PathBuf>,
}

impl Default for Settings {
    /// The settings of the report of 2016 (section 3): ten data sets, 3,000 objects of 3,900 bytes in each, 1,000 iterations.
    fn default() -> Settings {
        Settings {
            data_sets: 10,
            precreate: 3_000,
            iterations: 1_000,
            repeats: 3,
            object_size: Sizes::Fixed(3_900),
            offset: 1,
            start_item: 0,
            stonewall: None,
            waiting: Waiting::None,
            read_only: false,
            ignore_precreate_errors: false,
            verify: true,
            phases: Phases::default(),
            seed: 42,
            latencies: None,
        }
    }
}

/// When a benchmark phase ends before its iterations are done.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stonewall {
    /// After this time no rank begins another iteration …
    pub after: Duration,
    /// … except to do as many as the rank that did most.
    pub wear_out: bool,
}

/// Waiting after each operation of the benchmark phase, as a share of what the operation took.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// None.
    None,
    /// This share.
    Fixed(f64),
    /// None, and then each of 1/16, 1/8 … 4, one repeat of the benchmark phase after another.
    Adaptive,
}

impl Waiting {
    /// The shares of the benchmark phases that make up one repeat.
    pub fn factors(self) -> Vec<f64> {
        match self {
            Waiting::None => vec![0.0],
            Waiting::Fixed(factor) => vec![factor],
            Waiting::Adaptive => {
                std::iter::once(0.0).chain((0..7).map(|n| f64::from(1 << n) / 16.0)).collect()
            }
        }
    }
}

/// A phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Data sets and their first objects are made.
    Precreate,
    /// Objects are looked at, read, deleted, and new ones written.
    Benchmark,
    /// All objects and data sets are deleted.
    Cleanup,
}

impl Phase {
    /// Its published name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Precreate => "precreate",
            Phase::Benchmark => "benchmark",
            Phase::Cleanup => "cleanup",
        }
    }
}

/// Which phases run, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Phases {
    /// The first.
    pub precreate: bool,
    /// The second.
    pub benchmark: bool,
    /// The last.
    pub cleanup: bool,
}

impl Default for Phases {
    fn default() -> Phases {
        Phases { precreate: true, benchmark: true, cleanup: true }
    }
}

impl Settings {
    /// Refuses settings that no run could have.
    pub fn check(&self, ranks: u32) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Settings(why));
        if ranks == 0 || self.data_sets == 0 {
            return refuse("a run needs at least one rank and one data set".to_owned());
        }
        if let Err(why) = self.object_size.check() {
            return refuse(why);
        }
        if let Waiting::Fixed(factor) = self.waiting
            && !(factor >= 0.0 && factor.is_finite())
        {
            return refuse(format!("{factor} is not a valid waiting factor"));
        }
        let phases = self.waiting.factors().len() as u64 * u64::from(self.repeats);
        let items = self.iterations.checked_mul(phases).and_then(|n| n.checked_add(self.precreate));
        let all = items.and_then(|n| n.checked_mul(u64::from(self.data_sets) * u64::from(ranks)));
        if all.and_then(|n| n.checked_add(self.start_item)).is_none_or(|n| n > 1 << 62) {
            return refuse("too many objects to number; use fewer".to_owned());
        }
        if self.phases.benchmark && self.iterations > self.precreate && !self.read_only {
            // Ranks are not held in step: one that is ahead would look for what another has not made yet.
            return refuse(format!(
                "{} iterations exceed the {} objects of a data set, so a rank could read an object before it \
                 exists; use fewer",
                self.iterations, self.precreate
            ));
        }
        if self.phases.benchmark && self.read_only && self.iterations > self.precreate {
            return refuse(format!(
                "only {} objects of a data set can be read, not {}",
                self.precreate, self.iterations
            ));
        }
        Ok(())
    }
}
