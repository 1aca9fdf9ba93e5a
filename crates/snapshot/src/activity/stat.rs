//! Statistics of short-lived files.

use super::{Action, ActivitySet};
use serde::Serialize;

/// Bounds of lifetimes in seconds, including those of the publications.
const LIFETIMES_S: [f64; 8] = [0.1, 1.0, 4.0, 30.0, 300.0, 3600.0, 6.0 * 3600.0, 24.0 * 3600.0];

/// Bounds of sizes in bytes, including those of the publications.
const SIZES_BYTES: [u64; 7] = [1, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// The share of files and bytes that live less than a given time.
#[derive(Clone, Debug, Serialize)]
pub struct LifetimeShare {
    /// The time in seconds.
    pub below_s: f64,
    /// The share of the files.
    pub files: f64,
    /// The share of their bytes.
    pub bytes: f64,
}

/// The share of files and bytes in files smaller than a given size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeShare {
    /// The size in bytes.
    pub below_bytes: u64,
    /// The share of the files.
    pub files: f64,
    /// The share of their bytes.
    pub bytes: f64,
}

/// Statistics of a set. Without files, figures are `None` and shares are 0.
#[derive(Clone, Debug, Serialize)]
pub struct ActivityStat {
    /// The origin of the set.
    pub source: String,
    /// Number of profiles.
    pub profiles: u64,
    /// Number of files.
    pub files: u64,
    /// Total bytes of the files.
    pub bytes: u64,
    /// Number of files of the largest profile.
    pub files_of_largest_profile: u64,
    /// Median lifetime in seconds.
    pub lifetime_median_s: Option<f64>,
    /// Mean lifetime in seconds.
    pub lifetime_mean_s: Option<f64>,
    /// Median size in bytes.
    pub size_median_bytes: Option<u64>,
    /// Mean size in bytes.
    pub size_mean_bytes: Option<f64>,
    /// The hour of the day (from 0) with the most creations.
    pub peak_hour: Option<usize>,
    /// Files created in each hour of the day.
    pub created_by_hour: Vec<u64>,
    /// The distribution of lifetimes.
    pub lifetimes: Vec<LifetimeShare>,
    /// The distribution of sizes.
    pub sizes: Vec<SizeShare>,
}

impl ActivityStat {
    /// Computes the statistics of `set`.
    pub fn of(set: &ActivitySet) -> ActivityStat {
        let mut lives: Vec<(u32, u64)> = Vec::new();
        let mut by_hour = [0; 24];
        for profile in &set.profiles {
            let mut created = Vec::new();
            for event in &profile.events {
                match event.action {
                    Action::Create { size, .. } => {
                        created.push((event.at_ms, size));
                        by_hour[(event.at_ms / 3_600_000) as usize] += 1;
                    }
                    Action::Delete { file } => {
                        let (created_ms, size) = created[file as usize];
                        lives.push((event.at_ms - created_ms, size));
                    }
                }
            }
        }
        let files = lives.len() as u64;
        let bytes = sum(lives.iter().map(|(_, size)| *size));
        let shares = |chosen: &dyn Fn(&&(u32, u64)) -> bool| {
            let count = lives.iter().filter(chosen).count() as f64;
            let size = sum(lives.iter().filter(chosen).map(|(_, size)| *size)) as f64;
            (count / files.max(1) as f64, size / bytes.max(1) as f64)
        };
        let lifetimes = LIFETIMES_S.map(|below_s| {
            let (files, bytes) = shares(&|(ms, _)| f64::from(*ms) < below_s * 1000.0);
            LifetimeShare { below_s, files, bytes }
        });
        let sizes = SIZES_BYTES.map(|below_bytes| {
            let (files, bytes) = shares(&|(_, size)| *size < below_bytes);
            SizeShare { below_bytes, files, bytes }
        });
        let mean = |total: u64| (files > 0).then(|| total as f64 / files as f64);
        let busiest = by_hour.iter().copied().max().filter(|most| *most > 0);
        ActivityStat {
            source: set.source.clone(),
            profiles: set.profiles.len() as u64,
            files,
            bytes,
            files_of_largest_profile: set.profiles.iter().map(|p| p.files()).max().unwrap_or(0),
            lifetime_median_s: median(lives.iter().map(|(ms, _)| u64::from(*ms)))
                .map(|ms| ms as f64 / 1000.0),
            lifetime_mean_s: mean(sum(lives.iter().map(|(ms, _)| u64::from(*ms)))).map(|ms| ms / 1000.0),
            size_median_bytes: median(lives.iter().map(|(_, size)| *size)),
            size_mean_bytes: mean(bytes),
            peak_hour: busiest.and_then(|most| by_hour.iter().position(|count| *count == most)),
            created_by_hour: by_hour.to_vec(),
            lifetimes: lifetimes.to_vec(),
            sizes: sizes.to_vec(),
        }
    }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn median(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable(middle).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Collector;

    #[test]
    fn statistics_match_files() {
        let mut seen = Collector::new();
        let hour = 3_600_000;
        for (created_ms, life_ms, size) in
            [(hour, 500, 10), (hour + 1000, 40_000, 90), (5 * hour, 3_600_000, 0)]
        {
            let file = seen.created(created_ms, ());
            seen.sized(file, size);
            seen.unlinked(created_ms + life_ms, file);
        }
        let set = ActivitySet { profiles: seen.finish().profiles, source: "here".to_owned() };
        let stat = ActivityStat::of(&set);
        assert_eq!((stat.profiles, stat.files, stat.bytes), (1, 3, 100));
        assert_eq!((stat.lifetime_median_s, stat.size_median_bytes), (Some(40.0), Some(10)));
        assert_eq!((stat.peak_hour, stat.created_by_hour[1]), (Some(1), 2));
        let below_30 = &stat.lifetimes[3];
        assert_eq!((below_30.files, below_30.bytes), (1.0 / 3.0, 0.1));
        assert_eq!(stat.sizes[0].files, 1.0 / 3.0);
    }

    #[test]
    fn empty_set_has_no_figures() {
        let stat = ActivityStat::of(&ActivitySet { profiles: Vec::new(), source: String::new() });
        assert_eq!((stat.files, stat.lifetime_median_s, stat.peak_hour), (0, None, None));
    }
}
