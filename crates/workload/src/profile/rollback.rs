//! Removes what a killed replay did beyond its last checkpoint.

use crate::Error;
use rustix::fs::{AtFlags, FileType, unlinkat};
use std::path::Path;

/// Removes the files that a killed replay created after its last checkpoint: those numbered `next` and higher, because files are numbered
/// in creation order. Their creation is repeated, and until then they would occupy space.
pub(super) fn roll_back(root: &Path, next: u64) -> Result<(), Error> {
    fs::walk(root, |entry| {
        let number = entry.name.to_str().ok().and_then(|name| name.strip_prefix('f'));
        let number = number.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if entry.file_type == FileType::RegularFile && number.is_some_and(|number| number >= next) {
            unlinkat(entry.dir, entry.name, AtFlags::empty())?;
        }
        Ok(())
    })?;
    Ok(())
}
