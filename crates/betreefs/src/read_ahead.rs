//! How far the kernel reads ahead of who reads a file. It does so from the server's memory; what the server reads ahead from the disk is
//! the store's own affair.

use std::os::linux::fs::MetadataExt;
use std::path::Path;

use disk::IoContext;

use crate::error::Result;
use crate::fuse::READ_AHEAD_BYTES;

/// Lets the kernel read as far ahead in what is mounted on `dir` as the longest request goes; its own 128 KiB cost eight times the requests.
///
/// # Errors
/// Without root.
pub fn read_ahead(dir: &Path) -> Result<()> {
    let number = std::fs::metadata(dir).context("checking", dir)?.st_dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let setting = Path::new(&setting);
    Ok(std::fs::write(setting, (READ_AHEAD_BYTES >> 10).to_string()).context("setting", setting)?)
}
