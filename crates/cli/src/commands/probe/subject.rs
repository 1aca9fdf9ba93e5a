//! What is probed: a directory as it is, or an image or device, mounted for the while.

use anyhow::{Context as _, Result, bail};
use disk::{Extent, Session};
use fs::{Place, Spec, Target};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Read-ahead of a loop device in KiB: the kernel's default.
const READ_AHEAD_KB: u32 = 128;

/// An open subject.
pub enum Open {
    /// Any directory.
    Dir(fs::Mounted),
    /// An image or device, mounted by this run.
    Target(Box<dyn Target>),
}

impl Open {
    /// Opens what lies at `path`.
    pub fn new(path: &Path) -> Result<Open> {
        let file = std::fs::metadata(path).with_context(|| format!("looking at {}", path.display()))?;
        if file.is_dir() {
            return Ok(Open::Dir(fs::Mounted::at(path)?));
        }
        let place = if file.file_type().is_block_device() {
            Place::Device { path: path.to_owned(), erase: None }
        } else if file.is_file() {
            Place::Image(std::path::absolute(path)?)
        } else {
            bail!("{} is neither a directory nor an image nor a block device", path.display());
        };
        let kind = fs::detect(path)?;
        let spec = Spec {
            kind,
            place,
            size_bytes: file.len(),
            mkfs_opts: Vec::new(),
            mount_opts: Vec::new(),
            read_ahead_kb: READ_AHEAD_KB,
        };
        Ok(Open::Target(fs::open(&Session::begin()?, &spec)?))
    }

    /// Where its files are.
    pub fn root(&self) -> &Path {
        match self {
            Open::Dir(mounted) => mounted.root(),
            Open::Target(target) => target.root(),
        }
    }

    /// The device below it, if there is one.
    pub fn device(&self) -> Option<(PathBuf, (u32, u32))> {
        match self {
            Open::Dir(mounted) => mounted.device(),
            Open::Target(target) => target.device(),
        }
    }

    /// Makes it cold; says what was dropped and what could not be.
    pub fn chill(&mut self) -> Result<Vec<String>> {
        Ok(match self {
            Open::Dir(mounted) => mounted.chill()?,
            Open::Target(target) => target.chill()?,
        })
    }

    /// Its free extents, where they can be known.
    pub fn free_extents(&self) -> Result<Option<Vec<Extent>>> {
        Ok(match self {
            Open::Dir(mounted) => mounted.free_extents()?,
            Open::Target(target) => target.free_extents()?,
        })
    }

    /// Its block size in bytes.
    pub fn block_bytes(&self) -> u64 {
        match self {
            Open::Dir(mounted) => mounted.block_bytes(),
            Open::Target(target) => target.block_bytes(),
        }
    }

    /// The longest extent it can make, in bytes.
    pub fn max_extent_bytes(&self) -> u64 {
        match self {
            Open::Dir(mounted) => mounted.max_extent_bytes(),
            Open::Target(target) => target.max_extent_bytes(),
        }
    }

    /// Unmounts what was mounted.
    pub fn close(self) -> Result<()> {
        match self {
            Open::Dir(_) => Ok(()),
            Open::Target(target) => Ok(target.close()?),
        }
    }
}
