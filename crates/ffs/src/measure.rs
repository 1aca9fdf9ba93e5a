//! Measures of the layout of a simulated file system.

mod free;
mod scores;

pub use free::{FreeBin, FreeSpace};
pub use scores::{LayoutScore, SizeClass};

use crate::allocator::Allocator;
use crate::layout::Layout;
use crate::volume::Volume;
use scores::Scores;
use serde::Serialize;

/// The layout of a simulated file system.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measures {
    /// Number of files.
    pub files: u64,
    /// Number of directories, including the root.
    pub directories: u64,
    /// Share of the disk that is not free, including metadata.
    pub fullness: f64,
    /// Layout score of all files; none if no file has two blocks. Fragments at the end of a file count as a block, which is contiguous if its first
    /// fragment directly follows the previous block (Smith and Seltzer 1996, section 3).
    pub layout_score: Option<f64>,
    /// Layout score of the files that end in a whole block.
    pub layout_score_multiples: Option<f64>,
    /// Layout score of the other files, which end in fragments.
    pub layout_score_others: Option<f64>,
    /// Files with their first data block in another group than their inode (Smith and Seltzer 1997, §4.1).
    pub split_files: u64,
    /// These files over all files; 0 without files.
    pub split_file_share: f64,
    /// Share of the split files whose first data block is one group away from their inode; none without split files.
    pub split_adjacent_share: Option<f64>,
    /// Share of the split files whose first data block is at most ten groups away.
    pub split_within_ten_share: Option<f64>,
    /// Free space in partly used blocks over all free space.
    pub free_fragment_share: f64,
    /// The free space.
    pub free: FreeSpace,
    /// Layout by file size, without empty classes.
    pub by_size: Vec<SizeClass>,
}

/// Measures a file system in its current state. Data in a delayed allocation window has no blocks and so no score.
pub fn measure<A: Allocator>(volume: &Volume<A>) -> Measures {
    let allocator = volume.allocator();
    let units = allocator.block_units();
    let block_bytes = u64::from(units) * allocator.unit_bytes();
    let mut scores = Scores::default();
    let (mut split_files, mut adjacent, mut within_ten) = (0, 0, 0);
    volume.each_file(|file| {
        let apart = groups_apart(file.layout, allocator);
        split_files += u64::from(apart > 0);
        adjacent += u64::from(apart == 1);
        within_ten += u64::from((1..=10).contains(&apart));
        scores.add(&file, units, block_bytes);
    });
    let files = volume.files() as u64;
    let (free_bytes, fragment_bytes) = allocator.free_bytes();
    let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
    Measures {
        files,
        directories: volume.directories() as u64,
        fullness: 1.0 - share(free_bytes, allocator.size_bytes()),
        layout_score: scores.all.value(),
        layout_score_multiples: scores.multiples.value(),
        layout_score_others: scores.others.value(),
        split_files,
        split_file_share: share(split_files, files),
        split_adjacent_share: (split_files > 0).then(|| share(adjacent, split_files)),
        split_within_ten_share: (split_files > 0).then(|| share(within_ten, split_files)),
        free_fragment_share: share(fragment_bytes, free_bytes),
        free: FreeSpace::of(allocator, block_bytes),
        by_size: scores.by_size(),
    }
}

/// The number of groups between the inode of a file and its first data block; 0 without data.
pub(crate) fn groups_apart<A: Allocator>(file: &Layout, allocator: &A) -> u32 {
    let home = allocator.group_of_inode(file.inode);
    file.extents.first().map_or(0, |first| allocator.group_of_unit(first.start).abs_diff(home))
}
