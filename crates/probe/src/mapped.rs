//! Visits the files of a tree with their extents.

use crate::census::Links;
use crate::{Error, FileExtent, Result, file_extents};
use rustix::fs::{CWD, FileType, Mode, OFlags, openat, syncfs};
use rustix::io::Errno;
use std::path::Path;
use tree::{Entry, walk};

/// Calls `visit` with each regular file below `root`, its size and its extents, in scan order; a file with several
/// names once. Writes back delayed data first, so that all data has a location; a file that is written in the meantime is
/// written back again when it is visited. Returns the number of files that could not be mapped, because they were deleted or access was
/// denied.
pub(crate) fn each_mapped(root: &Path, mut visit: impl FnMut(&Entry, u64, &[FileExtent])) -> Result<u64> {
    let fd = openat(CWD, root, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(Error::io("opening", root))?;
    syncfs(&fd).map_err(Error::io("syncing the file system of", root))?;
    let mut links = Links::default();
    let mut skipped = 0;
    walk(root, |entry| -> Result<()> {
        if entry.file_type != FileType::RegularFile {
            return Ok(());
        }
        let stat = entry.stat()?;
        if !links.first_name(&stat) {
            return Ok(());
        }
        match entry.open().and_then(file_extents) {
            Ok(extents) => visit(entry, stat.st_size as u64, &extents),
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) => skipped += 1,
            Err(error) => return Err(unmapped(entry, error)),
        }
        Ok(())
    })?;
    Ok(skipped)
}

fn unmapped(entry: &Entry, error: Errno) -> Error {
    match error {
        Errno::OPNOTSUPP | Errno::NOTTY => Error::cannot(
            format!("mapping the extents of {}", entry.full_path().display()),
            "its file system does not report file extents (no FIEMAP): layout can be measured on ext4, XFS, \
             Btrfs and others that do",
        ),
        _ => entry.error("mapping the extents of", error.into()).into(),
    }
}
