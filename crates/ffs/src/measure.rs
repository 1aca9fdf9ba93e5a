//! Measures of the layout of a simulated file system.

mod free;
mod scores;

pub use free::{FreeBin, FreeSpace};
pub use scores::{LayoutScore, SizeClass};

use crate::allocator::Allocator;
use crate::geometry::DIRECT;
use crate::volume::{FileView, Volume};
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
    /// Layout score of the files with a size that is a multiple of the block.
    pub layout_score_multiples: Option<f64>,
    /// Layout score of the other files, whose end may be fragments.
    pub layout_score_others: Option<f64>,
    /// Files with at least one of their first twelve blocks in another group than their inode.
    pub split_files: u64,
    /// These files over all files; 0 without files.
    pub split_file_share: f64,
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
    let mut split_files = 0;
    volume.each_file(|file| {
        split_files += u64::from(is_split(&file, allocator));
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
        free_fragment_share: share(fragment_bytes, free_bytes),
        free: FreeSpace::of(allocator, block_bytes),
        by_size: scores.by_size(),
    }
}

/// Whether one of the first twelve blocks is in another group than the inode.
fn is_split<A: Allocator>(file: &FileView<'_>, allocator: &A) -> bool {
    let home = allocator.group_of_inode(file.layout.inode);
    let direct =
        file.layout.extents.iter().take_while(|extent| extent.logical < DIRECT * allocator.block_units());
    direct.into_iter().any(|extent| {
        let units = extent.len.min(DIRECT * allocator.block_units() - extent.logical);
        [extent.start, extent.start + units - 1].iter().any(|&unit| allocator.group_of_unit(unit) != home)
    })
}
