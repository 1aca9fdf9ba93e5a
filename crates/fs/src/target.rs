//! The target of aging and measurements: a file system in an image or on a device, or a plain directory.

use crate::kind::{can_mount, ready};
use crate::volume::{Disk, Volume};
use crate::{AddressMap, DirTarget, Error, Location, TreeStat, VolumeConfig};
use disk::modelled::{DiskSettings, ModelledDisk, Store};
use disk::{BlockDevice, DirtyLimit, Extent, Image, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of the file system's own checker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckReport {
    /// Whether it found no errors.
    pub clean: bool,
    /// The command that was run.
    pub command: String,
    /// Its output.
    pub output: String,
}

/// A tree that can be aged and measured. Dropping it undoes its setup and ignores errors.
pub trait Target: Send {
    /// The root of the tree.
    fn root(&self) -> &Path;

    /// The underlying block device with its major and minor number, if any.
    fn device(&self) -> Option<(PathBuf, (u32, u32))>;

    /// Writes back all delayed data.
    fn sync(&self) -> Result<(), Error>;

    /// Makes the tree cold. Returns messages about what was dropped from memory and what could not be.
    fn drop_caches(&mut self) -> Result<Vec<String>, Error>;

    /// Runs the file system's own checker, if it has one.
    fn check(&mut self) -> Result<Option<CheckReport>, Error>;

    /// Whether reads of it cause requests to its device or to an underlying disk.
    fn makes_requests(&self) -> bool {
        true
    }

    /// Whether the file system reports the block locations of files.
    fn supports_fiemap(&self) -> bool {
        true
    }

    /// The free extents, by address; `None` if the file system does not report them. May miss recently deleted space, which some file
    /// systems free in the background: call [`drop_caches`](Self::drop_caches) first.
    fn free_extents(&self) -> Result<Option<Vec<Extent>>, Error>;

    /// Where the addresses of extent maps lie on the device; `None` if that is not known.
    fn address_map(&self) -> Result<Option<AddressMap>, Error>;

    /// The extents of the device that the file system does not use (see [`unused_extents`](crate::FileSystem::unused_extents)). Only for a target
    /// that was opened read-only.
    fn unused_extents(&self) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// Examines the on-disk tree that holds the whole file system; `None` if the file system is not a tree with such statistics. Unmounts it
    /// in the meantime.
    fn tree_stat(&mut self) -> Result<Option<TreeStat>, Error> {
        Ok(None)
    }

    /// The name of the file system.
    fn kind_name(&self) -> &str;

    /// Versions of its programs and of the kernel.
    fn version(&self) -> String;

    /// The command that created it, if this program just did.
    fn mkfs_command(&self) -> Option<String>;

    /// Its block size in bytes.
    fn block_bytes(&self) -> u64;

    /// The longest possible extent in bytes.
    fn max_extent_bytes(&self) -> u64;

    /// The underlying modelled disk, if any.
    fn modelled(&self) -> Option<&ModelledDisk> {
        None
    }

    /// Limits the dirty data in memory to about this many bytes, until the returned limit is dropped or the file system is unmounted.
    fn limit_dirty(&self, _bytes: u64) -> Result<DirtyLimit, Error> {
        let why = "it is a directory on a shared disk; name an image";
        Err(Error::NoDirtyLimit { path: self.root().to_owned(), why })
    }

    /// Saves the current state as a new snapshot; only modelled disks support this. Unmounts the file system in the meantime.
    fn snapshot(&mut self, _name: &str) -> Result<(), Error> {
        Err(Error::NotModelled(self.root().to_owned()))
    }

    /// Restores the state of the snapshot. Unmounts the file system in the meantime.
    fn rollback(&mut self, _name: &str) -> Result<(), Error> {
        Err(Error::NotModelled(self.root().to_owned()))
    }

