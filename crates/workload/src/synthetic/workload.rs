//! The synthetic workload as one that ages a file system. A round is a day; day 0 is the initial filling.

use super::{SyntheticOptions, SyntheticWorkload};
use crate::{Driver, Error, Site, Start, Workload};
use serde::{Deserialize, Serialize};

/// A synthetic workload of an office.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    /// Number of concurrent tasks.
    pub concurrency: usize,
    /// Work intervals per day and GiB of the file system.
    pub intervals: u64,
    /// The share of the file system in use after two thirds of the days.
    pub fullness: f64,
}

impl Default for Synthetic {
    fn default() -> Synthetic {
        Synthetic { concurrency: 5, intervals: 120, fullness: 0.85 }
    }
}

#[typetag::serde(name = "synthetic")]
impl Workload for Synthetic {
    fn check(&self, _seed: u64, _rounds: &[u64]) -> Result<(), Error> {
        if self.concurrency == 0 || self.intervals == 0 {
            return Err(Error::Refused("concurrency and intervals must not be 0".to_owned()));
        }
        if !(self.fullness > 0.0 && self.fullness < 1.0) {
            return Err(Error::Refused(format!("fullness = {} is not between 0 and 1", self.fullness)));
        }
        Ok(())
    }

    fn start(&self, start: &Start) -> Result<Box<dyn Driver>, Error> {
        let options = SyntheticOptions {
            size_bytes: start.volume.size_bytes,
            days: start.last_round,
            concurrency: self.concurrency,
            intervals: self.intervals,
            fullness: self.fullness,
            seed: start.seed,
        };
        Ok(Box::new(Days { options, workload: None, next_day: 0 }))
    }

    fn default_last_round(&self) -> Option<u64> {
        Some(10)
    }
}

/// A synthetic workload in progress.
struct Days {
    options: SyntheticOptions,
    workload: Option<SyntheticWorkload>,
    next_day: u64,
}

impl Driver for Days {
    fn advance(&mut self, site: &mut Site, round: u64) -> Result<(), Error> {
        let workload =
            self.workload.get_or_insert_with(|| SyntheticWorkload::new(site.target.root(), self.options));
        while self.next_day <= round {
            let day = self.next_day;
            workload.run_day(&mut |done, of| site.observer.at(day * 100 + done * 100 / of.max(1)))?;
            self.next_day += 1;
        }
        Ok(())
    }
}
