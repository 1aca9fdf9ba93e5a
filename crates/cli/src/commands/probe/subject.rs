//! What is probed: a directory as it is, or an image, a device or a modelled disk, mounted for the while.

use anyhow::{Context as _, Result, bail};
use disk::Session;
use disk::modelled::{self, DiskSettings};
use fs::{DirTarget, Place, Spec, Target};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// Read-ahead of a loop device in KiB: the kernel's default.
const READ_AHEAD_KB: u32 = 128;

/// Opens what lies at `path`; for reading only, unless the probe `writes`.
pub fn open(path: &Path, writes: bool) -> Result<Box<dyn Target>> {
    let file = std::fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?;
    if file.is_dir() && !modelled::is_store(path) {
        return Ok(Box::new(DirTarget::any(path)?));
    }
    let place = if file.is_dir() {
        let settings = DiskSettings::read(path)?;
        Place::Modelled { dir: path.to_owned(), model: settings.model, clock: settings.clock }
    } else if file.file_type().is_block_device() {
        Place::Device { path: path.to_owned(), erase: None }
    } else if file.is_file() {
        Place::Image(std::path::absolute(path)?)
    } else {
        bail!("{} is neither a directory nor an image nor a block device", path.display());
    };
    let spec = Spec {
        kind: if file.is_dir() { fs::detect_modelled(path)? } else { fs::detect(path)? },
        place,
        size_bytes: file.len(),
        mkfs_opts: Vec::new(),
        // Measuring is to change nothing.
        mount_opts: if writes { Vec::new() } else { vec!["ro".to_owned()] },
        read_ahead_kb: READ_AHEAD_KB,
    };
    Ok(fs::open(&Session::begin()?, &spec)?)
}

/// Size of an image or a block device in bytes.
pub fn size_bytes(path: &Path) -> Result<u64> {
    use std::io::Seek as _;
    let mut file = std::fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
    file.seek(std::io::SeekFrom::End(0)).with_context(|| format!("asking for the size of {}", path.display()))
}
