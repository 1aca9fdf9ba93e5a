//! The measures that a checkpoint has: what a plot may draw and a claim may be made of.

use super::transfer::{BANDWIDTH, NATURAL, SHARE_OF_BEST};
use crate::series::MODELLED;

/// Aged over unaged scan cost on a modelled disk.
pub(super) const AGING_RATIO: &str = "aging_ratio";

/// The same of wall time on this machine.
pub(super) const WALL_AGING_RATIO: &str = "wall_aging_ratio";

/// What a cold scan of the same side cost on the modelled disk, beside a warm one, in seconds a GiB.
pub(super) const COLD: &str = "cold_modelled_s_per_gib";

/// The cost of a warm scan over that of a cold one of the same side.
pub(super) const SHARE_OF_COLD: &str = "share_of_cold_cost";

/// Those that differ from disk to disk.
const BY_DISK: [&str; 8] =
    [MODELLED, AGING_RATIO, COLD, SHARE_OF_COLD, BANDWIDTH, SHARE_OF_BEST, NATURAL[0], NATURAL[1]];

/// Those that do not.
const ALIKE: [&str; 13] = [
    "dynamic_layout_score",
    "dynamic_layout_score_data",
    "files",
    "layout_score",
    "scan_allocated_bytes",
    "scan_cpu_s",
    "scan_layout_score",
    "scan_read_bytes",
    "scan_requests",
    "scan_s_per_gib",
    "scan_wall_s",
    WALL_AGING_RATIO,
    "written_bytes",
];

/// Whether a measure differs from disk to disk.
pub fn is_by_disk(measure: &str) -> bool {
    BY_DISK.contains(&measure)
}

/// Refuses a name that no measure has.
pub(super) fn known(measure: &str) -> Result<(), String> {
    if is_by_disk(measure) || ALIKE.contains(&measure) {
        return Ok(());
    }
    let mut all = [&BY_DISK[..], &ALIKE[..]].concat();
    all.sort_unstable();
    Err(format!("there is no measure {measure:?}; there are {}", all.join(", ")))
}
