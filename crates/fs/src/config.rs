//! How a file system is made, and where.

use crate::kind::{FileSystem, find};
use crate::{Error, detect, detect_modelled};
use disk::BlockDevice;
use disk::modelled::{Clock, DiskSettings, is_store};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Where a file system is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// In an image file.
    Image(PathBuf),
    /// On a block device.
    Device(PathBuf),
    /// In a directory of a mounted file system.
    Dir(PathBuf),
    /// On a modelled disk.
    Modelled {
        /// The directory of its store.
        dir: PathBuf,
        /// The disk model: a built-in name, or the absolute path of a TOML file. An existing disk has its own.
        model: String,
        /// The use of its service times.
        clock: Clock,
    },
}

impl Location {
    /// The path of the image, device, directory or store.
    pub fn path(&self) -> &Path {
        match self {
            Location::Image(path) | Location::Device(path) | Location::Dir(path) => path,
            Location::Modelled { dir, .. } => dir,
        }
    }

    /// The medium: `image`, `device`, `dir`, or the name of the model of a modelled disk.
    pub fn medium(&self) -> &str {
        match self {
            Location::Image(_) => "image",
            Location::Device(_) => "device",
            Location::Dir(_) => "dir",
            // For a model in a file, its name without the path.
            Location::Modelled { model, .. } => {
                Path::new(model).file_stem().and_then(|name| name.to_str()).unwrap_or(model)
            }
        }
    }

    /// Bytes that an image or a modelled disk occupies already; 0 for a device or a directory.
    pub fn allocated_bytes(&self) -> u64 {
        let file = match self {
            Location::Image(path) => path.clone(),
            Location::Modelled { dir, .. } => dir.join("data"),
            Location::Device(_) | Location::Dir(_) => return 0,
        };
        std::fs::metadata(file).map_or(0, |file| file.blocks() * 512)
    }

    /// Removes an incomplete image or modelled disk, if it exists. Devices and directories stay.
    pub fn remove_incomplete(&self) -> Result<(), Error> {
        let removed = match self {
            Location::Image(path) => std::fs::remove_file(path),
            Location::Modelled { dir, .. } => std::fs::remove_dir_all(dir),
            Location::Dir(_) | Location::Device(_) => return Ok(()),
        };
        match removed {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("removing the incomplete", self.path())(e))
            }
            _ => Ok(()),
        }
    }

    /// Removes an unmounted file system. A device stays.
    pub fn remove(&self) -> Result<(), Error> {
        let removed = match self {
            Location::Image(path) => std::fs::remove_file(path),
            Location::Modelled { dir, .. } | Location::Dir(dir) => std::fs::remove_dir_all(dir),
            Location::Device(_) => return Ok(()),
        };
        removed.map_err(Error::io("removing", self.path()))
    }
}

/// Everything needed to make a file system, or to open it; its unaged copy is made the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeConfig {
    /// The location.
    #[serde(rename = "home")]
    pub location: Location,
    /// Kind of file system, or `dir`.
    pub fs: String,
    /// Nominal size in bytes.
    pub size_bytes: u64,
    /// Options of mkfs required by the planned files, such as more inodes.
    #[serde(default)]
    pub plan_mkfs_opts: Vec<String>,
    /// Further options of mkfs, from the user.
    pub mkfs_opts: Vec<String>,
    /// Mount options.
    pub mount_opts: Vec<String>,
    /// Read-ahead of the device in KiB.
    pub read_ahead_kb: u32,
    /// The kernel that mounts it, in a virtual machine; by default that of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<vm::Kernel>,
}

/// Default read-ahead in KiB: that of the kernel for most disks.
pub const READ_AHEAD_KB: u32 = 128;

impl VolumeConfig {
    /// A file system with the default options.
    pub fn new(location: Location, fs: &str, size_bytes: u64) -> VolumeConfig {
        VolumeConfig {
            location,
            fs: fs.to_owned(),
            size_bytes,
            plan_mkfs_opts: Vec::new(),
            mkfs_opts: Vec::new(),
            mount_opts: Vec::new(),
            read_ahead_kb: READ_AHEAD_KB,
            kernel: None,
        }
    }

    /// An existing file system in an image, on a block device or on a modelled disk at `path`; `None` if `path` is a directory.
    pub fn existing(path: &Path) -> Result<Option<VolumeConfig>, Error> {
        let file = std::fs::metadata(path).map_err(Error::io("checking", path))?;
        let absolute = std::path::absolute(path).map_err(Error::io("checking", path))?;
        let (location, kind, size_bytes) = if file.is_dir() && is_store(path) {
            let DiskSettings { model, clock, size_bytes, .. } = DiskSettings::read(path)?;
            (Location::Modelled { dir: absolute, model, clock }, detect_modelled(path)?, size_bytes)
        } else if file.is_dir() {
            return Ok(None);
        } else if file.file_type().is_block_device() {
            (Location::Device(absolute), detect(path)?, BlockDevice::open(path)?.size_bytes())
        } else if file.is_file() {
            // In a machine with a virtual clock, what is in the image is in its memory.
            let kind = detect(&vm::attached_disk(&absolute).unwrap_or_else(|| path.to_owned()))?;
            (Location::Image(absolute), kind, file.len())
        } else {
            return Err(Error::NotAVolume(path.to_owned()));
        };
        Ok(Some(VolumeConfig::new(location, kind.name(), size_bytes)))
    }

    /// The kind of file system; `None` for a directory, which is on whatever file system holds it.
    pub fn kind(&self) -> Result<Option<&'static dyn FileSystem>, Error> {
        match self.location {
            Location::Dir(_) => Ok(None),
            _ => find(&self.fs).map(Some),
        }
    }

    /// The share of its size that it may fill unless the user asks for more.
    pub fn max_fullness(&self) -> f64 {
        find(&self.fs).map_or(1.0, |kind| kind.max_fullness(self.size_bytes))
    }

    /// The same file system, mounted read-only.
    pub fn read_only(&self) -> VolumeConfig {
        let mount_opts = [&self.mount_opts[..], &["ro".to_owned()]].concat();
        VolumeConfig { mount_opts, ..self.clone() }
    }

    /// The same file system at another location.
    pub fn at(&self, location: Location) -> VolumeConfig {
        VolumeConfig { location, ..self.clone() }
    }

    /// All options of mkfs.
    pub(crate) fn all_mkfs_opts(&self) -> Vec<String> {
        [&self.plan_mkfs_opts[..], &self.mkfs_opts[..]].concat()
    }
}

/// Whether these mount options, each of which may be a list with commas, allow no writes.
pub(crate) fn only_reads(mount_opts: &[String]) -> bool {
    mount_opts.iter().flat_map(|options| options.split(',')).any(|option| option == "ro")
}
