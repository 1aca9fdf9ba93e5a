//! The subject of a probe: a directory, or an image, device or modelled disk that is mounted during the probe.

use anyhow::{Context as _, Result};
use disk::Session;
use fs::{DirTarget, Target};
use run::existing_volume;
use std::path::Path;

/// Opens the file system at `path`, read-only unless the probe `writes`.
pub fn open(path: &Path, writes: bool) -> Result<Box<dyn Target>> {
    let Some(volume) = existing_volume(path)? else { return Ok(Box::new(DirTarget::open_any(path)?)) };
    let volume = if writes { volume } else { volume.read_only() };
    Ok(fs::open(&Session::begin()?, &volume)?)
}

/// Size of an image or a block device in bytes.
pub fn size_bytes(path: &Path) -> Result<u64> {
    use std::io::Seek as _;
    let mut file = input::open_disk(path).with_context(|| format!("opening {}", path.display()))?;
    file.seek(std::io::SeekFrom::End(0)).with_context(|| format!("asking for the size of {}", path.display()))
}
