//! What is aged and measured: a file system of our own in an image or on a device, or a plain directory.

use crate::kind::{FileSystem, in_kernel, ready};
use crate::volume::{Disk, Volume};
use crate::{Error, TreeStat};
use disk::modelled::{Clock, DiskSettings, ModelledDisk};
use disk::{BlockDevice, DirtyLimit, Extent, Image, Session};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file system to make or open.
#[derive(Clone)]
pub struct Spec {
    /// Its kind.
    pub kind: &'static dyn FileSystem,
    /// Where it is.
    pub place: Place,
    /// Its size.
    pub size_bytes: u64,
    /// Further arguments of `mkfs`.
    pub mkfs_opts: Vec<String>,
    /// Further options of mount.
    pub mount_opts: Vec<String>,
    /// Read-ahead.
    pub read_ahead_kb: u32,
}

/// Where a file system is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In an image file, which must not exist if it is to be made.
    Image(PathBuf),
    /// On a block device.
    Device {
        /// The device.
        path: PathBuf,
        /// What the user gave to `--erase`.
        erase: Option<String>,
    },
    /// On a modelled disk.
    Modelled {
        /// Its store, which must not exist if it is to be made.
        dir: PathBuf,
        /// The model that it is made after; one that is there has its own.
        model: String,
        /// What its service times are used for.
        clock: Clock,
    },
}

/// What the file system's own checker found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Whether it is without fault.
    pub clean: bool,
    /// The command that was run.
    pub command: String,
    /// What it wrote.
    pub output: String,
}

/// A tree that can be aged and measured. Dropping it takes down silently what was made for it.
pub trait Target: Send {
    /// The root of the tree.
    fn root(&self) -> &Path;

    /// The block device below, if there is one, with its major and minor number.
    fn device(&self) -> Option<(PathBuf, (u32, u32))>;

    /// Writes back all that is delayed.
    fn settle(&self) -> Result<(), Error>;

    /// Makes the tree cold. Says in sentences what was dropped from memory and what could not be.
    fn chill(&mut self) -> Result<Vec<String>, Error>;

    /// Lets the file system's own checker look, if it can.
    fn check(&mut self) -> Result<Option<Check>, Error>;

    /// Whether what is read of it are requests to its device, or to a disk below.
    fn makes_requests(&self) -> bool {
        true
    }

    /// Whether the file system tells where the blocks of files lie.
    fn maps_files(&self) -> bool {
        true
    }

    /// The free extents, by address, if the file system tells. What was deleted a moment ago may not be among them
    /// yet, for some free it in the background: chill first.
    fn free_extents(&self) -> Result<Option<Vec<Extent>>, Error>;

    /// The extents of the device below that hold nothing of the file system, as [`FileSystem::unused`] tells. For one that is open to
    /// be read only.
    fn unused(&self) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// How the tree lies on the disk that the file system keeps everything in; `None` where it is no tree that could be told
    /// of. It is unmounted meanwhile.
    fn tree(&mut self) -> Result<Option<TreeStat>, Error> {
        Ok(None)
    }

    /// The name of the file system.
    fn kind_name(&self) -> &str;

    /// Versions of its programs and of the kernel.
    fn version(&self) -> String;

    /// The command that made it, if this program did just now.
    fn mkfs_command(&self) -> Option<String>;

    /// Its block size.
    fn block_bytes(&self) -> u64;

    /// The longest extent it can make.
    fn max_extent_bytes(&self) -> u64;

    /// The modelled disk below, if there is one.
    fn modelled(&self) -> Option<&ModelledDisk> {
        None
    }

    /// Lets no more than about so many bytes that were written wait in memory, until what is given goes or all is unmounted.
    fn limit_dirty(&self, _bytes: u64) -> Result<DirtyLimit, Error> {
        let why = "it is a directory on a shared disk; name an image";
        Err(Error::NoDirtyLimit { path: self.root().to_owned(), why })
    }

    /// Keeps all of it as it is now under a new name, which only modelled disks can. It is unmounted meanwhile.
    fn snapshot(&mut self, _name: &str) -> Result<(), Error> {
        Err(Error::NotModelled(self.root().to_owned()))
    }

    /// Makes all of it what it was when the snapshot was taken. It is unmounted meanwhile.
    fn rollback(&mut self, _name: &str) -> Result<(), Error> {
        Err(Error::NotModelled(self.root().to_owned()))
    }

    /// Takes down what was made for it, and says if that fails.
    fn close(self: Box<Self>) -> Result<(), Error>;
}

/// Refuses a file system that cannot be made here, or not of that size.
pub fn can_make(kind: &dyn FileSystem, size_bytes: u64) -> Result<(), Error> {
    ready(kind)?;
    let least = kind.min_size_bytes();
    if size_bytes < least {
        return Err(Error::TooSmall { kind: kind.name(), least_mib: least >> 20, size_bytes });
    }
    Ok(())
}

/// Refuses what [`make`] would refuse before it makes anything: a file system that cannot be made here, a device that is not to be erased.
pub fn check(spec: &Spec) -> Result<(), Error> {
    can_make(spec.kind, spec.size_bytes)?;
    match &spec.place {
        Place::Device { path, erase } => claim(path, erase.as_deref(), spec.size_bytes).map(drop),
        Place::Image(_) | Place::Modelled { .. } => Ok(()),
    }
}

/// Claims a device that a file system of that size is to be made on.
fn claim(path: &Path, erase: Option<&str>, size_bytes: u64) -> Result<BlockDevice, Error> {
    let device = BlockDevice::claim(path, erase)?;
    let device_bytes = device.size_bytes();
    if size_bytes > device_bytes {
        return Err(Error::DeviceTooSmall { device: path.to_owned(), device_bytes, size_bytes });
    }
    Ok(device)
}

/// Makes a file system and mounts it. If that fails, what was made is removed.
pub fn make(session: &Arc<Session>, spec: &Spec) -> Result<Box<dyn Target>, Error> {
    let size_bytes = spec.size_bytes;
    can_make(spec.kind, size_bytes)?;
    match &spec.place {
        Place::Image(path) => {
            let image = Image::create(path, size_bytes)?;
            let path = image.path().to_owned();
            let made = Disk::image(session, image, spec).and_then(|disk| Volume::make(session, spec, disk));
            if made.is_err() {
                // The first error is the one to tell.
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
                // The first error is the one to tell.
                let _ = std::fs::remove_dir_all(dir);
            }
            Ok(Box::new(made?))
        }
    }
}

/// Mounts a file system that is there. One on a device that this program did not make is mounted for reading only,
/// unless `erase` confirms it.
pub fn open(session: &Arc<Session>, spec: &Spec) -> Result<Box<dyn Target>, Error> {
    if !in_kernel(spec.kind) {
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
