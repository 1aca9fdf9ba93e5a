//! The fragmentation of free space.

use disk::Extent;
use serde::{Deserialize, Serialize};

/// A summary of the free extents of a file system.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Number of free extents.
    pub extents: u64,
    /// Sum of their lengths.
    pub total_bytes: u64,
    /// Their mean length; 0 if there are none.
    pub mean_bytes: f64,
    /// The longest; 0 if there are none.
    pub largest_bytes: u64,
    /// Extents by length, from the shortest non-empty bin to the longest; bins in between may be empty.
    pub histogram: Vec<ExtentBin>,
}

/// The extents with lengths from `lower_bytes` to twice that, exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExtentBin {
    /// The minimum length, a power of two.
    pub lower_bytes: u64,
    /// Number of extents.
    pub extents: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

/// Summarizes free extents, which may be in any order but must not repeat.
pub fn free_space(free: &[Extent]) -> FreeSpace {
    let mut bins = Bins::default();
    free.iter().for_each(|extent| bins.add(extent.len_bytes));
    let histogram = bins.finish();
    let extents: u64 = histogram.iter().map(|bin| bin.extents).sum();
    let total_bytes = histogram.iter().map(|bin| bin.bytes).sum();
    FreeSpace {
        extents,
        total_bytes,
        mean_bytes: total_bytes as f64 / extents.max(1) as f64,
        largest_bytes: free.iter().map(|extent| extent.len_bytes).max().unwrap_or(0),
        histogram,
    }
}

/// Counts extents by length.
#[derive(Default)]
pub(crate) struct Bins(Vec<ExtentBin>);

impl Bins {
    /// Adds an extent; ignores one of length 0.
    pub(crate) fn add(&mut self, len_bytes: u64) {
        let Some(power) = len_bytes.checked_ilog2() else { return };
        while self.0.len() <= power as usize {
            self.0.push(ExtentBin { lower_bytes: 1 << self.0.len(), extents: 0, bytes: 0 });
        }
        let bin = &mut self.0[power as usize];
        bin.extents += 1;
        bin.bytes += len_bytes;
    }

    /// The bins from the shortest non-empty one to the longest.
    pub(crate) fn finish(self) -> Vec<ExtentBin> {
        self.0.into_iter().skip_while(|bin| bin.extents == 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(lengths: &[u64]) -> Vec<Extent> {
        lengths.iter().map(|&len_bytes| Extent { start_bytes: 0, len_bytes }).collect()
    }

    #[test]
    fn bins_are_powers_of_two() {
        let free = free_space(&extents(&[4096, 8191, 16384, 4096]));
        assert_eq!((free.extents, free.total_bytes, free.largest_bytes), (4, 32767, 16384));
        assert_eq!(free.mean_bytes, 32767.0 / 4.0);
        let bins: Vec<_> =
            free.histogram.iter().map(|bin| (bin.lower_bytes, bin.extents, bin.bytes)).collect();
        assert_eq!(bins, [(4096, 3, 16383), (8192, 0, 0), (16384, 1, 16384)]);
    }

    #[test]
    fn full_file_system_has_no_bins() {
        let free = free_space(&[]);
        assert_eq!((free.extents, free.mean_bytes, free.largest_bytes), (0, 0.0, 0));
        assert!(free.histogram.is_empty());
    }
}
