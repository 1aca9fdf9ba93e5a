//! A small office: what people and programs do to a file system in days of work, done with real system calls and the real
//! git. It is no trace and no replay: it is what a replay of snapshots is compared with.
//!
//! A day is cut into windows of time. In each, a few of the trades below have one task each to do, and their tasks run
//! at once: the steps of one come between those of the others as chance has it. At the end of a window all is written
//! back, as the kernel does after half a minute (`vm.dirty_expire_centisecs`); a window is the time in which
//! what is written can wait in memory.
//!
//! Sizes are drawn from published distributions: those of most files from the lognormal of Douceur and Bolosky ("A Large-Scale Study of
//! File-System Contents", SIGMETRICS 1999, §4.2), those of messages uniformly from 1 to 32 KiB as Conway et al. did ("File
//! Systems Fated for Senescence?", FAST 2017, §6). How often what is done is our own choice.

mod builds;
mod cache;
mod database;
mod documents;
mod files;
mod logs;
mod messages;
mod repositories;
mod task;

use std::path::Path;

use self::builds::Builds;
use self::cache::Cache;
use self::database::Database;
use self::documents::Documents;
use self::files::Files;
use self::logs::Logs;
use self::messages::Messages;
use self::repositories::Repositories;
use self::task::{Step, Task};
use crate::Error;
use crate::random::Random;

/// How an office works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OfficeOptions {
    /// The size of its file system in bytes, which the number and the stock of its tasks go by.
    pub size_bytes: u64,
    /// How many days it works.
    pub days: u64,
    /// How many tasks run at once.
    pub at_once: usize,
    /// Windows of a day, for each GiB of the file system.
    pub windows: u64,
    /// The share of the file system in use from two thirds of the days on.
    pub fullness: f64,
    /// What all that is random is drawn from.
    pub seed: u64,
}

impl OfficeOptions {
    /// How many windows a day has.
    pub fn windows_a_day(&self) -> u64 {
        ((self.size_bytes * self.windows) >> 30).max(4)
    }
}

/// The share of the file system in use after the filling.
const FULL_AT_FIRST: f64 = 0.5;

/// An office at work in a directory.
pub struct Office {
    options: OfficeOptions,
    files: Files,
    random: Random,
    trades: Vec<(Box<dyn Trade>, f64)>,
    day: u64,
}

/// Someone, or something, that has tasks to do. A trade plans its tasks one behind the other, and knows what files it has.
trait Trade: Send {
    /// What is done once, at the beginning.
    fn begin(&mut self, random: &mut Random) -> Task;

    /// The next task. `is_full` asks for one that leaves more room than there was, where there is such a one.
    fn next(&mut self, is_full: bool, random: &mut Random) -> Task;

    /// What is done once a day, in the night.
    fn night(&mut self, _: &mut Random) -> Task {
        Task::new()
    }
}

impl Office {
    /// An office at `root`, which is an empty directory.
    pub fn new(root: &Path, options: OfficeOptions) -> Result<Office, Error> {
        let size = options.size_bytes;
        let trades: Vec<(Box<dyn Trade>, f64)> = vec![
            (Box::new(Builds::new(size)), 0.16),
            (Box::new(Cache::new(size)), 0.16),
            (Box::new(Database::new(size)), 0.08),
            (Box::new(Documents::new()), 0.14),
            (Box::new(Logs::new(size)), 0.16),
            (Box::new(Messages::new()), 0.18),
            (Box::new(Repositories::new(size)), 0.12),
        ];
        let random = Random::new(options.seed, 0);
        Ok(Office { options, files: Files::open(root, options.seed)?, random, trades, day: 0 })
    }

    /// Does the work of a day, the first of which fills the file system; all is on disk then. `watch` is told of each
    /// window that is over, and of how many.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the program was asked to end.
    pub fn day(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        match self.day {
            0 => self.fill(watch)?,
            _ => self.work(watch)?,
        }
        self.day += 1;
        self.files.write_back()
    }

    /// Each trade begins; then they work until the file system is as full as it is to be at first.
    fn fill(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        for (trade, _) in &mut self.trades {
            self.files.run(vec![trade.begin(&mut self.random)], &mut self.random)?;
        }
        while self.files.fullness()? < FULL_AT_FIRST {
            let done = (self.files.fullness()? / FULL_AT_FIRST * 100.0) as u64;
            watch(done, 100);
            self.window(false)?;
        }
        Ok(())
    }

