//! Planning without a file system.

use super::feed::{Feed, trace_writer};
use super::outcome::ProfileOutcome;
use crate::{Conditions, Error, Observer, Plan, Segment, Terms};
use trace::Source as _;

/// A planned aging that is not applied.
pub struct DryRun {
    conditions: Conditions,
    feed: Feed,
    plan: Plan,
}

impl DryRun {
    /// Plans an aging. Creates nothing except the trace, if one is requested.
    pub fn new(conditions: &Conditions, terms: &Terms, tool: &str) -> Result<DryRun, Error> {
        let writer =
            terms.save_trace.as_ref().map(|path| trace_writer(path, conditions, tool)).transpose()?;
        let conditions = conditions.clone();
        let feed = Feed::last_of(&[Segment { conditions: conditions.clone(), done: 0 }], writer)?;
        let plan = feed.planner.plan().clone();
        Ok(DryRun { conditions, feed, plan })
    }

    /// What is known before the first operation.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Generates all operations. Returns what they would reach, and the operations planned per second, excluding their digest.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<(ProfileOutcome, f64), Error> {
        observer.phase("planning", self.feed.remaining());
        self.feed.allow(u64::MAX);
        let mut batch = Vec::new();
        loop {
            self.feed.next_batch(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            observer.at(self.feed.passed);
            if disk::interrupted() {
                return Err(Error::Interrupted);
            }
        }
        let operations_per_s = self.feed.passed as f64 / self.feed.planning.as_secs_f64();
        let stats = self.feed.planner.stats();
        let sha256 = self.feed.finish()?;
        Ok((ProfileOutcome::planned(self.plan, stats, &self.conditions, sha256), operations_per_s))
    }
}
