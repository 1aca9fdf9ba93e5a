//! The static layout of a tree: the on-disk layout of its files, computed from their extent maps alone (DESIGN §3; the
//! layout score is from Smith & Seltzer 1997).

use crate::free_space::{Bins, ExtentBin};
use crate::mapped::each_mapped;
use crate::pieces::pieces;
use crate::sample::{FileMap, Sample};
use crate::{FileExtent, Result};
use disk::Extent;
use serde::{Deserialize, Serialize};
use snapshot::layout::{Chain, Layout};
use std::collections::BTreeMap;
use std::path::Path;

/// The on-disk layout of the files of a tree.
///
/// Inline data has no blocks, holes are skipped, unwritten extents count, and a file with several names
/// counts once. Compressed extents count with their length in the file, so their scores are too low.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StaticLayout {
    /// Block size that the scores use.
    pub block_bytes: u64,
    /// Mapped regular files.
    pub files: u64,
    /// Mapped files with blocks.
    pub files_with_blocks: u64,
    /// Extents: runs without a gap in the file or on disk. A run longer than the file system's longest
    /// extent counts as the minimum number of extents it needs.
    pub extents: u64,
    /// Blocks.
    pub blocks: u64,
    /// Share of the blocks 2…n of the files that directly follow their predecessor; `None` if no file
    /// has two blocks.
    pub layout_score: Option<f64>,
    /// Extents over the least number the file system could have used; `None` without extents.
    pub degree_of_fragmentation: Option<f64>,
    /// The layout score of all blocks of all files as one chain, in scan order.
    pub scan_layout_score: Option<f64>,
    /// The same figures by file size, without empty classes.
    pub by_size: Vec<SizeClass>,
    /// Extents by length, each a run without a gap in the file or on disk. Empty in layouts of earlier versions.
    #[serde(default)]
    pub extents_by_length: Vec<ExtentBin>,
    /// Files that could not be mapped, because they were deleted or access was denied.
    pub skipped: u64,
    /// A sample of the files, evenly spaced in scan order: at most 240 files with 20,000 extents in total.
    pub block_map: Vec<FileMap>,
    /// The extents that a scan reads from disk, in order; for [`disk::model::price_extents`].
    pub scan_extents: Vec<Extent>,
}

/// The layout of the files of one size class: more than half of `upper_bytes`, up to `upper_bytes`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeClass {
    /// The largest size, a power of two; the first class is 4 KiB and contains all smaller files.
    pub upper_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Their extents.
    pub extents: u64,
    /// Their layout score.
    pub layout_score: Option<f64>,
    /// Their degree of fragmentation.
    pub degree_of_fragmentation: Option<f64>,
}

/// Maps every file below `root`. Writes back delayed data first, so that all data has a location.
/// `max_extent_bytes` is the longest extent the file system can make (128 MiB on ext4 with 4 KiB blocks).
pub fn static_layout(root: &Path, block_bytes: u64, max_extent_bytes: u64) -> Result<StaticLayout> {
    let mut survey = Survey::new(block_bytes, max_extent_bytes);
    let skipped = each_mapped(root, |_, size_bytes, extents| survey.add(size_bytes, extents))?;
    Ok(survey.finish(skipped))
}

/// Accumulates the layout of a tree file by file.
pub(crate) struct Survey {
    block_bytes: u64,
    max_extent_bytes: u64,
    all: Layout,
    files_with_blocks: u64,
    classes: BTreeMap<u64, Layout>,
    lengths: Bins,
    chain: Chain,
    sample: Sample,
    scan_extents: Vec<Extent>,
}

impl Survey {
    pub(crate) fn new(block_bytes: u64, max_extent_bytes: u64) -> Survey {
        Survey {
            block_bytes,
            max_extent_bytes,
            all: Layout::default(),
            files_with_blocks: 0,
            classes: BTreeMap::new(),
            lengths: Bins::default(),
            chain: Chain::default(),
            sample: Sample::new(),
            scan_extents: Vec::new(),
        }
    }

    /// Adds the next file in scan order.
    pub(crate) fn add(&mut self, size_bytes: u64, extents: &[FileExtent]) {
        let pieces = pieces(extents);
        let sums = Layout::of_file(&pieces, self.block_bytes, self.max_extent_bytes);
        self.all.add(sums);
        self.classes.entry(size_bytes.next_power_of_two().max(4096)).or_default().add(sums);
        if pieces.is_empty() {
            return;
        }
        self.files_with_blocks += 1;
        self.sample.offer(size_bytes, &pieces);
        for piece in &pieces {
            self.lengths.add(piece.len);
            self.chain.add_run(piece.physical, piece.len, self.block_bytes);
            match self.scan_extents.last_mut() {
                Some(last) if last.end_bytes() == piece.physical => last.len_bytes += piece.len,
                _ => self.scan_extents.push(Extent { start_bytes: piece.physical, len_bytes: piece.len }),
            }
        }
    }

