//! Logs: several programs append lines concurrently; logs are rotated at the end of each day, compressed and
//! finally removed.

use super::{Actor, Step, Task, between};
use crate::random::Random;

const LOGS: usize = 8;

/// Compressed logs to keep.
const KEPT: usize = 5;

/// Compression ratio.
const PRESSED: u64 = 8;

pub(super) struct Logs {
    bytes: [u64; LOGS],
    /// Sizes of the logs that the last rotation renamed; the next one compresses them, as with logrotate's
    /// `delaycompress`.
    aside: [u64; LOGS],
    pressed: Vec<usize>,
    pieces: u64,
}

impl Logs {
    pub fn new(size_bytes: u64) -> Logs {
        Logs {
            bytes: [0; LOGS],
            aside: [0; LOGS],
            pressed: vec![0; LOGS],
            pieces: (size_bytes >> 23).clamp(4, 128),
        }
    }
}

fn path(log: usize) -> String {
    format!("log/{log}.log")
}

impl Actor for Logs {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        task.push(Step::Mkdir("log".to_owned()));
        task
    }

    fn next(&mut self, _: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        for _ in 0..self.pieces {
            // Some programs log far more than others.
            let log = random.below(LOGS).min(random.below(LOGS));
            let len = between(random, 500, 12_000);
            task.push(Step::Append(path(log), len));
            self.bytes[log] += len;
            if random.unit() < 0.05 {
                task.push(Step::Fsync(path(log)));
            }
        }
        task
    }

    fn night(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        for log in 0..LOGS {
            if self.bytes[log] == 0 {
                continue;
            }
            let aside = format!("log/{log}.log.1");
            if self.aside[log] > 0 {
                self.press(log, &aside, &mut task);
            }
            task.push(Step::Rename(path(log), aside));
            self.aside[log] = std::mem::take(&mut self.bytes[log]);
        }
        task
    }
}

impl Logs {
    /// Compresses a rotated log, and shifts the older compressed ones.
    fn press(&mut self, log: usize, aside: &str, task: &mut Task) {
        let gz = |age: usize| format!("log/{log}.log.{age}.gz");
        let oldest = self.pressed[log] + 1;
        if oldest > KEPT {
            task.remove(gz(oldest));
            self.pressed[log] -= 1;
        }
        for age in (2..=self.pressed[log] + 1).rev() {
            task.push(Step::Rename(gz(age), gz(age + 1)));
        }
        task.create(&gz(2), self.aside[log] / PRESSED + 1);
        task.remove(aside.to_owned());
        self.pressed[log] += 1;
    }
}
