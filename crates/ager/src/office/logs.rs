//! Logs: written line by line by several programs at once, set aside in the night, pressed and at last removed.

use super::{Step, Task, Trade, between};
use crate::random::Random;

const LOGS: usize = 8;

/// A pressed log is kept so many days.
const KEPT: usize = 5;

/// Of a log is left, pressed, one part in so many.
const PRESSED: u64 = 8;

pub(super) struct Logs {
    bytes: [u64; LOGS],
    pressed: Vec<usize>,
    pieces: u64,
}

impl Logs {
    pub fn new(size_bytes: u64) -> Logs {
        Logs { bytes: [0; LOGS], pressed: vec![0; LOGS], pieces: (size_bytes >> 23).clamp(4, 128) }
    }
}

fn path(log: usize) -> String {
    format!("log/{log}.log")
}

impl Trade for Logs {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        task.push(Step::Mkdir("log".to_owned()));
        task
    }

    fn next(&mut self, _: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        for _ in 0..self.pieces {
            // Some programs have much more to say than others.
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
            let gz = |age: usize| format!("log/{log}.log.{age}.gz");
            if self.pressed[log] == KEPT {
                task.remove(gz(KEPT));
                self.pressed[log] -= 1;
            }
            for age in (1..=self.pressed[log]).rev() {
                task.push(Step::Rename(gz(age), gz(age + 1)));
            }
            let aside = format!("log/{log}.log.1");
            task.push(Step::Rename(path(log), aside.clone()));
            task.create(&gz(1), self.bytes[log] / PRESSED + 1);
            task.remove(aside);
            self.pressed[log] += 1;
            self.bytes[log] = 0;
        }
        task
    }
}
