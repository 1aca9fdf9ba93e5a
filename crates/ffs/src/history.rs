//! A synthetic history with the published shape: 215 days of a home directory server on 1 GB, 1.3 million operations, 87 GB written, 34
//! thousand files of 19 KB on average, and 65 % full at the end (Smith and Seltzer 1997, section 3 and the slides of the
//! talk).
//!
//! Fitted to what is published, on the means of eight seeds: the sizes to files and bytes written, the steps with long-lived files and the sizes of
//! changed ones to the hot files (3,207 with 92.3 MB, section 4), the popularity of directories to the 13 % of split files of the baseline
//! (slides), and the files that fill whole blocks to its 36 % of contiguous two-block files (section 4.2). Nothing is fitted to another policy
//! or to a throughput. Assumed: one directory per 16 MB, as the publication had one per cylinder group, popularity by Zipf's law, lognormal
//! sizes; most operations create and delete a file within a day in the four most active directories of the day; a tenth full at the start,
//! rising to the final fullness on day 130.

use crate::fast::kept_fragments;
use crate::geometry::{BLOCK_BYTES, DATA_SHARE, FRAGMENT_BYTES, Geometry};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use std::collections::VecDeque;
use trace::{BATCH, Content, DirId, Error, FileId, Op, ROOT, Source};

/// Days of the published history.
pub const HISTORY_DAYS: u64 = 215;
/// Operations on 1 GB.
const OPERATIONS: u64 = 1_300_000;
const GIB: u64 = 1 << 30;
/// The day of these on which the final fullness is reached.
const FULL_DAY: u64 = 130;
const FIRST_FULLNESS: f64 = 0.10;
/// The final fullness, as published: 92.3 MB are 14.5 % of the allocated space (section 4), which is then 65 % of the data blocks.
pub const FINAL_FULLNESS: f64 = 0.65;
const BYTES_A_DIRECTORY: u64 = 16 << 20;
/// The popularity of a directory is its rank to the power of minus this (Zipf's law).
const POPULARITY: f64 = 0.85;
/// Sizes: median in bytes and spread of the logarithm, of new long-lived files, of changed ones, and of short-lived files.
const LONG_LIVED: (f64, f64) = (1_140.0, 2.0);
const CHANGED: (f64, f64) = (4_000.0, 2.0);
const SHORT_LIVED: (f64, f64) = (9_800.0, 2.35);
const LARGEST: f64 = 16_777_216.0;
/// One in this many files has a size that is a multiple of the block.
const WHOLE_EVERY: u64 = 4;
/// Mean operations until a short-lived file is deleted.
const MEAN_LIFE: f64 = 60.0;
/// Number of most active directories of a day.
const ACTIVE: usize = 4;
/// Steps with long-lived files, of a thousand.
const LONG_LIVED_STEPS: u64 = 73;
/// Percentage of steps with long-lived files that change one; and of these, the percentage that change one of the most recent.
const CHANGES: u64 = 60;
const AGAIN: u64 = 70;

/// How long a history is, and how full the file system becomes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistoryShape {
    /// The number of days; each ends with a checkpoint.
    pub days: u64,
    /// The final fullness, from 0 to 1: the share of the data blocks of the Fast File System that files use, with fragments and indirect
    /// blocks. It is reached after the same share of the days as in the published history.
    pub final_fullness: f64,
}

/// The published shape.
impl Default for HistoryShape {
    fn default() -> HistoryShape {
        HistoryShape { days: HISTORY_DAYS, final_fullness: FINAL_FULLNESS }
    }
}

/// The history, a source of operations. It depends on shape and seed only.
pub struct History {
    random: ChaCha8Rng,
    capacity_bytes: u64,
    shape: HistoryShape,
    operations_a_day: u64,
    /// Cumulative popularity of the directories, rising to 1.
    popularity: Vec<f64>,
    active: Vec<u32>,
    day: u64,
    done_today: u64,
    /// The long-lived files, with the space that each uses.
    live: Vec<(FileId, DirId, u64)>,
    live_bytes: u64,
    /// Short-lived files, ordered by their deletion time, counted in operations.
    leaving: VecDeque<(u64, FileId, DirId)>,
    clock: u64,
    next_file: u64,
    ready: VecDeque<Op>,
}

