//! Removes file systems that were aged to be compared only.

use super::unaged;
use crate::Error;
use crate::manifest::{Manifest, Stage};
use crate::work::Work;
use fs::Location;
use std::path::Path;

/// Removes an aged file system, what a killed comparison left of its unaged copy, and its manifest. Devices and directories of the user stay.
/// Does nothing if there is none of that name.
///
/// # Errors
/// If another run uses the work directory.
pub fn discard(dir: &Path, name: &str) -> Result<(), Error> {
    if Manifest::load(dir, name)?.is_none() {
        return Ok(());
    }
    let work = Work::take(dir)?;
    work.keep();
    // Another run may have changed it before the directory was locked.
    let Some(mut manifest) = Manifest::load(dir, name)? else { return Ok(()) };
    // After a kill between these steps, the next aging removes the rest.
    manifest.stage = Stage::Making;
    manifest.save(dir)?;
    let unaged = unaged::location(dir, name, &manifest.volume);
    if !matches!(unaged, Location::Dir(_)) {
        unaged.remove_incomplete()?;
    }
    manifest.volume.location.remove_incomplete()?;
    manifest.remove(dir)
}
