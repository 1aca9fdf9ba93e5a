//! Partial results: while a run goes on, the store holds an outcome of what it has measured so far.

use crate::Watch;
use std::time::{Duration, Instant};

/// The pause between two outcomes, in multiples of the time that one takes to draw up.
const PAUSE: u32 = 50;

/// A watch that draws up the outcome again after a measurement, unless that would take a noticeable part of the time.
pub struct PartialResults<'w, F> {
    watch: &'w mut dyn Watch,
    draw_up: F,
    not_before: Instant,
}

impl<'w, F: FnMut()> PartialResults<'w, F> {
    /// Draws up the outcome by `draw_up`.
    pub fn new(watch: &'w mut dyn Watch, draw_up: F) -> PartialResults<'w, F> {
        PartialResults { watch, draw_up, not_before: Instant::now() }
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
        (self.draw_up)();
        self.not_before = Instant::now() + begun.elapsed().min(Duration::from_secs(60)) * PAUSE;
    }

    fn say(&mut self, line: &str) {
        self.watch.say(line);
    }
}
