//! Partial results: during a run, the store holds the outcome of the measurements so far.

use crate::Watch;
use std::time::{Duration, Instant};

/// The pause between two outcomes, in multiples of the time to compute one.
const PAUSE: u32 = 50;

/// A watch that computes the outcome again after a measurement, unless that would take a significant share of the time.
pub struct PartialResults<'w, F> {
    watch: &'w mut dyn Watch,
    compute: F,
    not_before: Instant,
}

impl<'w, F: FnMut()> PartialResults<'w, F> {
    /// Calls `compute` to compute the outcome.
    pub fn new(watch: &'w mut dyn Watch, compute: F) -> PartialResults<'w, F> {
        PartialResults { watch, compute, not_before: Instant::now() }
    }
}

impl<F: FnMut()> Watch for PartialResults<'_, F> {
    fn phase(&mut self, name: &str, total: Option<u64>) {
        self.watch.phase(name, total);
    }

    fn at(&mut self, done: u64) {
        self.watch.at(done);
    }

    fn steps(&mut self, done: u64, of: u64) {
        self.watch.steps(done, of);
    }

    fn measured(&mut self) {
        self.watch.measured();
        let begun = Instant::now();
        if begun < self.not_before {
            return;
        }
        (self.compute)();
        self.not_before = Instant::now() + begun.elapsed().min(Duration::from_secs(60)) * PAUSE;
    }

    fn say(&mut self, line: &str) {
        self.watch.say(line);
    }
}
