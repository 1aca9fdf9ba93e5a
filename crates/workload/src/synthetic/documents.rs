//! Documents: written, saved again, downloaded, and deleted when space is short.

use super::{Actor, Step, Task, between, file_size};
use crate::random::Random;

const LARGEST: u64 = 4 << 20;

pub(super) struct Documents {
    /// Paths of the existing documents.
    saved: Vec<String>,
    fetched: Vec<String>,
    count: u64,
}

impl Documents {
    pub fn new() -> Documents {
        Documents { saved: Vec::new(), fetched: Vec::new(), count: 0 }
    }
}

impl Actor for Documents {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        (0..12).for_each(|n| task.push(Step::Mkdir(format!("home/u{n}"))));
        task.push(Step::Mkdir("fetched".to_owned()));
        task
    }

    fn next(&mut self, is_full: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        if is_full {
            for _ in 0..between(random, 4, 12) {
                let from = if random.unit() < 0.6 { &mut self.fetched } else { &mut self.saved };
                if !from.is_empty() {
                    task.remove(from.swap_remove(random.below(from.len())));
                }
            }
            return task;
        }
        for _ in 0..between(random, 5, 30) {
            if random.unit() < 0.4 && !self.saved.is_empty() {
                let path = &self.saved[random.below(self.saved.len())];
                task.replace(path, file_size(random, LARGEST));
            } else {
                self.count += 1;
                let path = format!("home/u{}/{}.doc", random.below(12), self.count);
                task.create(&path, file_size(random, LARGEST));
                self.saved.push(path);
            }
        }
        for _ in 0..between(random, 2, 10) {
            self.count += 1;
            let path = format!("fetched/{}", self.count);
            task.create(&path, file_size(random, LARGEST));
            self.fetched.push(path);
        }
        task
    }
}