    /// Undoes the setup and reports errors.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

/// Checks that this machine can create the file system with its size.
pub fn can_make(config: &VolumeConfig) -> Result<(), Error> {
    let Some(kind) = config.kind()? else { return Ok(()) };
    ready(kind)?;
    let (size_bytes, least) = (config.size_bytes, kind.min_size_bytes());
    if size_bytes < least {
        return Err(Error::TooSmall { kind: kind.name(), least_mib: least >> 20, size_bytes });
    }
    Ok(())
}

/// Makes the checks of [`make`] without creating anything: whether the file system can be created, whether its image or store is new, and
/// whether the device may be erased.
pub fn check(config: &VolumeConfig, erase: Option<&str>) -> Result<(), Error> {
    can_make(config)?;
    match &config.location {
        Location::Device(path) => claim(path, erase, config.size_bytes).map(drop),
        Location::Image(path) => Ok(Image::check_new(path)?),
        Location::Modelled { dir, .. } => Ok(Store::check_new(dir)?),
        Location::Dir(_) => Ok(()),
    }
}

/// Claims a device for a file system of this size.
fn claim(path: &Path, erase: Option<&str>, size_bytes: u64) -> Result<BlockDevice, Error> {
    let device = BlockDevice::claim(path, erase)?;
    let device_bytes = device.size_bytes();
    if size_bytes > device_bytes {
        return Err(Error::DeviceTooSmall { device: path.to_owned(), device_bytes, size_bytes });
    }
    Ok(device)
}

/// Makes a file system and mounts it. Removes everything on failure. An image or store must not exist; `erase` is the device that may be
/// erased, as the user spelled it. In a directory a new directory is made, whose path replaces the location.
pub fn make(
    session: &Arc<Session>,
    config: &mut VolumeConfig,
    erase: Option<&str>,
) -> Result<Box<dyn Target>, Error> {
    let Some(kind) = config.kind()? else {
        let target = DirTarget::make(config.location.path())?;
        config.location = Location::Dir(target.path().to_owned());
        return Ok(Box::new(target));
    };
    let size_bytes = config.size_bytes;
    can_make(config)?;
    if let Location::Image(path) | Location::Modelled { dir: path, .. } = &config.location
        && let Some(dir) = path.parent()
    {
        std::fs::create_dir_all(dir).map_err(Error::io("creating", dir))?;
    }
    let disk = match &config.location {
        Location::Image(path) => Disk::image(session, kind, Image::create(path, size_bytes)?, config),
        Location::Device(path) => Disk::device(claim(path, erase, size_bytes)?, config),
        Location::Modelled { dir, model, clock } => {
            ModelledDisk::create(dir, &DiskSettings::new(size_bytes, model, *clock))?;
            Disk::modelled(session, dir, *clock, config)
        }
        Location::Dir(_) => unreachable!("a directory has no kind"),
    };
    let made = disk.and_then(|disk| Volume::make(session, kind, config, disk));
    if made.is_err() {
        // Report the first error only.
        let _ = config.location.remove_incomplete();
    }
    Ok(Box::new(made?))
}

/// Mounts an existing file system. Mounts a device that was not created by this program read-only.
pub fn open(session: &Arc<Session>, config: &VolumeConfig) -> Result<Box<dyn Target>, Error> {
    let Some(kind) = config.kind()? else { return Ok(Box::new(DirTarget::open(config.location.path())?)) };
    if !can_mount(kind) {
        return Err(Error::NotInKernel(kind.name()));
    }
    let mut config = config.clone();
    let disk = match &config.location {
        Location::Image(path) => Disk::image(session, kind, Image::open(path)?, &config)?,
        Location::Device(path) => {
            let device = BlockDevice::open(path)?;
            if !kind.is_ours(&device)? {
                config = config.read_only();
            }
            Disk::device(device, &config)?
        }
        Location::Modelled { dir, clock, .. } => Disk::modelled(session, dir, *clock, &config)?,
        Location::Dir(_) => unreachable!("a directory has no kind"),
    };
    Ok(Box::new(Volume::open(session, kind, &config, disk, None)?))
}