impl History {
    /// The history of a disk of `capacity_bytes`; operations, files and directories scale with it.
    pub fn new(capacity_bytes: u64, seed: u64) -> History {
        History::with_shape(capacity_bytes, HistoryShape::default(), seed)
    }

    /// A history of another shape, with the same operations a day.
    pub fn with_shape(capacity_bytes: u64, shape: HistoryShape, seed: u64) -> History {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let directories = (capacity_bytes / BYTES_A_DIRECTORY).max(1);
        let popularity = popularity(directories, &mut random);
        let mkdir = |number: u64| Op::Mkdir { dir: DirId(number as u32), parent: ROOT };
        History {
            random,
            capacity_bytes,
            shape,
            operations_a_day: (OPERATIONS as f64 * capacity_bytes as f64 / GIB as f64 / HISTORY_DAYS as f64)
                as u64,
            popularity,
            active: Vec::new(),
            day: 0,
            done_today: 0,
            live: Vec::new(),
            live_bytes: 0,
            leaving: VecDeque::new(),
            clock: 0,
            next_file: 1,
            ready: (1..=directories).map(mkdir).collect(),
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        below(&mut self.random, n)
    }

    fn unit(&mut self) -> f64 {
        unit(&mut self.random)
    }

    fn directory(&mut self) -> DirId {
        let at = self.unit();
        DirId(self.popularity.partition_point(|&sum| sum <= at).min(self.popularity.len() - 1) as u32 + 1)
    }

    /// The size of this file.
    fn size(&mut self, file: u64, (median, spread): (f64, f64)) -> u64 {
        let size = (median * libm::exp(spread * normal(&mut self.random))).clamp(1.0, LARGEST) as u64;
        if file.is_multiple_of(WHOLE_EVERY) { size.next_multiple_of(BLOCK_BYTES) } else { size }
    }

    fn fullness_today(&self) -> f64 {
        let HistoryShape { final_fullness, .. } = self.shape;
        let share = (self.day as f64 / self.full_day() as f64).min(1.0);
        let first = FIRST_FULLNESS.min(final_fullness);
        first + (final_fullness - first) * share
    }

    /// The space that long-lived files use today.
    fn wanted_bytes(&self) -> u64 {
        (self.fullness_today() * DATA_SHARE * self.capacity_bytes as f64) as u64
    }

    /// The day on which the final fullness is reached.
    fn full_day(&self) -> u64 {
        (FULL_DAY * self.shape.days).div_ceil(HISTORY_DAYS)
    }

    fn create(&mut self, parent: DirId, size: u64) -> FileId {
        let file = FileId(self.next_file);
        self.next_file += 1;
        self.ready.push_back(Op::Create { file, parent, size, content: Content::Written });
        file
    }

    /// One step with long-lived files: creates, deletes or changes one, to reach the fullness of the day.
    fn step_long_lived(&mut self, fills: bool) {
        let wanted = self.wanted_bytes();
        if !fills && !self.live.is_empty() && self.below(100) < CHANGES {
            return self.change();
        }
        if self.live_bytes < wanted {
            let (parent, size) = (self.directory(), self.size(self.next_file, LONG_LIVED));
            let file = self.create(parent, size);
            self.live.push((file, parent, used_bytes(size)));
            self.live_bytes += used_bytes(size);
        } else if !self.live.is_empty() {
            let at = self.below(self.live.len() as u64) as usize;
            let (file, parent, used) = self.live.swap_remove(at);
            self.live_bytes -= used;
            self.ready.push_back(Op::Delete { file, parent });
        }
    }

    /// Rewrites a file with a new size, most likely one of the newest twentieth.
    fn change(&mut self) {
        let count = self.live.len() as u64;
        let at = if self.below(100) < AGAIN {
            count - 1 - self.below(count.div_ceil(20))
        } else {
            self.below(count)
        };
        let size = self.size(self.live[at as usize].0.0, CHANGED);
        let (file, parent, used) = &mut self.live[at as usize];
        self.live_bytes = self.live_bytes + used_bytes(size) - *used;
        *used = used_bytes(size);
        let (file, parent) = (*file, *parent);
        self.ready.push_back(Op::Truncate { file, parent, size: 0 });
        self.ready.push_back(Op::Append { file, parent, len: size });
    }

    /// Creates a short-lived file in one of the active directories.
    fn step_short_lived(&mut self) {
        let at = self.below(self.active.len() as u64) as usize;
        let parent = DirId(self.active[at]);
        let size = self.size(self.next_file, SHORT_LIVED);
        let file = self.create(parent, size);
        let life = (-libm::log(1.0 - self.unit()) * MEAN_LIFE) as u64;
        let when = self.clock + life;
        let at = self.leaving.partition_point(|&(other, ..)| other <= when);
        self.leaving.insert(at, (when, file, parent));
    }

    fn begin_day(&mut self) {
        self.active.clear();
        for _ in 0..ACTIVE {
            let DirId(directory) = self.directory();
            self.active.push(directory);
        }
        // Reaches the fullness of the day first.
        while self.day <= self.full_day() && self.live_bytes < self.wanted_bytes() {
            self.step_long_lived(true);
        }
    }

    fn end_day(&mut self) {
        while let Some((_, file, parent)) = self.leaving.pop_front() {
            self.ready.push_back(Op::Delete { file, parent });
        }
        self.day += 1;
        self.done_today = 0;
        self.ready.push_back(Op::Checkpoint { number: self.day });
    }

    fn step(&mut self) {
        if self.done_today == 0 {
            self.begin_day();
        }
        self.clock += 1;
        self.done_today += 1;
        while self.leaving.front().is_some_and(|&(when, ..)| when <= self.clock) {
            let (_, file, parent) = self.leaving.pop_front().expect("the queue is not empty");
            self.ready.push_back(Op::Delete { file, parent });
            self.done_today += 1;
        }
        if self.below(1000) < LONG_LIVED_STEPS {
            self.step_long_lived(false)
        } else {
            self.step_short_lived()
        }
        if self.done_today >= self.operations_a_day {
            self.end_day();
        }
    }
}

impl Source for History {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), Error> {
        batch.clear();
        while batch.len() < BATCH {
            match self.ready.pop_front() {
                Some(op) => batch.push(op),
                None if self.day < self.shape.days => self.step(),
                None => break,
            }
        }
        Ok(())
    }
}

