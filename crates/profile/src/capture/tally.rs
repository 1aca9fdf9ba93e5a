//! The counts of one thread of a walk.

use std::path::PathBuf;

/// Number of unreadable entries that are listed.
const EXAMPLES: usize = 5;

/// Counts per bin. Each thread has its own; they are added at the end.
#[derive(Clone)]
pub struct Tally {
    /// Bin k counts ages above 2^(k−1) up to 2^k seconds; bin 0 all ages up to one second.
    pub age: [u64; 64],
    /// Bin 0 counts empty files; bin i counts sizes above 2^(i−2) up to 2^(i−1) bytes.
    pub size: [u64; 65],
    pub depth: Vec<u64>,
    pub subdirectories: Vec<u64>,
    /// Age of the oldest file in seconds.
    pub oldest: u64,
    pub files: u64,
    pub directories: u64,
    pub bytes: u64,
    pub hard_links: u64,
    pub other: u64,
    pub without_birth: u64,
    pub other_file_systems: u64,
    pub unreadable: u64,
    pub unreadable_examples: Vec<(PathBuf, String)>,
}

impl Tally {
    pub fn new() -> Tally {
        Tally {
            age: [0; 64],
            size: [0; 65],
            depth: Vec::new(),
            subdirectories: Vec::new(),
            oldest: 0,
            files: 0,
            directories: 0,
            bytes: 0,
            hard_links: 0,
            other: 0,
            without_birth: 0,
            other_file_systems: 0,
            unreadable: 0,
            unreadable_examples: Vec::new(),
        }
    }

    /// Counts a file that is `age` seconds old.
    pub fn file(&mut self, depth: usize, size: u64, age: u64) {
        self.files += 1;
        self.bytes += size;
        self.oldest = self.oldest.max(age);
        self.age[(age.max(1) - 1).checked_ilog2().map_or(0, |log| log as usize + 1)] += 1;
        let size_bin = match size {
            0 => 0,
            1 => 1,
            n => (n - 1).ilog2() as usize + 2,
        };
        self.size[size_bin] += 1;
        *slot(&mut self.depth, depth) += 1;
    }

    /// Counts a directory whose parent is at `depth`; the root has no parent.
    pub fn subdirectory_of(&mut self, depth: Option<usize>) {
        if let Some(depth) = depth {
            *slot(&mut self.subdirectories, depth) += 1;
        }
    }

    /// Counts an entry that could not be examined.
    pub fn unreadable(&mut self, path: PathBuf, why: rustix::io::Errno) {
        self.unreadable += 1;
        if self.unreadable_examples.len() < EXAMPLES {
            self.unreadable_examples.push((path, why.to_string()));
        }
    }

    pub fn add(&mut self, other: Tally) {
        self.age.iter_mut().zip(other.age).for_each(|(a, b)| *a += b);
        self.size.iter_mut().zip(other.size).for_each(|(a, b)| *a += b);
        for (d, n) in other.depth.into_iter().enumerate() {
            *slot(&mut self.depth, d) += n;
        }
        for (d, n) in other.subdirectories.into_iter().enumerate() {
            *slot(&mut self.subdirectories, d) += n;
        }
        self.oldest = self.oldest.max(other.oldest);
        self.files += other.files;
        self.directories += other.directories;
        self.bytes += other.bytes;
        self.hard_links += other.hard_links;
        self.other += other.other;
        self.without_birth += other.without_birth;
        self.other_file_systems += other.other_file_systems;
        self.unreadable += other.unreadable;
        self.unreadable_examples.extend(other.unreadable_examples);
        self.unreadable_examples.truncate(EXAMPLES);
    }
}

fn slot(counts: &mut Vec<u64>, index: usize) -> &mut u64 {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    &mut counts[index]
}
