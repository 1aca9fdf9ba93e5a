//! The tree and the commits of a large C project in numbers: the history of U-Boot up to commit 6073c36b2c8d
//! (38,570 files, 2,732 directories, 260 MB; its last 10,000 commits that are no merges), which has the layout
//! of the Linux kernel, and shares code with it. Quantiles of the output of
//!
//! ```text
//! git ls-tree -r -l 6073c36b2c8d
//! git log --no-merges -M -n 10000 --raw --numstat 6073c36b2c8d
//! ```

use crate::random::Random;

/// A distribution by its quantiles: shares of all, and values, both ascending.
pub(super) struct Quantiles(&'static [(f64, f64)]);

impl Quantiles {
    /// The value below which `share` of all are: geometric between two quantiles, counted from -1 because
    /// values may be 0.
    pub fn at(&self, share: f64) -> usize {
        let next = self.0.partition_point(|&(upto, _)| upto <= share).clamp(1, self.0.len() - 1);
        let ((low_share, low), (high_share, high)) = (self.0[next - 1], self.0[next]);
        let part = (share - low_share) / (high_share - low_share);
        libm::round((low + 1.0) * libm::pow((high + 1.0) / (low + 1.0), part) - 1.0) as usize
    }

    /// A random value.
    pub fn draw(&self, random: &mut Random) -> usize {
        self.at(random.unit())
    }
}

/// `count` shares from 0 to 1 at equal distances, in random order: quantiles have the total of their
/// distribution, which random values with its long tail only have in the mean.
pub(super) fn spread(count: usize, random: &mut Random) -> impl Iterator<Item = f64> {
    let mut order: Vec<usize> = (0..count).collect();
    random.shuffle(&mut order);
    order.into_iter().map(move |place| (place as f64 + 0.5) / count as f64)
}

/// Mean size of a file in bytes.
#[cfg(test)]
pub(super) const MEAN_BYTES: usize = 6_747;

/// Sizes of files in bytes.
pub(super) const FILE_BYTES: Quantiles = Quantiles(&[
    (0.0, 0.0),
    (0.05, 167.0),
    (0.1, 261.0),
    (0.2, 535.0),
    (0.3, 921.0),
    (0.4, 1_364.0),
    (0.5, 1_961.0),
    (0.6, 2_785.0),
    (0.7, 4_104.0),
    (0.8, 6_784.0),
    (0.9, 13_874.0),
    (0.95, 24_748.0),
    (0.98, 44_224.0),
    (0.99, 68_809.0),
    (0.995, 106_859.0),
    (0.999, 324_325.0),
    (0.9995, 427_760.0),
    (0.9999, 1_990_373.0),
    (1.0, 3_057_692.0),
]);

/// Mean number of files in a directory, of those that have any.
pub(super) const FILES_PER_DIR_MEAN: f64 = 14.12;

/// Files in a directory.
pub(super) const FILES_PER_DIR: Quantiles = Quantiles(&[
    (0.0, 1.0),
    (0.15, 1.0),
    (0.2, 2.0),
    (0.3, 3.0),
    (0.4, 4.0),
    (0.5, 5.0),
    (0.6, 6.0),
    (0.7, 7.0),
    (0.8, 11.0),
    (0.9, 21.0),
    (0.95, 47.0),
    (0.98, 98.0),
    (0.99, 167.0),
    (0.995, 271.0),
    (0.998, 598.0),
    (0.999, 771.0),
    (1.0, 2_369.0),
]);

/// Share of the files that the largest directory has.
pub(super) const LARGEST_DIR: f64 = 0.061;

/// Shares of the directories at depth 1, 2, and so on.
pub(super) const DIR_DEPTHS: [f64; 8] = [0.008, 0.096, 0.443, 0.178, 0.186, 0.053, 0.025, 0.011];

/// Mean number of files that a commit changes; most of it comes from one commit in a hundred.
#[cfg(test)]
pub(super) const FILES_PER_COMMIT_MEAN: f64 = 4.29;

/// Files that a commit changes.
pub(super) const FILES_PER_COMMIT: Quantiles = Quantiles(&[
    (0.0, 1.0),
    (0.63, 1.0),
    (0.65, 2.0),
    (0.75, 2.0),
    (0.8, 3.0),
    (0.85, 3.0),
    (0.9, 4.0),
    (0.95, 8.0),
    (0.98, 15.0),
    (0.99, 25.0),
    (0.995, 46.0),
    (0.997, 89.0),
    (0.998, 167.0),
    (0.9985, 287.0),
    (0.999, 868.0),
    (0.9995, 1_366.0),
    (1.0, 1_565.0),
]);

/// Shares of files that a commit modifies, adds, deletes and renames.
pub(super) const CHANGES: [f64; 4] = [0.806, 0.121, 0.044, 0.029];

/// Share of renames that leave the file in its directory.
pub(super) const RENAMES_WITHIN_DIR: f64 = 0.1;

/// Share of the files of a commit that are in the directory of the file before, and in its top directory.
pub(super) const SAME_DIR: f64 = 0.76;
pub(super) const SAME_TOP: f64 = 0.91;

/// Lines added to a file by a commit that modifies it.
pub(super) const LINES_ADDED: Quantiles = Quantiles(&[
    (0.0, 0.0),
    (0.14, 0.0),
    (0.2, 1.0),
    (0.45, 1.0),
    (0.5, 2.0),
    (0.6, 3.0),
    (0.7, 5.0),
    (0.8, 10.0),
    (0.9, 26.0),
    (0.95, 52.0),
    (0.98, 116.0),
    (0.99, 191.0),
    (0.999, 729.0),
    (1.0, 6_260.0),
]);

/// Lines deleted from it; nearly independent of the lines added (rank correlation 0.07).
pub(super) const LINES_DELETED: Quantiles = Quantiles(&[
    (0.0, 0.0),
    (0.31, 0.0),
    (0.4, 1.0),
    (0.6, 1.0),
    (0.7, 2.0),
    (0.8, 4.0),
    (0.9, 10.0),
    (0.95, 21.0),
    (0.98, 54.0),
    (0.99, 94.0),
    (0.999, 767.0),
    (1.0, 8_848.0),
]);

/// Share of all changes that the most changed 1, 5 and 10 % of the directories have.
#[cfg(test)]
pub(super) const HOT_DIRS: [(f64, f64); 3] = [(0.01, 0.472), (0.05, 0.715), (0.1, 0.819)];

/// Share of all changes that the most changed 5 and 10 % of the files have.
#[cfg(test)]
pub(super) const HOT_FILES: [(f64, f64); 2] = [(0.05, 0.390), (0.1, 0.546)];

/// Skew of changes: a directory's are proportional to its files times `u^-DIR_SKEW`, with `u` uniform in
/// (0, 1). Fitted to the shares of the hottest directories, which differ by a tenth between seeds.
pub(super) const DIR_SKEW: f64 = 0.9;

/// Skew within a directory: of `n` files, newest first, number `n u^FILE_SKEW` changes. Fitted to the shares
/// of the hottest files; the hottest 1 % have 10 to 13 % of the changes, in the original 16 %.
pub(super) const FILE_SKEW: f64 = 2.0;