/// The space of a file of `size` bytes on the Fast File System: its fragments or blocks, and its indirect blocks.
fn used_bytes(size: u64) -> u64 {
    let indirect = Geometry::indirect_blocks(size.div_ceil(BLOCK_BYTES) as u32);
    u64::from(kept_fragments(size)) * FRAGMENT_BYTES + u64::from(indirect) * BLOCK_BYTES
}

/// Cumulative popularity of the directories, rising to 1; the ranks are in random order.
fn popularity(directories: u64, random: &mut ChaCha8Rng) -> Vec<f64> {
    let mut parts: Vec<f64> = (1..=directories).map(|rank| libm::pow(rank as f64, -POPULARITY)).collect();
    for last in (1..parts.len()).rev() {
        parts.swap(last, below(random, last as u64 + 1) as usize);
    }
    let (whole, mut sum) = (parts.iter().sum::<f64>(), 0.0);
    parts.iter_mut().for_each(|part| {
        sum += *part / whole;
        *part = sum;
    });
    parts
}

/// A random number below `n`.
pub(crate) fn below(random: &mut ChaCha8Rng, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A random number from 0 (included) to 1 (excluded).
fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A normally distributed random number (Box and Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, angle) = (1.0 - unit(random), unit(random));
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(std::f64::consts::TAU * angle)
}
