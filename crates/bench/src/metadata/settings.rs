//! The settings of a run, under the names of md-workbench where it has them.

use super::contents::SizeDistribution;
use super::error::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a run, the same for all ranks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Data sets per rank.
    pub data_sets: u32,
    /// Objects created in each data set before the benchmark phase.
    pub precreate: u64,
    /// Objects that a rank processes per data set in one repeat of the benchmark phase.
    pub iterations: u64,
    /// Repeats of the benchmark phase.
    pub repeats: u32,
    /// The size distribution of objects.
    pub object_size: SizeDistribution,
    /// Rank distance between writer and reader, per data set.
    pub offset: u32,
    /// The number of the first object, for runs that continue others.
    pub start_item: u64,
    /// Time limit of a benchmark phase, if any.
    pub stonewall: Option<Stonewall>,
    /// The wait after each operation of the benchmark phase.
    pub waiting: WaitingFactor,
    /// Whether the benchmark phase only stats and reads.
    pub read_only: bool,
    /// Whether the benchmark phase writes an object before it stats, reads and deletes another, the order that the report lists (section 1),
    /// instead of after it, as md-workbench does.
    #[serde(default)]
    pub write_first: bool,
    /// Whether the precreate phase fills one data set after the other, as MD-REAL-IO did until November 2017 (commit 8049faa of the report,
    /// changed by 320f275), instead of all in turn, as md-workbench does.
    #[serde(default)]
    pub set_by_set: bool,
    /// Whether errors of the precreate phase are only counted instead of ending the run.
    pub ignore_precreate_errors: bool,
    /// Whether the data read is compared with the data written.
    pub verify: bool,
    /// The phases to run.
    pub phases: Phases,
    /// The seed of the contents and sizes of objects.
    pub seed: u64,
    /// The file for every latency, if requested.
    #[serde(default)]
    pub latencies: Option<PathBuf>,
}

impl Default for Settings {
    /// The settings of the 2016 report (section 2.2): ten data sets, 3,000 objects of 3,900 bytes in each, 1,000 iterations.
    fn default() -> Settings {
        Settings {
            data_sets: 10,
            precreate: 3_000,
            iterations: 1_000,
            repeats: 3,
            object_size: SizeDistribution::Fixed(3_900),
            offset: 1,
            start_item: 0,
            stonewall: None,
            waiting: WaitingFactor::None,
            read_only: false,
            write_first: false,
            set_by_set: false,
            ignore_precreate_errors: false,
            verify: true,
            phases: Phases::default(),
            seed: 42,
            latencies: None,
        }
    }
}

/// The end of a benchmark phase before all its iterations are done.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stonewall {
    /// After this time no rank starts another iteration …
    pub after: Duration,
    /// … except to reach the iterations of the rank with the most.
    pub wear_out: bool,
}

/// The wait after each operation of the benchmark phase, as a fraction of its duration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitingFactor {
    /// No wait.
    None,
    /// A fixed fraction.
    Fixed(f64),
    /// No wait, then 1/16, 1/8 … 4, one repeat of the benchmark phase after another.
    Adaptive,
}

impl WaitingFactor {
    /// The fractions of the benchmark phases of one repeat.
    pub fn factors(self) -> Vec<f64> {
        match self {
            WaitingFactor::None => vec![0.0],
            WaitingFactor::Fixed(factor) => vec![factor],
            WaitingFactor::Adaptive => {
                std::iter::once(0.0).chain((0..7).map(|n| f64::from(1 << n) / 16.0)).collect()
            }
        }
    }
}

/// A phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Creates data sets and their first objects.
    Precreate,
    /// Stats, reads and deletes objects, and writes new ones.
    Benchmark,
    /// Deletes all objects and data sets.
    Cleanup,
}

impl Phase {
    /// The name in published results.
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
    /// The precreate phase.
    pub precreate: bool,
    /// The benchmark phase.
    pub benchmark: bool,
    /// The cleanup phase.
    pub cleanup: bool,
}

impl Default for Phases {
    fn default() -> Phases {
        Phases { precreate: true, benchmark: true, cleanup: true }
    }
}

impl Settings {
    /// Returns an error for impossible settings.
    pub fn check(&self, ranks: u32) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Settings(why));
        if ranks == 0 || self.data_sets == 0 {
            return refuse("a run needs at least one rank and one data set".to_owned());
        }
        if let Err(why) = self.object_size.check() {
            return refuse(why);
        }
        if let WaitingFactor::Fixed(factor) = self.waiting
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
            // Ranks are not synchronized: a rank that is ahead would read objects that another has not created yet.
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
