//! The tree of an unmounted file system: its layout and its free extents.

use std::path::Path;

pub use betree::{LevelStat, Stat as TreeStat};

use crate::error::Result;
use crate::image::open_read_only;

/// Describes the tree in an image or on a device.
///
/// # Errors
/// If there is no such file system, or it is damaged.
pub fn tree_stat(path: &Path) -> Result<TreeStat> {
    Ok(betree::stat(open_read_only(path)?)?)
}

/// The free extents of the last checkpoint, as (start, length) in bytes. They include neither superblocks nor the log.
///
/// # Errors
/// As [`tree_stat`].
pub fn free_extents(path: &Path) -> Result<Vec<(u64, u64)>> {
    Ok(betree::free_extents(open_read_only(path)?)?)
}
