//! A database that syncs each transaction: it writes and removes a journal, overwrites pages in place, and
//! occasionally adds pages.

use super::{Actor, Step, Task, between};
use crate::random::Random;

const PAGE: u64 = 4096;

pub(super) struct Database {
    /// Number of pages of each file.
    pages: Vec<u64>,
    first_pages: u64,
}

impl Database {
    /// A database that initially occupies an eightieth of the file system.
    pub fn new(size_bytes: u64) -> Database {
        Database { pages: vec![0; 4], first_pages: (size_bytes / 320 / PAGE).max(8) }
    }
}

impl Actor for Database {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        task.push(Step::Mkdir("db".to_owned()));
        for (n, pages) in self.pages.iter_mut().enumerate() {
            *pages = self.first_pages;
            task.create(&format!("db/{n}.db"), *pages * PAGE);
        }
        task
    }

    fn next(&mut self, _: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        for _ in 0..between(random, 5, 20) {
            let chosen = random.below(self.pages.len());
            let (path, journal) = (format!("db/{chosen}.db"), format!("db/{chosen}.db-journal"));
            let changed = between(random, 1, 8);
            task.push(Step::Append(journal.clone(), changed * PAGE + 512));
            task.push(Step::Fsync(journal.clone()));
            for _ in 0..changed {
                let page = random.below(self.pages[chosen] as usize) as u64;
                task.push(Step::Write(path.clone(), page * PAGE, PAGE));
            }
            if random.unit() < 0.5 {
                let added = between(random, 1, 4);
                task.push(Step::Append(path.clone(), added * PAGE));
                self.pages[chosen] += added;
            }
            task.push(Step::Fsync(path));
            task.remove(journal);
        }
        task
    }
}
