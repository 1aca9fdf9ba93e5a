//! Aged file systems as commands name them.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// The work directory, and the name in it, of an aged file system that is named by its image or, with a work directory, by its
/// name.
pub fn locate(work: Option<&Path>, image: &Path) -> Result<(PathBuf, String)> {
    let parent = image.parent().filter(|parent| !parent.as_os_str().is_empty());
    let work = work.or(parent);
    let work = work.context("--on NAME needs --work, the work directory where it was aged")?;
    // A name may hold a dot; a path ends in what tells its kind.
    let name = if parent.is_some() { image.file_stem() } else { Some(image.as_os_str()) };
    let name = name.and_then(|name| name.to_str()).context("--on does not name an aged file system")?;
    Ok((work.to_owned(), name.strip_suffix(".img").unwrap_or(name).to_owned()))
}
