//! Asking a mounted file system to bring all into its tree, which FUSE has no request for that reaches every file system.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use disk::IoContext;

use crate::error::Result;

/// `_IO('B', 1)`.
pub(super) const COMMAND: u32 = (b'B' as u32) << 8 | 1;

/// Brings all that was written to the file system mounted on `dir` into its tree on the disk, so that nothing is left to do.
///
/// # Errors
/// If it is no betreefs, or its disk fails.
pub fn checkpoint(dir: &Path) -> Result<()> {
    let doing = "creating a checkpoint of";
    let file = File::open(dir).context(doing, dir)?;
    // SAFETY: the request takes no argument and gives none back.
    let done = unsafe { libc::ioctl(file.as_raw_fd(), COMMAND as libc::Ioctl) };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error()).context(doing, dir).map_err(Into::into)
    }
}
