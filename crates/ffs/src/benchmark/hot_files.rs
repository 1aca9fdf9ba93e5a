//! Hot files (Smith and Seltzer 1997, section 4): the files changed in the last 30 days are read, and then overwritten in place, directory by
//! directory.

use super::{in_order, read_bytes_per_s, speed};
use crate::allocator::Allocator;
use crate::cost::Cost;
use crate::layout::Layout;
use crate::measure::{LayoutScore, groups_apart};
use crate::volume::Volume;
use disk::model::Model;
use serde::Serialize;

/// Number of days after its last change for which a file is hot; a checkpoint of the trace ends a day.
pub const HOT_DAYS: u64 = 30;

/// The result of the hot files benchmark.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotFiles {
    /// Number of hot files.
    pub files: u64,
    /// Hot files over all files.
    pub file_share: f64,
    /// Allocated space of the hot files in bytes.
    pub bytes: u64,
    /// Allocated space of the hot files over that of all files.
    pub space_share: f64,
    /// Hot files with their first data block in another group than their inode.
    pub split_files: u64,
    /// Layout score of the hot files.
    pub layout_score: Option<f64>,
    /// Read throughput.
    pub read_bytes_per_s: Option<f64>,
    /// Overwrite throughput.
    pub write_bytes_per_s: Option<f64>,
}

/// Reads the hot files and overwrites them. None if the trace has fewer than [`HOT_DAYS`] checkpoints, because the hot files are unknown
/// then.
pub fn hot_files<A: Allocator>(volume: &Volume<A>, model: &Model) -> Option<HotFiles> {
    let since = volume.counts().checkpoints.checked_sub(HOT_DAYS)?;
    let files = in_order(volume, |day| u64::from(day) >= since);
    let units = volume.allocator().block_units();
    let mut score = LayoutScore::default();
    files.iter().for_each(|file| score.add(LayoutScore::of(&file.extents, units)));
    let split = |file: &&Layout| groups_apart(file, volume.allocator()) > 0;
    let space: u64 = files.iter().map(|file| allocated(file, units)).sum();
    let mut all_space = 0;
    volume.each_file(|file| all_space += allocated(file.layout, units));
    let mut cost = Cost::new(volume.allocator(), model);
    files.iter().for_each(|file| cost.overwrite(file));
    cost.flush();
    Some(HotFiles {
        files: files.len() as u64,
        file_share: files.len() as f64 / volume.files().max(1) as f64,
        bytes: space * volume.allocator().unit_bytes(),
        space_share: space as f64 / all_space.max(1) as f64,
        split_files: files.iter().filter(split).count() as u64,
        layout_score: score.value(),
        read_bytes_per_s: read_bytes_per_s(volume, model, &files),
        write_bytes_per_s: speed(&files, cost.finish()),
    })
}

/// The allocated units of a file: its data and its indirect blocks.
fn allocated(file: &Layout, block_units: u32) -> u64 {
    let data: u64 = file.extents.iter().map(|extent| u64::from(extent.len)).sum();
    data + file.indirect.len() as u64 * u64::from(block_units)
}
