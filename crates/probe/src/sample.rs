//! A sample of the files of a tree with their extents, small enough to draw.

use serde::{Deserialize, Serialize};
use snapshot::Extent;

/// Maximum number of files in a sample.
const MAX_FILES: usize = 240;

/// Maximum number of extents in a sample.
const MAX_EXTENTS: usize = 20_000;

/// The extents of one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileMap {
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Runs of (offset in the file, offset on disk, length), in bytes.
    pub extents: Vec<(u64, u64, u64)>,
}

/// Picks files evenly from a sequence of unknown length: takes every `stride`-th file, and on overflow drops every second one and doubles
/// the stride.
pub(crate) struct Sample {
    stride: u64,
    seen: u64,
    files: Vec<FileMap>,
}

impl Sample {
    pub(crate) fn new() -> Sample {
        Sample { stride: 1, seen: 0, files: Vec::new() }
    }

    /// Offers the next file, given as runs of contiguous blocks.
    pub(crate) fn offer(&mut self, size_bytes: u64, pieces: &[Extent]) {
        if self.seen.is_multiple_of(self.stride) {
            if self.files.len() == MAX_FILES {
                every(&mut self.files, 2);
                self.stride *= 2;
            }
            let extents = pieces.iter().map(|piece| (piece.logical, piece.physical, piece.len)).collect();
            self.files.push(FileMap { size_bytes, extents });
        }
        self.seen += 1;
    }

    /// Returns the sample. If it has too many extents, each file keeps its first and every k-th extent.
    pub(crate) fn finish(mut self) -> Vec<FileMap> {
        let extents: usize = self.files.iter().map(|file| file.extents.len()).sum();
        if extents > MAX_EXTENTS {
            // Rounding up adds at most one extent per file.
            let step = extents.div_ceil(MAX_EXTENTS - MAX_FILES);
            self.files.iter_mut().for_each(|file| every(&mut file.extents, step));
        }
        self.files
    }
}

/// Keeps the first item and every `step`-th after it.
fn every<T>(items: &mut Vec<T>, step: usize) {
    let mut index = 0usize;
    items.retain(|_| {
        index += 1;
        (index - 1).is_multiple_of(step)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(files: u64, extents: u64) -> Vec<FileMap> {
        let pieces: Vec<_> = (0..extents).map(|i| Extent { logical: i, physical: 2 * i, len: 1 }).collect();
        let mut sample = Sample::new();
        (0..files).for_each(|size| sample.offer(size, &pieces));
        sample.finish()
    }

    #[test]
    fn small_sample_keeps_all_files_and_extents() {
        let files = sample(240, 3);
        assert_eq!(files.len(), 240);
        assert_eq!(files[7], FileMap { size_bytes: 7, extents: vec![(0, 0, 1), (1, 2, 1), (2, 4, 1)] });
    }

    proptest! {
        #[test]
        fn large_sample_is_evenly_spaced(files in 1u64..3000, extents in 1u64..300) {
            let sample = sample(files, extents);
            prop_assert!(sample.len() <= MAX_FILES && sample.len() as u64 >= files.min(MAX_FILES as u64 / 2));
            prop_assert!(sample.iter().map(|file| file.extents.len()).sum::<usize>() <= MAX_EXTENTS);
            let gaps: Vec<_> = sample.windows(2).map(|pair| pair[1].size_bytes - pair[0].size_bytes).collect();
            prop_assert!(gaps.windows(2).all(|pair| pair[0] == pair[1]));
            prop_assert!(sample.iter().all(|file| !file.extents.is_empty()));
        }
    }
}
