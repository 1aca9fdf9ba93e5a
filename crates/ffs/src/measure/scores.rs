//! Layout scores: of all files, by size, and of files whose end is a whole block or fragments.

use crate::layout::Extent;
use crate::volume::FileView;
use serde::Serialize;
use std::collections::BTreeMap;

/// Blocks that directly follow their predecessor, and blocks that have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayoutScore {
    /// Blocks that directly follow their predecessor.
    pub contiguous: u64,
    /// Blocks with a predecessor.
    pub total: u64,
}

impl LayoutScore {
    /// The score of the extents of a file, in blocks of `units` units.
    pub fn of(extents: &[Extent], units: u32) -> LayoutScore {
        let mut score = LayoutScore::default();
        let mut before: Option<Extent> = None;
        for &extent in extents {
            let blocks = u64::from(extent.len.div_ceil(units));
            score.contiguous += blocks - 1;
            score.total += blocks - 1;
            if let Some(before) = before {
                score.total += 1;
                score.contiguous += u64::from(before.end() == extent.start);
            }
            before = Some(extent);
        }
        score
    }

    /// The share; none if no block has a predecessor.
    pub fn value(&self) -> Option<f64> {
        (self.total > 0).then(|| self.contiguous as f64 / self.total as f64)
    }

    /// Adds the blocks of other files.
    pub fn add(&mut self, other: LayoutScore) {
        self.contiguous += other.contiguous;
        self.total += other.total;
    }
}

/// The files of one size class: more than half of `upper_bytes`, up to `upper_bytes`; the first class includes all smaller files.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SizeClass {
    /// The largest size, a power of two.
    pub upper_bytes: u64,
    /// Number of files.
    pub files: u64,
    /// Layout score of the files.
    pub layout_score: Option<f64>,
    /// Layout score of the files that end in a whole block.
    pub layout_score_multiples: Option<f64>,
    /// Layout score of the others, which end in fragments.
    pub layout_score_others: Option<f64>,
    /// Share of the files of several blocks with a layout score below one half; none without such files.
    pub below_half_share: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Class {
    files: u64,
    /// Files of several blocks, and those of them with a score below one half.
    scored: u64,
    below_half: u64,
    multiples: LayoutScore,
    others: LayoutScore,
}

/// Running sums over files.
#[derive(Default)]
pub(super) struct Scores {
    pub all: LayoutScore,
    pub multiples: LayoutScore,
    pub others: LayoutScore,
    classes: BTreeMap<u64, Class>,
}

impl Scores {
    pub fn add(&mut self, file: &FileView<'_>, units: u32, block_bytes: u64) {
        let score = LayoutScore::of(&file.layout.extents, units);
        let size = file.layout.size;
        let class = self.classes.entry(size.next_power_of_two().max(block_bytes)).or_default();
        class.files += 1;
        class.scored += u64::from(score.total > 0);
        class.below_half += u64::from(2 * score.contiguous < score.total);
        self.all.add(score);
        let (of_class, of_all) = if file.layout.end().is_multiple_of(units) {
            (&mut class.multiples, &mut self.multiples)
        } else {
            (&mut class.others, &mut self.others)
        };
        of_class.add(score);
        of_all.add(score);
    }

    pub fn by_size(&self) -> Vec<SizeClass> {
        let class = |(&upper_bytes, class): (&u64, &Class)| {
            let mut all = class.multiples;
            all.add(class.others);
            SizeClass {
                upper_bytes,
                files: class.files,
                layout_score: all.value(),
                layout_score_multiples: class.multiples.value(),
                layout_score_others: class.others.value(),
                below_half_share: (class.scored > 0).then(|| class.below_half as f64 / class.scored as f64),
            }
        };
        self.classes.iter().map(class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u32, start: u32, len: u32) -> Extent {
        Extent { logical, start, len }
    }

    /// Two contiguous blocks and two fragments elsewhere: the second block is contiguous, the end is not. With the end directly behind, both
    /// are.
    #[test]
    fn fragments_at_the_end_count_as_a_block() {
        let apart = LayoutScore::of(&[extent(0, 80, 16), extent(16, 200, 2)], 8);
        assert_eq!(apart, LayoutScore { contiguous: 1, total: 2 });
        assert_eq!(LayoutScore::of(&[extent(0, 80, 18)], 8), LayoutScore { contiguous: 2, total: 2 });
        assert_eq!(LayoutScore::of(&[extent(0, 80, 3)], 8).value(), None);
    }

    #[test]
    fn holes_are_skipped() {
        assert_eq!(
            LayoutScore::of(&[extent(0, 80, 8), extent(80, 88, 8)], 8),
            LayoutScore { contiguous: 1, total: 1 }
        );
    }
}
