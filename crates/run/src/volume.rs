//! Checks of file systems before they are made or opened.

use crate::Error;
use disk::BlockDevice;
use fs::{Location, VolumeConfig};
use std::path::Path;

/// An existing file system in an image, on a block device or on a modelled disk at `path`; `None` if `path` is a directory. Refuses one that
/// a killed benchmark left changed.
pub fn existing_volume(path: &Path) -> Result<Option<VolumeConfig>, Error> {
    let volume = VolumeConfig::existing(path)?;
    if let Some(Location::Modelled { dir, .. }) = volume.as_ref().map(|volume| &volume.location) {
        let name = dir.file_stem().unwrap_or_default().to_string_lossy();
        crate::rollback::check_clean(dir.parent().unwrap_or(Path::new("/")), &name)?;
    }
    Ok(volume)
}

/// Refuses, before planning, what cannot be made or, unless it is `fresh`, opened: a file system that this machine does not support, a device
/// that must not be used, a path that cannot be recorded. `erase` is the device that may be erased.
pub(crate) fn check(volume: &VolumeConfig, erase: Option<&str>, fresh: bool) -> Result<(), Error> {
    check_recordable(volume.location.path())?;
    check_recordable(&disk::run_dir())?;
    if fresh {
        return Ok(fs::check(volume, erase)?);
    }
    if let Location::Device(path) = &volume.location {
        BlockDevice::open(path)?;
    }
    Ok(volume.kind()?.map_or(Ok(()), fs::ready)?)
}

/// Refuses a path that is not UTF-8, because manifests and journals are text.
pub(crate) fn check_recordable(path: &Path) -> Result<(), Error> {
    // The parent of a bare name is the current directory.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).map_err(Error::io("finding", path))?;
    let existing = absolute.ancestors().find_map(|above| std::fs::canonicalize(above).ok());
    match [Some(absolute), existing].into_iter().flatten().find(|path| path.to_str().is_none()) {
        None => Ok(()),
        Some(path) => Err(Error::Refused(format!(
            "directory {path:?} is not UTF-8, but run records are text; choose another directory"
        ))),
    }
}
