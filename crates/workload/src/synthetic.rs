//! A synthetic workload of an office: people and programs change a file system over days of work, with real
//! system calls and the real git. It does not produce a trace: a replay of snapshots is validated against it.
//!
//! A day is divided into intervals of time. In each, a few of the actors below execute one task each,
//! concurrently: the steps of the tasks interleave at random. Each interval ends with a sync, as the kernel
//! writes back after half a minute (`vm.dirty_expire_centisecs`): an interval is the time that written data
//! can wait in memory.
//!
//! Sizes follow published distributions: those of most files the lognormal of Douceur and Bolosky ("A
//! Large-Scale Study of File-System Contents", SIGMETRICS 1999, §4.2), those of messages a uniform one from 1
//! to 32 KiB as in Conway et al. ("File Systems Fated for Senescence?", FAST 2017, §7). The frequencies of
//! the tasks are our own choice.

mod builds;
mod cache;
mod database;
mod documents;
mod files;
mod logs;
mod messages;
mod repositories;
mod task;
mod workload;

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

pub use self::workload::Synthetic;

/// Parameters of a synthetic workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SyntheticOptions {
    /// Size of the file system in bytes; the number of tasks and the amount of data scale with it.
    pub size_bytes: u64,
    /// Number of days.
    pub days: u64,
    /// Number of concurrent tasks.
    pub concurrency: usize,
    /// Work intervals per day and GiB of the file system.
    pub intervals: u64,
    /// The share of the file system in use after two thirds of the days.
    pub fullness: f64,
    /// Seed of all random choices.
    pub seed: u64,
}

impl SyntheticOptions {
    /// Intervals per day, at least 4.
    pub fn intervals_per_day(&self) -> u64 {
        ((self.size_bytes * self.intervals) >> 30).max(4)
    }
}

/// The share of the file system in use after the filling.
const FULL_AT_FIRST: f64 = 0.5;

/// A synthetic workload in a directory.
pub struct SyntheticWorkload {
    options: SyntheticOptions,
    files: Files,
    random: Random,
    actors: Vec<(Box<dyn Actor>, f64)>,
    day: u64,
}

/// A person or program that executes tasks. An actor plans its tasks one after another and keeps track of its
/// files.
trait Actor: Send {
    /// The task at the start.
    fn begin(&mut self, random: &mut Random) -> Task;

    /// The next task. With `is_full`, it should free space if the actor can.
    fn next(&mut self, is_full: bool, random: &mut Random) -> Task;

    /// The task at the end of each day.
    fn night(&mut self, _: &mut Random) -> Task {
        Task::new()
    }
}

impl SyntheticWorkload {
    /// A workload at `root`, an empty directory.
    pub fn new(root: &Path, options: SyntheticOptions) -> SyntheticWorkload {
        let size = options.size_bytes;
        let actors: Vec<(Box<dyn Actor>, f64)> = vec![
            (Box::new(Builds::new(size)), 0.16),
            (Box::new(Cache::new(size)), 0.16),
            (Box::new(Database::new(size)), 0.08),
            (Box::new(Documents::new()), 0.14),
            (Box::new(Logs::new(size)), 0.16),
            (Box::new(Messages::new()), 0.18),
            (Box::new(Repositories::new(size)), 0.12),
        ];
        let random = Random::new(options.seed, 0);
        SyntheticWorkload { options, files: Files::new(root, options.seed), random, actors, day: 0 }
    }

    /// Executes a day, the first of which fills the file system; ends with a sync. `watch` receives the
    /// number of completed intervals and the total after each interval.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the program was asked to end.
    pub fn run_day(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        match self.day {
            0 => self.fill(watch)?,
            _ => self.work(watch)?,
        }
        self.day += 1;
        self.files.write_back()
    }

    /// Starts all actors and runs them until the file system has its initial fullness.
    fn fill(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        for (actor, _) in &mut self.actors {
            self.files.run(vec![actor.begin(&mut self.random)], &mut self.random)?;
        }
        while self.files.fullness()? < FULL_AT_FIRST {
            let done = (self.files.fullness()? / FULL_AT_FIRST * 100.0) as u64;
            watch(done, 100);
            self.run_interval(false)?;
        }
        Ok(())
    }

    fn work(&mut self, watch: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        let intervals = self.options.intervals_per_day();
        let grown = (self.day as f64 / (self.options.days as f64 * 2.0 / 3.0)).min(1.0);
        let target_fullness = FULL_AT_FIRST + (self.options.fullness - FULL_AT_FIRST) * grown;
        for interval in 0..intervals {
            let is_full = self.files.fullness()? > target_fullness;
            self.run_interval(is_full)?;
            watch(interval + 1, intervals);
        }
        for (actor, _) in &mut self.actors {
            self.files.run(vec![actor.night(&mut self.random)], &mut self.random)?;
        }
        Ok(())
    }

    /// Runs one task each of a few distinct actors.
    fn run_interval(&mut self, is_full: bool) -> Result<(), Error> {
        let mut tasks = Vec::new();
        let mut shares: Vec<f64> = self.actors.iter().map(|(_, share)| *share).collect();
        for _ in 0..self.options.concurrency.clamp(1, self.actors.len()) {
            let left: f64 = shares.iter().sum();
            let scaled: Vec<f64> = shares.iter().map(|share| share / left).collect();
            let chosen = self.random.weighted(&scaled);
            shares[chosen] = 0.0;
            tasks.push(self.actors[chosen].0.next(is_full, &mut self.random));
        }
        self.files.run(tasks, &mut self.random)?;
        self.files.write_back()
    }
}

/// A file size after Douceur and Bolosky: a lognormal whose logarithm to base 2 has a mean of 12.2 and a
/// standard deviation of 3.43, but at most `most` bytes.
fn file_size(random: &mut Random, most: u64) -> u64 {
    lognormal(random, 12.2, 3.43, most)
}

/// A lognormal size whose logarithm to base 2 has the given mean and standard deviation, redrawn until it is
/// at most `most`.
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
    fn file_sizes_match_published_distribution() {
        let mut random = Random::new(1, 0);
        let mut sizes: Vec<u64> = (0..20_000).map(|_| file_size(&mut random, u64::MAX >> 1)).collect();
        sizes.sort_unstable();
        let median = (sizes[10_000] as f64).log2();
        assert!((median - 12.2).abs() < 0.1, "{median}");
        let deviation = (sizes[16_827] as f64).log2() - median;
        assert!((deviation - 3.43).abs() < 0.15, "{deviation}");
    }

    #[test]
    fn workload_fills_directory_and_changes_it_daily() {
        let dir = tempfile::tempdir().unwrap();
        // Skips the filling, which depends on the fullness of the underlying file system and would end at
        // once or never.
        let options = SyntheticOptions {
            size_bytes: 32 << 20,
            days: 3,
            concurrency: 3,
            intervals: 96,
            fullness: 0.8,
            seed: 5,
        };
        let mut workload = SyntheticWorkload::new(dir.path(), options);
        for (actor, _) in &mut workload.actors {
            workload.files.run(vec![actor.begin(&mut workload.random)], &mut workload.random).unwrap();
        }
        workload.day = 1;
        let mut seen = Vec::new();
        for _ in 0..2 {
            workload.run_day(&mut |_, _| {}).unwrap();
            seen.push(tree(dir.path()));
        }
        assert!(seen.iter().all(|files| files.len() > 50), "{seen:?}");
        assert_ne!(seen[0], seen[1]);
        assert!(seen[1].iter().any(|(path, _)| path.contains(".git/")), "git must have written files");
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