    /// Computes the final figures.
    pub(crate) fn finish(self, skipped: u64) -> StaticLayout {
        let class = |(upper_bytes, sums): (u64, Layout)| SizeClass {
            upper_bytes,
            files: sums.files,
            extents: sums.extents,
            layout_score: sums.layout_score(),
            degree_of_fragmentation: sums.degree_of_fragmentation(),
        };
        StaticLayout {
            block_bytes: self.block_bytes,
            files: self.all.files,
            files_with_blocks: self.files_with_blocks,
            extents: self.all.extents,
            blocks: self.all.blocks,
            layout_score: self.all.layout_score(),
            degree_of_fragmentation: self.all.degree_of_fragmentation(),
            scan_layout_score: self.chain.score(),
            by_size: self.classes.into_iter().map(class).collect(),
            extents_by_length: self.lengths.finish(),
            skipped,
            block_map: self.sample.finish(),
            scan_extents: self.scan_extents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExtentFlags;

    const BLOCK: u64 = 4096;

    /// An extent in blocks: offset in the file, offset on disk, length.
    fn extent(logical: u64, physical: u64, len: u64) -> FileExtent {
        let flags = ExtentFlags::default();
        FileExtent { logical: logical * BLOCK, physical: physical * BLOCK, len: len * BLOCK, flags }
    }

    fn flagged(flags: ExtentFlags, extent: FileExtent) -> FileExtent {
        FileExtent { flags, ..extent }
    }

    fn layout(max_extent_blocks: u64, files: &[&[FileExtent]]) -> StaticLayout {
        let mut survey = Survey::new(BLOCK, max_extent_blocks * BLOCK);
        for extents in files {
            survey.add(extents.last().map_or(0, |last| last.logical_end()), extents);
        }
        survey.finish(0)
    }

    #[test]
    fn one_run_is_perfect_and_alternating_blocks_are_not() {
        let whole = layout(32768, &[&[extent(0, 100, 10)]]);
        assert_eq!((whole.layout_score, whole.degree_of_fragmentation), (Some(1.0), Some(1.0)));
        let torn = layout(32768, &[&[extent(0, 100, 1), extent(1, 102, 1), extent(2, 104, 1)]]);
        assert_eq!((torn.layout_score, torn.degree_of_fragmentation), (Some(0.0), Some(3.0)));
        assert_eq!((torn.extents, torn.blocks), (3, 3));
        let lengths = |layout: &StaticLayout| -> Vec<_> {
            layout.extents_by_length.iter().map(|bin| (bin.lower_bytes, bin.extents)).collect()
        };
        assert_eq!((lengths(&whole), lengths(&torn)), (vec![(8 * BLOCK, 1)], vec![(BLOCK, 3)]));
    }

    #[test]
    fn aggregate_is_a_sum_not_a_mean() {
        // 9 of 9 and 0 of 1 make 9 of 10; the mean of the scores would be 0.5.
        let both = layout(32768, &[&[extent(0, 0, 10)], &[extent(0, 50, 1), extent(1, 40, 1)]]);
        assert_eq!((both.layout_score, both.degree_of_fragmentation), (Some(0.9), Some(1.5)));
        // As one chain of 12 blocks, two of 11 joints are discontiguous.
        assert_eq!(both.scan_layout_score, Some(9.0 / 11.0));
    }

    #[test]
    fn holes_are_not_fragmentation() {
        let sparse = layout(32768, &[&[extent(0, 100, 2), extent(10, 102, 2), extent(20, 300, 1)]]);
        assert_eq!((sparse.layout_score, sparse.degree_of_fragmentation), (Some(3.0 / 4.0), Some(1.0)));
        assert_eq!(sparse.scan_extents.len(), 2);
    }

    #[test]
    fn adjacent_written_and_unwritten_extents_merge() {
        let unwritten = flagged(ExtentFlags::UNWRITTEN, extent(5, 105, 5));
        let layout = layout(32768, &[&[extent(0, 100, 5), unwritten]]);
        assert_eq!((layout.extents, layout.blocks), (1, 10));
        assert_eq!((layout.layout_score, layout.degree_of_fragmentation), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn files_without_two_blocks_have_no_score() {
        let inline = flagged(ExtentFlags::INLINE, extent(0, 0, 1));
        let none = layout(32768, &[&[extent(0, 7, 1)], &[inline], &[]]);
        assert_eq!((none.files, none.files_with_blocks, none.blocks), (3, 1, 1));
        assert_eq!((none.layout_score, none.scan_layout_score), (None, None));
        assert_eq!(none.degree_of_fragmentation, Some(1.0));
    }

    #[test]
    fn long_runs_count_as_several_extents() {
        // 25 blocks in extents of at most 10 need at least 3, however long the run on disk.
        let whole = layout(10, &[&[extent(0, 0, 25)]]);
        assert_eq!((whole.extents, whole.degree_of_fragmentation), (3, Some(1.0)));
        let torn = layout(10, &[&[extent(0, 0, 15), extent(15, 50, 10)]]);
        assert_eq!((torn.extents, torn.degree_of_fragmentation), (3, Some(1.0)));
        let worse = layout(10, &[&[extent(0, 0, 12), extent(12, 50, 13)]]);
        assert_eq!((worse.extents, worse.degree_of_fragmentation), (4, Some(4.0 / 3.0)));
    }

    #[test]
    fn files_fall_into_size_classes() {
        let layout = layout(
            32768,
            &[&[], &[extent(0, 0, 1)], &[extent(0, 5, 2)], &[extent(0, 10, 1), extent(1, 20, 2)]],
        );
        let classes: Vec<_> = layout
            .by_size
            .iter()
            .map(|class| (class.upper_bytes, class.files, class.extents, class.layout_score))
            .collect();
        assert_eq!(classes, [(4096, 2, 1, None), (8192, 1, 1, Some(1.0)), (16384, 1, 2, Some(0.5))]);
    }
}
