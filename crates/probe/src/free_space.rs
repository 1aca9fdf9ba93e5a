//! How the free space of a file system is cut up.

use disk::Extent;
use serde::{Deserialize, Serialize};

/// The free extents of a file system, summed up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FreeSpace {
    /// Free extents.
    pub extents: u64,
    /// Sum of their lengths.
    pub total_bytes: u64,
    /// Their mean length; 0 where there is none.
    pub mean_bytes: f64,
    /// The longest; 0 where there is none.
    pub largest_bytes: u64,
    /// Extents by length, from the shortest bin in use to the longest; bins between them may be empty.
    pub histogram: Vec<ExtentBin>,
}

/// The extents of lengths from `lower_bytes` to twice that, less one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExtentBin {
    /// The least length, a power of two.
    pub lower_bytes: u64,
    /// How many there are.
    pub extents: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

/// Sums up free extents, given in any order and each once.
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
    /// Takes in an extent; one of no length is none.
    pub(crate) fn add(&mut self, len_bytes: u64) {
        let Some(power) = len_bytes.checked_ilog2() else { return };
        while self.0.len() <= power as usize {
            self.0.push(ExtentBin { lower_bytes: 1 << self.0.len(), extents: 0, bytes: 0 });
        }
        let bin = &mut self.0[power as usize];
        bin.extents += 1;
        bin.bytes += len_bytes;
    }

    /// From the shortest bin in use to the longest.
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
    fn extents_fall_into_powers_of_two() {
        let free = free_space(&extents(&[4096, 8191, 16384, 4096]));
        assert_eq!((free.extents, free.total_bytes, free.largest_bytes), (4, 32767, 16384));
        assert_eq!(free.mean_bytes, 32767.0 / 4.0);
        let bins: Vec<_> =
            free.histogram.iter().map(|bin| (bin.lower_bytes, bin.extents, bin.bytes)).collect();
        assert_eq!(bins, [(4096, 3, 16383), (8192, 0, 0), (16384, 1, 16384)]);
    }

    #[test]
    fn a_full_file_system_has_no_bins() {
        let free = free_space(&[]);
        assert_eq!((free.extents, free.mean_bytes, free.largest_bytes), (0, 0.0, 0));
        assert!(free.histogram.is_empty());
    }
}
