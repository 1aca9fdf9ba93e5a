//! Hot files (Smith and Seltzer 1997, section 4): what was changed in the last 30 days is read, and then written over in place,
//! directory by directory.

use super::{in_order, read_bytes_per_s, speed};
use crate::allocator::Allocator;
use crate::cost::Cost;
use crate::measure::Score;
use crate::volume::Volume;
use disk::model::Model;
use serde::Serialize;

/// Days for which a file is hot after its last change; a checkpoint of the trace ends a day.
pub const HOT_DAYS: u64 = 30;

/// What the hot files benchmark found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HotFiles {
    /// Hot files.
    pub files: u64,
    /// These over all files.
    pub file_share: f64,
    /// Their bytes.
    pub bytes: u64,
    /// Their layout score.
    pub layout_score: Option<f64>,
    /// Throughput of reading them.
    pub read_bytes_per_s: Option<f64>,
    /// Throughput of writing them over.
    pub write_bytes_per_s: Option<f64>,
}

/// Reads the hot files and writes them over. None where the trace has fewer than [`HOT_DAYS`] checkpoints, so that nothing says
/// which are hot.
pub fn hot_files<A: Allocator>(volume: &Volume<A>, model: &Model) -> Option<HotFiles> {
    let since = volume.done().checkpoints.checked_sub(HOT_DAYS)?;
    let files = in_order(volume, |day| u64::from(day) >= since);
    let units = volume.allocator().block_units();
    let mut score = Score::default();
    for file in &files {
        let of_file = Score::of(&file.pieces, units);
        score = Score { well: score.well + of_file.well, of: score.of + of_file.of };
    }
    let mut cost = Cost::new(volume.allocator(), model);
    files.iter().for_each(|file| cost.overwrite(file));
    cost.flush();
    Some(HotFiles {
        files: files.len() as u64,
        file_share: files.len() as f64 / volume.files().max(1) as f64,
        bytes: files.iter().map(|file| file.size).sum(),
        layout_score: score.score(),
        read_bytes_per_s: read_bytes_per_s(volume, model, &files),
        write_bytes_per_s: speed(&files, cost.finish()),
    })
}
