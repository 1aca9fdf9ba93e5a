//! The number and sizes of the live files: the profile's size histogram scaled to the requested fullness.
//!
//! Sizes lie at the quantiles of a log-uniform distribution within their bin (uniform in a bin that begins at
//! 0), so the same conditions give the same sizes with every seed; the seed determines which file gets which
//! size.

use crate::Error;
use crate::planner::OmittedBin;
use crate::planner::apportion::largest_remainder;
use crate::random::Random;
use profile::SizeHistogram;
use std::ops::RangeInclusive;

/// The block size for fullness and overwrites, in bytes: every file occupies whole blocks.
pub const BLOCK_BYTES: u64 = 4096;

/// The largest file of a workload, in bytes: no file system has larger ones, and its double does not overflow.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 40;

/// Blocks of a file of `size` bytes.
#[inline]
pub(crate) fn blocks(size: u64) -> u64 {
    size.div_ceil(BLOCK_BYTES)
}

/// Limit of the number of files: file numbers within a plan are 31 bits.
const MAX_FILES: u64 = 1 << 31;

/// Number of quantiles that estimate the total of a bin of many files.
const QUANTILES: u64 = 1024;

/// The sizes of the files that live at the end.
pub(crate) struct Sizes {
    /// Bins as in the profile: sizes above `lower` up to and including `upper`.
    bins: Vec<Bin>,
    /// Files in each bin.
    pub count: Vec<u64>,
    /// Target shares: those of the profile without the omitted bins, summing to 1.
    pub share: Vec<f64>,
    /// Bins that do not fit.
    pub omitted_bins: Vec<OmittedBin>,
    /// Tilt of the distribution within the bins, which adjusts the total to the fullness; 1 is log-uniform.
    tilt: f64,
}

#[derive(Clone, Copy)]
struct Bin {
    lower: u64,
    upper: u64,
    first: bool,
    /// The binary logarithm of `upper / lower`.
    octaves: f64,
}

impl Bin {
    /// The size at quantile `q` in 0 … 1.
    fn size(&self, q: f64) -> u64 {
        if self.upper == 0 {
            return 0;
        }
        let least = if self.first { 1 } else { self.lower + 1 };
        let size = if self.lower == 0 {
            self.upper as f64 * q
        } else {
            // The C library's exp2 may differ in the last digit between machines, libm's does not.
            self.lower as f64 * libm::exp2(self.octaves * q)
        };
        (size.ceil() as u64).clamp(least, self.upper)
    }

    /// Blocks of `n` files of this bin.
    fn blocks(&self, n: u64, tilt: f64) -> f64 {
        let seen = n.min(QUANTILES);
        let sum: u64 = (0..seen).map(|j| blocks(self.size(quantile(j, seen, tilt)))).sum();
        if seen == 0 { 0.0 } else { sum as f64 * (n as f64 / seen as f64) }
    }
}

fn quantile(j: u64, n: u64, tilt: f64) -> f64 {
    tilted((j as f64 + 0.5) / n as f64, tilt)
}

fn tilted(q: f64, tilt: f64) -> f64 {
    if tilt == 1.0 { q } else { libm::pow(q, tilt) }
}

impl Sizes {
    /// Finds the number and sizes of files that fill `live_bytes` best.
    pub fn fit(histogram: &SizeHistogram, live_bytes: u64) -> Result<Sizes, Error> {
        let mut lower = 0;
        let mut bins = Vec::new();
        for (i, &upper) in histogram.upper_bytes.iter().enumerate() {
            let octaves = libm::log2(upper as f64 / lower as f64);
            bins.push(Bin { lower, upper, first: i == 0, octaves });
            lower = upper;
        }
        let total: f64 = histogram.weight.iter().sum();
        let fits = |i: usize| bins[i].upper <= live_bytes;
        let kept: f64 = (0..bins.len()).filter(|&i| fits(i)).map(|i| histogram.weight[i]).sum();
        let omitted_bins = (0..bins.len())
            .filter(|&i| !fits(i) && histogram.weight[i] > 0.0)
            .map(|i| OmittedBin {
                lower_bytes: bins[i].lower,
                upper_bytes: bins[i].upper,
                share: histogram.weight[i] / total,
            })
            .collect();
        if kept <= 0.0 {
            return Err(Error::Conditions(format!(
                "no file size of the profile fits into {live_bytes} bytes; use a larger --size"
            )));
        }
        let share: Vec<f64> =
            (0..bins.len()).map(|i| if fits(i) { histogram.weight[i] / kept } else { 0.0 }).collect();
        let mut sizes = Sizes { count: vec![0; bins.len()], bins, share, omitted_bins, tilt: 1.0 };
        sizes.choose_count(live_bytes / BLOCK_BYTES)?;
        sizes.choose_tilt((live_bytes / BLOCK_BYTES) as f64);
        Ok(sizes)
    }

    /// The number of files.
    pub fn files(&self) -> u64 {
        self.count.iter().sum()
    }

