//! The built-in set, modelled on published figures of short-lived files:
//!
//! - 65 to 80 % of files live less than 30 seconds, and as those are the small ones, only 4 to 27 % of new bytes die as early
//!   (Baker et al., Measurements of a Distributed File System, SOSP 1991, §4).
//! - 20 to 30 % of new bytes are deleted within 30 seconds and about half within 5 minutes (Ousterhout et al., A Trace-Driven
//!   Analysis of the UNIX 4.2 BSD File System, SOSP 1985, abstract and §5.3).
//! - About 80 % of the files that are written or read are shorter than 10 KB (the same, §5.2).
//! - A profile has at most about 120 files: 1.3 million operations, 25 profiles a day (one for 40 MB of 1 GB) and 215 days
//!   (Smith and Seltzer, File System Aging, SIGMETRICS 1997, §3).
//! - Work, and with it the peak, is between 9 and 18 o'clock (Ellard et al., Passive NFS Tracing of Email and Research
//!   Workloads, FAST 2003, §6).
//!
//! The figures on bytes and lifetimes cover all files deleted during those studies; here they are applied to
//! files that are deleted on the day of their creation. The shapes of the distributions are our own choice.

use super::{ActivitySet, Collector, DAY_MS};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// The seed of the built-in set.
pub(crate) const SEED: u64 = 1997;

/// Number of profiles.
const PROFILES: u32 = 128;

/// Files per profile, log-uniform: 114 on average.
const FILES: (f64, f64) = (10.0, 440.0);

/// The sigma of the lognormal distribution of sizes.
const SIZE_SIGMA: f64 = 1.4;

/// A kind of short-lived file: its share of the files, its log-uniform lifetime in seconds, and its mean size
/// in bytes. The means make the kinds about 24, 26 and 50 % of all bytes.
struct Kind {
    share: f64,
    lifetime_s: (f64, f64),
    mean_bytes: f64,
}

const KINDS: [Kind; 3] = [
    Kind { share: 0.72, lifetime_s: (0.05, 30.0), mean_bytes: 3_900.0 },
    Kind { share: 0.18, lifetime_s: (30.0, 300.0), mean_bytes: 17_300.0 },
    Kind { share: 0.10, lifetime_s: (300.0, 5.0 * 3600.0), mean_bytes: 60_000.0 },
];

/// A burst of work: files created within a minute.
const BURST_FILES: u32 = 8;
const BURST_MS: f64 = 60_000.0;

/// The range of hours for the peak of a profile, and the standard deviation of bursts from the peak.
const PEAK_HOURS: (f64, f64) = (9.0, 18.0);
const PEAK_WIDTH_HOURS: f64 = 1.5;

const HOUR_MS: f64 = 3_600_000.0;

/// The profiles of a seed.
pub(crate) fn profiles(seed: u64) -> ActivitySet {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
    ActivitySet {
        profiles: (0..PROFILES).map(|_| profile(&mut random)).collect(),
        source: format!("built in: modelled on the figures of BSD 1985 and Sprite 1991, seed {seed}"),
    }
}

fn profile(random: &mut Random) -> super::ActivityProfile {
    let files = random.log_uniform(FILES) as u32;
    let peak_ms = random.uniform(PEAK_HOURS) * HOUR_MS;
    let mut lives = Vec::new();
    let mut burst_ms = 0.0;
    for file in 0..files {
        if file % BURST_FILES == 0 {
            burst_ms = peak_ms + random.normal() * PEAK_WIDTH_HOURS * HOUR_MS;
        }
        let kind = random.kind();
        let life_ms = random.log_uniform(kind.lifetime_s) * 1000.0;
        let mu = libm::log(kind.mean_bytes) - SIZE_SIGMA * SIZE_SIGMA / 2.0;
        let bytes = libm::exp(mu + SIZE_SIGMA * random.normal()) as u64;
        // No file outlives its day.
        let latest_ms = f64::from(DAY_MS - 1) - life_ms;
        let created_ms = (burst_ms + random.uniform((0.0, BURST_MS))).clamp(0.0, latest_ms);
        lives.push((created_ms as i64, (created_ms + life_ms) as i64, bytes));
    }
    collect(lives)
}

/// The profile of files with the given times of creation and deletion and sizes, by time of creation.
fn collect(mut lives: Vec<(i64, i64, u64)>) -> super::ActivityProfile {
    lives.sort_unstable();
    let mut events: Vec<(i64, usize, Option<u64>)> = Vec::new();
    for (file, (created_ms, deleted_ms, bytes)) in lives.into_iter().enumerate() {
        events.push((created_ms, file, Some(bytes)));
        events.push((deleted_ms, file, None));
    }
    // The sort is stable: a file created and deleted in the same millisecond is created first.
    events.sort_by_key(|(at_ms, ..)| *at_ms);
    let mut collector = Collector::new();
    let mut numbers = Vec::new();
    for (at_ms, file, bytes) in events {
        match bytes {
            Some(bytes) => {
                let number = collector.created(at_ms, ());
                collector.sized(number, bytes);
                numbers.push(number);
            }
            None => collector.unlinked(at_ms, numbers[file]),
        }
    }
    collector.finish().profiles.remove(0)
}

/// Random numbers that are the same on every machine.
struct Random(ChaCha8Rng);

impl Random {
    /// A number in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn uniform(&mut self, (least, most): (f64, f64)) -> f64 {
        least + self.unit() * (most - least)
    }

    fn log_uniform(&mut self, (least, most): (f64, f64)) -> f64 {
        libm::exp(self.uniform((libm::log(least), libm::log(most))))
    }

    /// A standard normal number (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    fn kind(&mut self) -> &'static Kind {
        let mut left = self.unit();
        let chosen = KINDS.iter().find(|kind| {
            left -= kind.share;
            left < 0.0
        });
        chosen.unwrap_or(&KINDS[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::ActivityStat;

    #[test]
    fn profiles_depend_only_on_seed() {
        assert_eq!(profiles(SEED), profiles(SEED));
        assert_ne!(profiles(SEED), profiles(SEED + 1));
    }

    #[test]
    fn profiles_match_published_statistics() {
        for seed in [SEED, 1, 2] {
            let stat = ActivityStat::of(&profiles(seed));
            let lived = |seconds| stat.lifetimes.iter().find(|share| share.below_s == seconds).unwrap();
            let within = |value: f64, least, most| assert!((least..=most).contains(&value), "{stat:#?}");
            // Baker et al. 1991.
            within(lived(30.0).files, 0.65, 0.80);
            within(lived(30.0).bytes, 0.04, 0.27);
            // Ousterhout et al. 1985.
            within(lived(30.0).bytes, 0.20, 0.30);
            within(lived(300.0).bytes, 0.43, 0.57);
            let small = stat.sizes.iter().find(|share| share.below_bytes == 10_000).unwrap();
            within(small.files, 0.77, 0.83);
            // Smith and Seltzer 1997.
            within(stat.files as f64 / f64::from(PROFILES), 90.0, 150.0);
            // Ellard et al. 2003.
            assert!((9..18).contains(&stat.peak_hour.unwrap()), "{stat:#?}");
            let at_work: u64 = stat.created_by_hour[9..18].iter().sum();
            within(at_work as f64 / stat.files as f64, 0.7, 1.0);
        }
    }
}
