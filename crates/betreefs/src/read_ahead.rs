//! The kernel's read-ahead of mounted files. It reads from the memory of the server; the store has its own read-ahead from the disk.

use std::os::linux::fs::MetadataExt;
use std::path::Path;

use disk::IoContext;

use crate::error::Result;
use crate::fuse::READ_AHEAD_BYTES;

/// Sets the kernel's read-ahead of the file system mounted on `dir` to the longest request; the default of 128 KiB needs eight times the requests.
///
/// # Errors
/// Without root.
pub fn set_read_ahead(dir: &Path) -> Result<()> {
    let number = std::fs::metadata(dir).context("checking", dir)?.st_dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let setting = Path::new(&setting);
    Ok(std::fs::write(setting, (READ_AHEAD_BYTES >> 10).to_string()).context("setting", setting)?)
}
