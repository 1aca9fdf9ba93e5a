//! Finds aged file systems by the names that users give.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// Returns the work directory and the name of an aged file system, which is given by its image or, with a work directory, by its name.
pub fn locate(work: Option<&Path>, image: &Path) -> Result<(PathBuf, String)> {
    let parent = image.parent().filter(|parent| !parent.as_os_str().is_empty());
    let work = work.or(parent);
    let work = work.context("--on NAME needs --work, the work directory where it was aged")?;
    // A name may contain a dot; a path ends in an extension.
    let name = if parent.is_some() { image.file_stem() } else { Some(image.as_os_str()) };
    let name = name.and_then(|name| name.to_str()).context("--on does not name an aged file system")?;
    Ok((work.to_owned(), name.strip_suffix(".img").unwrap_or(name).to_owned()))
}
