//! Captures the profile of a live tree: histograms only, without names.

mod tally;
mod walk;

use crate::{AgeHistogram, DepthHistogram, Error, Profile, SizeHistogram};
use std::path::{Path, PathBuf};
use tally::Tally;

/// The timestamp from which the age of a file is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeBy {
    /// Its birth time, or its modification time if the file system has no birth time.
    Birth,
    /// Its modification time. For trees that were copied to this machine with their timestamps.
    Modification,
}

/// A captured profile and the totals of the walk.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The profile.
    pub profile: Profile,
    /// Regular files; hard links count once.
    pub files: u64,
    /// Directories, including the root.
    pub directories: u64,
    /// Sum of the file sizes in bytes.
    pub bytes: u64,
    /// Number of further names of files with several names.
    pub hard_links: u64,
    /// Symbolic links, devices, sockets and pipes, which a profile does not include.
    pub other: u64,
    /// Files without a birth time, whose age is counted from their modification time instead.
    pub without_birth: u64,
    /// Directories of other file systems, which were not entered.
    pub other_file_systems: u64,
    /// Entries that could not be examined.
    pub unreadable: u64,
    /// The first of these entries, with the reason.
    pub unreadable_examples: Vec<(PathBuf, String)>,
    /// Number of the youngest age bins that were merged into one to keep the bound at 100
    /// operations per file.
    pub merged_ages: usize,
}

/// The maximum number of operations per file that a captured profile may need. A file created a second ago in a tree that is ten
/// years old would need hundreds of millions; the youngest bins are merged until the bound is met.
pub const MAX_OPERATIONS: f64 = 100.0;

/// Walks the tree at `path` with `threads` threads and creates its profile, named `name`.
pub fn capture(path: &Path, name: &str, age_by: AgeBy, threads: usize) -> Result<Captured, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
    let tally = walk::walk(path, age_by, now, threads).map_err(io)?;
    if tally.files == 0 {
        return Err(Error::NoFiles(path.to_owned()));
    }
    let space = rustix::fs::statvfs(path).map_err(|errno| io(errno.into()))?;
    let (age, merged_ages) = ages(&tally);
    let profile = Profile {
        name: name.to_owned(),
        title: "A live file system".to_owned(),
        source: "senesce profile capture".to_owned(),
        year: year(now),
        files: Some(tally.files),
        fullness: fullness(space.f_blocks, space.f_bfree),
        age,
        size: sizes(&tally),
        depth: depths(&tally),
    };
    profile.check()?;
    Ok(Captured {
        profile,
        files: tally.files,
        directories: tally.directories,
        bytes: tally.bytes,
        hard_links: tally.hard_links,
        other: tally.other,
        without_birth: tally.without_birth,
        other_file_systems: tally.other_file_systems,
        unreadable: tally.unreadable,
        unreadable_examples: tally.unreadable_examples,
        merged_ages,
    })
}

/// Ages in bins of powers of two of a second; the last edge is the age of the oldest file.
fn ages(tally: &Tally) -> (AgeHistogram, usize) {
    let oldest = tally.oldest.max(1) as f64;
    let last = tally.age.iter().rposition(|&n| n > 0).unwrap_or(0);
    let mut upper: Vec<f64> = (0..=last).map(|k| 2f64.powi(k as i32)).collect();
    let mut weight: Vec<f64> = tally.age[..=last].iter().map(|&n| n as f64).collect();
    upper[last] = oldest;
    // A last bin much narrower than its neighbour would raise the bound without benefit.
    if last > 0 && oldest < 1.25 * upper[last - 1] {
        upper.remove(last - 1);
        let narrow = weight.remove(last);
        weight[last - 1] += narrow;
    }
    let mut merged = 0;
    let mut histogram = AgeHistogram { upper, weight };
    while histogram.upper.len() > 1 && bound(&histogram) > MAX_OPERATIONS {
        histogram.upper.remove(0);
        let youngest = histogram.weight.remove(0);
        histogram.weight[0] += youngest;
        merged += 1;
    }
    (histogram, if merged > 0 { merged + 1 } else { 0 })
}

fn bound(age: &AgeHistogram) -> f64 {
    let any = SizeHistogram { upper_bytes: vec![1], weight: vec![1.0] };
    let root = DepthHistogram { depth: vec![0], weight: vec![1.0], subdirectories: vec![0] };
    let (name, title, source) = (String::new(), String::new(), String::new());
    let profile = Profile {
        name,
        title,
        source,
        year: 0,
        files: None,
        fullness: None,
        age: age.clone(),
        size: any,
        depth: root,
    };
    profile.bound_operations_per_file()
}

/// Sizes in bins of powers of two of a byte, with a separate bin for empty files.
fn sizes(tally: &Tally) -> SizeHistogram {
    let last = tally.size.iter().rposition(|&n| n > 0).unwrap_or(0);
    SizeHistogram {
        upper_bytes: (0..=last).map(|i| if i == 0 { 0 } else { 1 << (i - 1) }).collect(),
        weight: tally.size[..=last].iter().map(|&n| n as f64).collect(),
    }
}

fn depths(tally: &Tally) -> DepthHistogram {
    let levels = tally.depth.len().max(tally.subdirectories.len());
    let at = |v: &[u64], i: usize| v.get(i).copied().unwrap_or(0);
    DepthHistogram {
        depth: (0..levels as u32).collect(),
        weight: (0..levels).map(|d| at(&tally.depth, d) as f64).collect(),
        subdirectories: (0..levels).map(|d| at(&tally.subdirectories, d)).collect(),
    }
}

/// The year of a time in seconds since 1970, from the mean length of a Gregorian year: accurate to a day.
fn year(seconds: i64) -> u16 {
    (1970 + seconds / 31_556_952).clamp(0, i64::from(u16::MAX)) as u16
}

/// The share of the blocks that are in use; `None` if it rounds to 0, as no aging can end at that, or is unknown.
fn fullness(blocks: u64, free: u64) -> Option<f64> {
    let share = round(blocks.saturating_sub(free) as f64 / blocks as f64, 4);
    (share > 0.0).then_some(share)
}

fn round(value: f64, digits: i32) -> f64 {
    (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fullness_of_a_nearly_empty_file_system_is_left_out() {
        assert_eq!(fullness(100_000, 99_997), None);
        assert_eq!(fullness(0, 0), None);
        assert_eq!(fullness(100_000, 87_654), Some(0.1235));
    }
}
