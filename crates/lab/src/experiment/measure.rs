//! The measures that a checkpoint has: what a plot may draw and a claim may be made of.

use super::laboratory;
use super::personality;
use super::profiled;
use super::transfer::{BANDWIDTH, NATURAL, SHARE_OF_BEST};
use super::verification;
use crate::series::MODELLED;
use crate::tree;

/// Aged over unaged scan cost on a modelled disk.
pub(super) const AGING_RATIO: &str = "aging_ratio";

/// The same of wall time on this machine.
pub(super) const WALL_AGING_RATIO: &str = "wall_aging_ratio";

/// What a cold scan of the same side cost on the modelled disk, beside a warm one, in seconds a GiB.
pub(super) const COLD: &str = "cold_modelled_s_per_gib";

/// The cost of a warm scan over that of a cold one of the same side.
pub(super) const SHARE_OF_COLD: &str = "share_of_cold_cost";

/// Objects a second in each phase of the metadata benchmark.
pub(super) const RATES: [&str; 3] =
    ["precreate_objects_per_s", "benchmark_objects_per_s", "cleanup_objects_per_s"];

/// The share of each phase in which the disk had something to do.
pub(super) const DISK_SHARES: [&str; 3] =
    ["precreate_disk_share", "benchmark_disk_share", "cleanup_disk_share"];

/// Operations a second of the benchmark phase, four for each object.
pub(super) const OPERATIONS: &str = "benchmark_operations_per_s";

/// The rate of the benchmark phase over that of precreate, both of objects.
pub(super) const OVER_PRECREATE: &str = "benchmark_over_precreate";

/// The same of the cleanup phase.
pub(super) const CLEANUP_OVER_PRECREATE: &str = "cleanup_over_precreate";

/// Those that differ from disk to disk.
const BY_DISK: [&str; 17] = [
    MODELLED,
    AGING_RATIO,
    COLD,
    SHARE_OF_COLD,
    BANDWIDTH,
    SHARE_OF_BEST,
    NATURAL[0],
    NATURAL[1],
    RATES[0],
    RATES[1],
    RATES[2],
    DISK_SHARES[0],
    DISK_SHARES[1],
    DISK_SHARES[2],
    OPERATIONS,
    OVER_PRECREATE,
    CLEANUP_OVER_PRECREATE,
];

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
    BY_DISK.contains(&measure) || laboratory::BY_DISK.contains(&measure) || personality::is_measure(measure)
}

/// Refuses a name that no measure has.
pub(super) fn known(measure: &str) -> Result<(), String> {
    let mut all = [
        &BY_DISK[..],
        &ALIKE[..],
        &tree::MEASURES[..],
        &laboratory::BY_DISK[..],
        &laboratory::ALIKE[..],
        &verification::ALIKE[..],
        &profiled::ALIKE[..],
    ]
    .concat();
    if all.contains(&measure) || personality::is_measure(measure) {
        return Ok(());
    }
    all.sort_unstable();
    let others = personality::MEASURES;
    Err(format!("unknown measure {measure:?}; known: {}; of personalities: {others}", all.join(", ")))
}
