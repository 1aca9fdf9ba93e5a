//! An `ioctl` that checkpoints a mounted file system; FUSE has no request for this that reaches every file system.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use disk::IoContext;

use crate::error::Result;

/// `_IO('B', 1)`.
pub(super) const COMMAND: u32 = (b'B' as u32) << 8 | 1;

/// Checkpoints the file system mounted on `dir`: all changes are in its tree on the disk, with nothing left to do.
///
/// # Errors
/// If the mount is not a betreefs, or its disk fails.
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
