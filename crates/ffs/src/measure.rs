//! How the files of a simulated file system lie, in numbers.

mod free;
mod scores;

pub use free::{FreeBin, FreeSpace};
pub use scores::{Score, SizeClass};

use crate::allocator::Allocator;
use crate::geometry::DIRECT;
use crate::volume::{FileView, Volume};
use scores::Scores;
use serde::Serialize;

/// How the files of a simulated file system lie.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measures {
    /// Files.
    pub files: u64,
    /// Directories, the root included.
    pub directories: u64,
    /// Share of the disk that is not free, metadata included.
    pub fullness: f64,
    /// The layout score of all files; none where no file has two blocks. Fragments at the end of a file count as a block, which
    /// lies well if the first of them directly follows the block before (Smith and Seltzer 1996, section 3).
    pub layout_score: Option<f64>,
    /// That of the files whose size is a multiple of the block.
    pub layout_score_multiples: Option<f64>,
    /// That of the files whose size is no multiple of the block, of those whose end may be fragments.
    pub layout_score_others: Option<f64>,
    /// Files with at least one of their first twelve blocks in another group than their inode.
    pub split_files: u64,
    /// These over all files; 0 without files.
    pub split_file_share: f64,
    /// Free space in blocks that files hold a part of, over all free space.
    pub free_fragment_share: f64,
    /// The free space.
    pub free: FreeSpace,
    /// Layout by size of files, classes without files left out.
    pub by_size: Vec<SizeClass>,
}

/// Measures a file system as it stands. What waits in a window has no blocks and so no score.
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
        layout_score: scores.all.score(),
        layout_score_multiples: scores.multiples.score(),
        layout_score_others: scores.others.score(),
        split_files,
        split_file_share: share(split_files, files),
        free_fragment_share: share(fragment_bytes, free_bytes),
        free: FreeSpace::of(allocator, block_bytes),
        by_size: scores.by_size(),
    }
}

/// Whether one of the first twelve blocks lies in another group than the inode.
fn is_split<A: Allocator>(file: &FileView<'_>, allocator: &A) -> bool {
    let home = allocator.group_of_inode(file.layout.inode);
    let direct =
        file.layout.pieces.iter().take_while(|piece| piece.logical < DIRECT * allocator.block_units());
    direct.into_iter().any(|piece| {
        let units = piece.len.min(DIRECT * allocator.block_units() - piece.logical);
        [piece.start, piece.start + units - 1].iter().any(|&unit| allocator.group_of_unit(unit) != home)
    })
}
