//! Short-lived data of programs: a cache that evicts its oldest files, and temporary files that are deleted
//! before the next snapshot.

use std::collections::VecDeque;

use super::{Actor, Step, Task, between, file_size};
use crate::random::Random;

/// Size limit of a file.
const LARGEST: u64 = 1 << 20;

pub(super) struct Cache {
    kept: VecDeque<(String, u64)>,
    bytes: u64,
    most_bytes: u64,
    temporary: Vec<String>,
    count: u64,
}

impl Cache {
    /// A cache of a sixteenth of the file system.
    pub fn new(size_bytes: u64) -> Cache {
        Cache {
            kept: VecDeque::new(),
            bytes: 0,
            most_bytes: size_bytes / 16,
            temporary: Vec::new(),
            count: 0,
        }
    }
}

impl Actor for Cache {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        (0..16).for_each(|n| task.push(Step::Mkdir(format!("cache/{n:x}"))));
        task.push(Step::Mkdir("tmp".to_owned()));
        task
    }

    fn next(&mut self, _: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        for _ in 0..between(random, 10, 60) {
            self.count += 1;
            let size = file_size(random, LARGEST);
            let path = format!("cache/{:x}/{:x}", random.below(16), self.count);
            task.create(&path, size);
            self.kept.push_back((path, size));
            self.bytes += size;
            while self.bytes > self.most_bytes
                && let Some((oldest, size)) = self.kept.pop_front()
            {
                task.remove(oldest);
                self.bytes -= size;
            }
            if random.unit() < 0.5 {
                self.count += 1;
                let path = format!("tmp/{:x}", self.count);
                task.create(&path, file_size(random, LARGEST));
                self.temporary.push(path);
            }
            // Most temporary files are deleted within the interval, before the file system allocates blocks
            // for them.
            if random.unit() < 0.4 && !self.temporary.is_empty() {
                task.remove(self.temporary.swap_remove(random.below(self.temporary.len())));
            }
        }
        task
    }

    fn night(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        self.temporary.drain(..).for_each(|path| task.remove(path));
        task
    }
}
