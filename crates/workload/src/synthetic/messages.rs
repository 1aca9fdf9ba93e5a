//! Mail: messages delivered into directories (maildir) and appended to a file (mbox), and deletions.

use super::{Actor, Step, Task, between};
use crate::random::Random;

const DIRS: usize = 6;
const BOXES: usize = 12;

/// Range of message sizes, uniformly distributed.
const SIZES: (u64, u64) = (1 << 10, 32 << 10);

pub(super) struct Messages {
    /// Paths of the messages in directories.
    messages: Vec<String>,
    /// Message sizes of each mbox.
    boxes: Vec<Vec<u64>>,
    count: u64,
}

impl Messages {
    pub fn new() -> Messages {
        Messages { messages: Vec::new(), boxes: vec![Vec::new(); BOXES], count: 0 }
    }

    fn expunge(&mut self, random: &mut Random, task: &mut Task) {
        for _ in 0..between(random, 10, 60) {
            if !self.messages.is_empty() {
                task.remove(self.messages.swap_remove(random.below(self.messages.len())));
            }
        }
    }

    /// Rewrites an mbox without some of its messages, through a temporary file.
    fn compact(&mut self, random: &mut Random, task: &mut Task) {
        let chosen = random.below(BOXES);
        self.boxes[chosen].retain(|_| random.unit() < 0.6);
        if !self.boxes[chosen].is_empty() {
            task.replace(&format!("mail/{chosen}.mbox"), self.boxes[chosen].iter().sum());
        }
    }
}

impl Actor for Messages {
    fn begin(&mut self, _: &mut Random) -> Task {
        let mut task = Task::new();
        for dir in 0..DIRS {
            ["tmp", "new", "cur"]
                .iter()
                .for_each(|part| task.push(Step::Mkdir(format!("mail/{dir}/{part}"))));
        }
        task
    }

    fn next(&mut self, is_full: bool, random: &mut Random) -> Task {
        let mut task = Task::new();
        if is_full || random.unit() < 0.25 {
            self.expunge(random, &mut task);
            if random.unit() < 0.5 {
                self.compact(random, &mut task);
            }
            return task;
        }
        for _ in 0..between(random, 10, 50) {
            let size = between(random, SIZES.0, SIZES.1);
            if random.unit() < 0.25 {
                let chosen = random.below(BOXES);
                let path = format!("mail/{chosen}.mbox");
                task.push(Step::Append(path.clone(), size));
                task.push(Step::Fsync(path));
                self.boxes[chosen].push(size);
                continue;
            }
            self.count += 1;
            let dir = random.below(DIRS);
            let (new, kept) =
                (format!("mail/{dir}/tmp/{}", self.count), format!("mail/{dir}/cur/{}", self.count));
            task.push(Step::Append(new.clone(), size));
            task.push(Step::Fsync(new.clone()));
            task.push(Step::Close(new.clone()));
            task.push(Step::Rename(new, kept.clone()));
            self.messages.push(kept);
        }
        task
    }
}
