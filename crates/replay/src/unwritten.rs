//! The preallocated ranges of files.

use fiemap::{ExtentFlags, each_extent};
use rustix::fd::AsFd;
use rustix::io;

/// The ranges (start, end) within the first `size` bytes of a file that have blocks and were never written. Fails with `EOPNOTSUPP` or
/// `ENOTTY` where there are no extent maps.
pub(crate) fn unwritten_ranges(file: impl AsFd, size: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    each_extent(&file, |extent| {
        let end = extent.logical_end().min(size);
        if extent.flags.any(ExtentFlags::UNWRITTEN) && extent.logical < end {
            ranges.push((extent.logical, end));
        }
    })?;
    Ok(ranges)
}