    /// The sizes of `n` files of a bin, in rising order.
    pub fn of_bin(&self, bin: usize, n: u64) -> impl Iterator<Item = u64> + '_ {
        (0..n).map(move |j| self.bins[bin].size(quantile(j, n, self.tilt)))
    }

    /// The bin of a size.
    pub fn bin_of(&self, size: u64) -> usize {
        self.bins.partition_point(|b| b.upper < size).min(self.bins.len() - 1)
    }

    /// A random size of a bin.
    pub fn random(&self, bin: usize, rng: &mut Random) -> u64 {
        self.bins[bin].size(tilted(rng.unit(), self.tilt))
    }

    /// The largest size of a bin.
    pub fn largest(&self, bin: usize) -> u64 {
        self.bins[bin].upper
    }

    /// The greatest blocks of a file that fits into `room` blocks, and down to a quarter of that.
    pub fn largest_within(&self, room: u64) -> RangeInclusive<u64> {
        let of_bins = (0..self.bins.len()).filter(|&bin| self.share[bin] > 0.0);
        let largest = of_bins.map(|bin| blocks(self.largest(bin))).filter(|&most| most <= room).max();
        let largest = largest.unwrap_or_default();
        largest / 4..=largest
    }

    fn total(&self) -> f64 {
        self.bins.iter().zip(&self.count).map(|(bin, &n)| bin.blocks(n, self.tilt)).sum()
    }

    /// The number of files whose blocks come nearest to `wanted`. Whole files in rare bins make the total
    /// jump, so a fixed point need not exist; this takes the best of some steps, and the tilt corrects the
    /// rest.
    fn choose_count(&mut self, wanted: u64) -> Result<(), Error> {
        let mean: f64 =
            self.bins.iter().zip(&self.share).map(|(b, s)| s * b.blocks(QUANTILES, 1.0)).sum::<f64>()
                / QUANTILES as f64;
        if mean <= 0.0 {
            return Err(Error::Conditions("the profile has empty files only, which use no space".into()));
        }
        let mut files = wanted as f64 / mean;
        let mut best = (f64::INFINITY, 0);
        for _ in 0..24 {
            if files > MAX_FILES as f64 {
                return Err(Error::Conditions(format!(
                    "about {files:.0} files are needed, but at most {MAX_FILES} can be planned; use a \
                     smaller --size"
                )));
            }
            let n = (files.round() as u64).max(1);
            self.count = largest_remainder(&self.share, n);
            let total = self.total();
            let error = (total - wanted as f64).abs();
            if error < best.0 {
                best = (error, n);
            }
            files *= if total > 0.0 { (wanted as f64 / total).clamp(0.5, 2.0) } else { 2.0 };
        }
        self.count = largest_remainder(&self.share, best.1);
        Ok(())
    }

    /// Tilts the distribution within the bins until the blocks match `wanted`: the total falls as the tilt
    /// rises.
    fn choose_tilt(&mut self, wanted: f64) {
        let (mut low, mut high) = (-4.0f64, 4.0f64);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            self.tilt = libm::exp2(middle);
            match self.total() - wanted {
                off if off > 0.0 => low = middle,
                off if off > -0.5 => return,
                _ => high = middle,
            }
        }
        self.tilt = libm::exp2(high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(upper: &[u64], weight: &[f64]) -> SizeHistogram {
        SizeHistogram { upper_bytes: upper.to_vec(), weight: weight.to_vec() }
    }

    fn all(sizes: &Sizes) -> impl Iterator<Item = u64> + '_ {
        (0..sizes.count.len()).flat_map(|bin| sizes.of_bin(bin, sizes.count[bin]))
    }

    #[test]
    fn fills_requested_bytes() {
        for name in profile::builtin() {
            let profile = profile::load(name).unwrap();
            for live in [100 << 20, (2u64 << 30) / 5 * 4, 40 << 30] {
                let sizes = Sizes::fit(&profile.size, live).unwrap();
                let reached: u64 = all(&sizes).map(|s| blocks(s) * BLOCK_BYTES).sum();
                let off = reached as f64 / live as f64 - 1.0;
                assert!(off.abs() < 2e-3, "{name} at {live}: {off}");
                for size in all(&sizes) {
                    assert!(size <= live);
                }
            }
        }
    }

    #[test]
    fn counts_match_histogram() {
        let sizes = Sizes::fit(&histogram(&[0, 4096, 8192], &[1.0, 1.0, 2.0]), 1 << 20).unwrap();
        let n = sizes.files();
        assert_eq!(sizes.count, largest_remainder(&[0.25, 0.25, 0.5], n));
        let all: Vec<u64> = all(&sizes).collect();
        assert_eq!(all.iter().filter(|&&s| s == 0).count() as u64, sizes.count[0]);
        assert_eq!(all.iter().filter(|&&s| (1..=4096).contains(&s)).count() as u64, sizes.count[1]);
        assert!(all.iter().all(|&s| sizes.bin_of(s) < 3));
    }

    #[test]
    fn oversized_bins_are_omitted_and_reported() {
        let sizes = Sizes::fit(&histogram(&[4096, 1 << 30], &[3.0, 1.0]), 1 << 20).unwrap();
        assert_eq!(sizes.omitted_bins.len(), 1);
        assert_eq!(sizes.omitted_bins[0].share, 0.25);
        assert_eq!(sizes.files(), 256);
        assert!(Sizes::fit(&histogram(&[1 << 30], &[1.0]), 1 << 20).is_err());
        assert!(Sizes::fit(&histogram(&[0], &[1.0]), 1 << 20).is_err());
    }
}
