//! The target of aging and measurements: a file system in an image or on a device, or a plain directory.

use crate::kind::{FileSystem, can_mount, ready};
use crate::volume::{Disk, Volume};
use crate::{Error, TreeStat};
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use disk::{BlockDevice, DirtyLimit, Extent, Image, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system to create or open.
#[derive(Clone)]
pub struct Spec {
    /// Its type.
    pub kind: &'static dyn FileSystem,
    /// Its location.
    pub place: Place,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Further arguments of `mkfs`.
    pub mkfs_opts: Vec<String>,
    /// Further mount options.
    pub mount_opts: Vec<String>,
    /// Read-ahead in KiB.
    pub read_ahead_kb: u32,
}

/// The location of a file system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In an image file, which must not exist on creation.
    Image(PathBuf),
    /// On a block device.
    Device {
        /// The device.
        path: PathBuf,
        /// The value of `--erase`.
        erase: Option<String>,
    },
    /// On a modelled disk.
    Modelled {
        /// Its store, which must not exist on creation.
        dir: PathBuf,
        /// The model for creation; an existing disk has its own.
        model: String,
        /// What its service times are used for.
        clock: Clock,
    },
}

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

    /// The extents of the device that the file system does not use (see [`FileSystem::unused_extents`]). Only for a target that was opened
    /// read-only.
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

/// Checks that this machine can create the file system with this size.
pub fn can_make(kind: &dyn FileSystem, size_bytes: u64) -> Result<(), Error> {
    ready(kind)?;
    let least = kind.min_size_bytes();
    if size_bytes < least {
        return Err(Error::TooSmall { kind: kind.name(), least_mib: least >> 20, size_bytes });
    }
    Ok(())
}

/// Makes the checks of [`make`] without creating anything: whether the file system can be created, and whether the device may be erased.
pub fn check(spec: &Spec) -> Result<(), Error> {
    can_make(spec.kind, spec.size_bytes)?;
    match &spec.place {
        Place::Device { path, erase } => claim(path, erase.as_deref(), spec.size_bytes).map(drop),
        Place::Image(_) | Place::Modelled { .. } => Ok(()),
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

/// Creates a file system and mounts it. Removes everything on failure.
pub fn make(session: &Arc<Session>, spec: &Spec) -> Result<Box<dyn Target>, Error> {
    let size_bytes = spec.size_bytes;
    can_make(spec.kind, size_bytes)?;
    match &spec.place {
        Place::Image(path) => {
            let image = Image::create(path, size_bytes)?;
            let path = image.path().to_owned();
            let made = Disk::image(session, image, spec).and_then(|disk| Volume::make(session, spec, disk));
            if made.is_err() {
                // Report the first error only.
                let _ = std::fs::remove_file(path);
            }
            Ok(Box::new(made?))
        }
        Place::Device { path, erase } => {
            let device = claim(path, erase.as_deref(), size_bytes)?;
            let disk = Disk::device(device, spec)?;
            Ok(Box::new(Volume::make(session, spec, disk)?))
        }
        Place::Modelled { dir, model, clock } => {
            let settings = DiskSettings::new(size_bytes, model, *clock);
            let disk = Disk::make_modelled(session, dir, &settings, spec)?;
            let made = Volume::make(session, spec, disk);
            if made.is_err() {
                // Report the first error only.
                let _ = std::fs::remove_dir_all(dir);
            }
            Ok(Box::new(made?))
        }
    }
}

/// Mounts an existing file system. Mounts a device that was not created by this program read-only, unless `erase` confirms it.
pub fn open(session: &Arc<Session>, spec: &Spec) -> Result<Box<dyn Target>, Error> {
    if !can_mount(spec.kind) {
        return Err(Error::NotInKernel(spec.kind.name()));
    }
    let mut spec = spec.clone();
    let disk = match &spec.place {
        Place::Image(path) => Disk::image(session, Image::open(path)?, &spec)?,
        Place::Device { path, erase } => {
            let device = BlockDevice::open(path)?;
            if erase.as_deref().map(Path::new) != Some(path) && !spec.kind.is_ours(&device)? {
                spec.mount_opts.push("ro".to_owned());
            }
            Disk::device(device, &spec)?
        }
        Place::Modelled { dir, clock, .. } => Disk::modelled(session, dir, *clock, &spec)?,
    };
    Ok(Box::new(Volume::open(session, &spec, disk, None)?))
}