    fn work(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        let windows = self.options.windows_a_day();
        let grown = (self.day as f64 / (self.options.days as f64 * 2.0 / 3.0)).min(1.0);
        let aim = FULL_AT_FIRST + (self.options.fullness - FULL_AT_FIRST) * grown;
        for window in 0..windows {
            let is_full = self.files.fullness()? > aim;
            self.window(is_full)?;
            watch(window + 1, windows);
        }
        for (trade, _) in &mut self.trades {
            self.files.run(vec![trade.night(&mut self.random)], &mut self.random)?;
        }
        Ok(())
    }

    /// A few trades, each another, do a task each.
    fn window(&mut self, is_full: bool) -> Result<(), Error> {
        let mut tasks = Vec::new();
        let mut shares: Vec<f64> = self.trades.iter().map(|(_, share)| *share).collect();
        for _ in 0..self.options.at_once.clamp(1, self.trades.len()) {
            let left: f64 = shares.iter().sum();
            let scaled: Vec<f64> = shares.iter().map(|share| share / left).collect();
            let chosen = self.random.weighted(&scaled);
            shares[chosen] = 0.0;
            tasks.push(self.trades[chosen].0.next(is_full, &mut self.random));
        }
        self.files.run(tasks, &mut self.random)?;
        self.files.write_back()
    }
}

/// A size of a file after Douceur and Bolosky: a lognormal whose logarithm to base 2 has a mean of 12.2 and a standard
/// deviation of 3.43, but no more than `most` bytes.
fn file_size(random: &mut Random, most: u64) -> u64 {
    lognormal(random, 12.2, 3.43, most)
}

/// A lognormal size, of which the logarithm to base 2 has this mean and standard deviation, drawn anew until it is no more than
/// `most`.
fn lognormal(random: &mut Random, mean: f64, deviation: f64, most: u64) -> u64 {
    loop {
        // Box and Muller (1958).
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.unit()));
        let normal = radius * libm::cos(std::f64::consts::TAU * random.unit());
        let size = libm::exp2(mean + deviation * normal);
        if size <= most as f64 {
            return (size as u64).max(1);
        }
    }
}

/// A whole number from `least` to `most`.
fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below((most - least + 1) as usize) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_published() {
        let mut random = Random::new(1, 0);
        let mut sizes: Vec<u64> = (0..20_000).map(|_| file_size(&mut random, u64::MAX >> 1)).collect();
        sizes.sort_unstable();
        let median = (sizes[10_000] as f64).log2();
        assert!((median - 12.2).abs() < 0.1, "{median}");
        let deviation = (sizes[16_827] as f64).log2() - median;
        assert!((deviation - 3.43).abs() < 0.15, "{deviation}");
    }

    #[test]
    fn an_office_fills_its_directory_and_changes_it_day_by_day() {
        let dir = tempfile::tempdir().unwrap();
        // As large as what the directory lies on would be full at once or never.
        let options =
            OfficeOptions { size_bytes: 32 << 20, days: 3, at_once: 3, windows: 96, fullness: 0.8, seed: 5 };
        let mut office = Office::new(dir.path(), options).unwrap();
        for (trade, _) in &mut office.trades {
            office.files.run(vec![trade.begin(&mut office.random)], &mut office.random).unwrap();
        }
        office.day = 1;
        let mut seen = Vec::new();
        for _ in 0..2 {
            office.day(&mut |_, _| {}).unwrap();
            seen.push(tree(dir.path()));
        }
        assert!(seen.iter().all(|files| files.len() > 50), "{seen:?}");
        assert_ne!(seen[0], seen[1]);
        assert!(seen[1].iter().any(|(path, _)| path.contains(".git/")), "git has worked");
    }

    fn tree(dir: &Path) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        let mut dirs = vec![dir.to_owned()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => dirs.push(entry.path()),
                    false => {
                        found.push((entry.path().display().to_string(), entry.metadata().unwrap().len()))
                    }
                }
            }
        }
        found.sort();
        found
    }
}
