//! Outcomes that grow: while an experiment runs, what it has measured so far is in the store as if that were all.

use crate::Watch;
use std::time::{Duration, Instant};

/// How many times longer than it takes to draw up an outcome one waits until the next.
const PAUSE: u32 = 50;

/// A watch that draws up the outcome anew when something was measured, unless that would take a noticeable part of the time.
pub(crate) struct Growing<'w, F> {
    watch: &'w mut dyn Watch,
    draw_up: F,
    not_before: Instant,
}

impl<'w, F: FnMut()> Growing<'w, F> {
    pub fn new(watch: &'w mut dyn Watch, draw_up: F) -> Growing<'w, F> {
        Growing { watch, draw_up, not_before: Instant::now() }
    }
}

impl<F: FnMut()> Watch for Growing<'_, F> {
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
