//! Rolls back file systems after a benchmark has written to them, if possible to the exact bytes, verified by checksums before and after.
//!
//! | subject | method |
//! |---|---|
//! | modelled disk | roll back to a snapshot |
//! | image | write to a copy: a reflink if the file system below supports it, otherwise a full copy |
//! | device | restore the blocks in the log of its write requests from a saved image ([`device`]) |
//! | directory | delete the created files: the same files, not the same blocks |
//!
//! The method is recorded on disk before the first write, so that the rollback is possible even if the process is killed.

mod device;

use crate::Error;
use device::Device;
use disk::modelled::{Clock, DiskSettings, Store};
use disk::{CopyMethod, Digest, RestoreMethod, RestoreNote, Scratch, Session};
use fs::{DirTarget, Location, Target, VolumeConfig};
use results::Watch;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file system was rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackMethod {
    /// The modelled disk was rolled back to a snapshot.
    RolledBack,
    /// The benchmark wrote to a reflink copy of the image.
    Reflinked,
    /// The benchmark wrote to a full copy of the image.
    Copied,
    /// The written blocks of the device were restored from a saved image.
    Restored,
    /// The created files were deleted, so blocks may differ. For directories.
    CleanedUp,
    /// The file system was only read.
    Untouched,
}

impl RollbackMethod {
    /// The method for a file system at this location that is written to.
    pub(crate) fn at(location: &Location) -> RollbackMethod {
        match location {
            Location::Image(_) => RollbackMethod::Copied,
            Location::Modelled { .. } => RollbackMethod::RolledBack,
            Location::Device(_) => RollbackMethod::Restored,
            Location::Dir(_) => RollbackMethod::CleanedUp,
        }
    }
}

/// The result of a rollback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Restored {
    /// The method.
    #[serde(rename = "kept")]
    pub method: RollbackMethod,
    /// The checksum of the whole file system, equal before and after; `None` if only its files are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Number of bytes written back to a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_bytes: Option<u64>,
}

impl Restored {
    /// The result in words, for users.
    pub fn message(&self, name: &str) -> String {
        let how = match self.method {
            RollbackMethod::RolledBack => format!("{name} is rolled back"),
            RollbackMethod::Reflinked => format!("{name} is unchanged (ran on a reflink copy, now deleted)"),
            RollbackMethod::Copied => format!("{name} is unchanged (ran on a copy, now deleted)"),
            RollbackMethod::Restored => {
                let bytes = input::bytes(self.restored_bytes.unwrap_or(0));
                format!("{name} is restored ({bytes} of writes undone)")
            }
            RollbackMethod::CleanedUp => {
                format!(
                    "{name} was written to directly: files of the benchmark are deleted, but it cannot be \
                     rolled back"
                )
            }
            RollbackMethod::Untouched => format!("{name} was only read"),
        };
        self.sha256.map_or(how.clone(), |sha256| format!("{how} (SHA-256 before and after: {sha256})"))
    }
}

/// The path of the note that an aged file system is being written to.
pub(crate) fn note(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.benchmark"))
}

/// Refuses a file system that a killed benchmark left changed.
pub(crate) fn check_clean(dir: &Path, name: &str) -> Result<(), Error> {
    if !disk::needs_restore(&note(dir, name)) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{name} was not rolled back after a killed benchmark; roll it back with `senesce cleanup` or another \
         `senesce bench … --on {name}`"
    )))
}

/// Rolls back a file system that a killed benchmark left changed.
pub(crate) fn clean_first(dir: &Path, name: &str, watch: &mut dyn Watch) -> Result<(), Error> {
    let note = note(dir, name);
    if disk::needs_restore(&note) {
        watch.say(&format!("{name} was not rolled back after a killed benchmark; rolling it back now"));
        if let Some(done) = disk::restore_from_note(&note)? {
            watch.say(&done);
        }
    }
    Ok(())
}

/// A file system that is rolled back after use.
pub(crate) struct RollbackGuard {
    session: Arc<Session>,
    /// The writable file system.
    volume: VolumeConfig,
    // Dropped before the disk below.
    target: Option<Box<dyn Target>>,
    strategy: Strategy,
    exact: Option<Exact>,
}

/// How the file system is rolled back.
enum Strategy {
    /// Roll back a modelled disk to a snapshot, which is named in a note or belongs to a temporary disk.
    Snapshot { dir: PathBuf, snapshot: String, restore_note: Option<RestoreNote>, scratch: Option<Scratch> },
    /// Remove the copy with its directory.
    Copy { image: PathBuf, scratch: Scratch, copied: CopyMethod },
    /// Restore from a saved image.
    Device(Box<Device>),
    /// The caller deletes the created files.
    Cleanup,
    /// Nothing to do.
    Untouched,
}

/// The checksum that must be the same before and after.
struct Exact {
    of: Whole,
    before: Digest,
}

enum Whole {
    /// An image or a device.
    File(PathBuf),
    /// A modelled disk.
    Store(PathBuf),
}

impl RollbackGuard {
    /// Prepares the file system that `made` describes for writing, and opens it. The rollback is recorded in a note named `name` in `dir`;
    /// the caller has already handled an existing note.
    pub(crate) fn open(
        session: &Arc<Session>,
        dir: &Path,
        name: &str,
        volume: &VolumeConfig,
    ) -> Result<RollbackGuard, Error> {
        let note = note(dir, name);
        let mut guard = match &volume.location {
            Location::Image(image) => {
                let exact = Exact::of(Whole::File(canonical(image)?))?;
                RollbackGuard { exact: Some(exact), ..RollbackGuard::copy(session, image, volume)? }
            }
            Location::Modelled { dir, .. } => {
                let exact = Exact::of(Whole::Store(dir.clone()))?;
                let restore_method =
                    |snapshot: String| RestoreMethod::Snapshot { dir: dir.clone(), snapshot };
                let snapshot = new_name(dir)?;
                let restore_note = RestoreNote::create(session, &note, &restore_method(snapshot.clone()))?;
                let strategy = Strategy::snapshot(dir, snapshot, Some(restore_note))?;
                RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, volume.clone(), strategy) }
            }
            Location::Device(path) => {
                let device = Device::prepare(session, path, dir, name, &note)?;
                let exact = Exact { of: Whole::File(path.clone()), before: device.saved() };
                let strategy = Strategy::Device(device.into());
                RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, volume.clone(), strategy) }
            }
            Location::Dir(_) => RollbackGuard::by(session, volume.clone(), Strategy::Cleanup),
        };
        guard.mount()?;
        Ok(guard)
    }

    /// Copies an image to a temporary modelled disk that sleeps its service times, and opens it.
    pub(crate) fn on_disk(
        session: &Arc<Session>,
        volume: &VolumeConfig,
        image: &Path,
        model: &str,
    ) -> Result<RollbackGuard, Error> {
        let image = canonical(image)?;
        let exact = Exact::of(Whole::File(image.clone()))?;
        let beside = image.parent().unwrap_or(Path::new("/"));
        let scratch = Scratch::make(session, beside, SCRATCH)?;
        let dir = scratch.path().join("copy.disk");
        Store::create(&dir, &DiskSettings::new(volume.size_bytes, model, Clock::Real))?;
        let mut store = Store::open(&dir)?;
        store.import_image(&image)?;
        let snapshot = "filled".to_owned();
        store.snapshot(&snapshot)?;
        store.close()?;
        drop(store);
        let location = Location::Modelled { dir: dir.clone(), model: model.to_owned(), clock: Clock::Real };
        let strategy = Strategy::Snapshot { dir, snapshot, restore_note: None, scratch: Some(scratch) };
        let volume = VolumeConfig { location, ..volume.clone() };
        let mut guard = RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, volume, strategy) };
        guard.mount()?;
        Ok(guard)
    }

    /// Opens a file system that need not be verified afterwards, such as an unaged copy.
    pub(crate) fn spare(session: &Arc<Session>, volume: &VolumeConfig) -> Result<RollbackGuard, Error> {
        let mut guard = match &volume.location {
            Location::Image(image) => RollbackGuard::copy(session, image, volume)?,
            Location::Modelled { dir, .. } => {
                let strategy = Strategy::snapshot(dir, new_name(dir)?, None)?;
                RollbackGuard::by(session, volume.clone(), strategy)
            }
            Location::Device(_) | Location::Dir(_) => {
                RollbackGuard::by(session, volume.clone(), Strategy::Cleanup)
            }
        };
        guard.mount()?;
        Ok(guard)
    }

    /// Opens the file system that `made` describes read-only.
    pub(crate) fn read_only(session: &Arc<Session>, volume: &VolumeConfig) -> Result<RollbackGuard, Error> {
        let mut guard = RollbackGuard::by(session, volume.read_only(), Strategy::Untouched);
        guard.mount()?;
        Ok(guard)
    }

    /// Opens the file system that `made` describes without a copy or snapshot; the caller deletes created files.
    pub(crate) fn as_it_is(session: &Arc<Session>, volume: &VolumeConfig) -> Result<RollbackGuard, Error> {
        let mut guard = RollbackGuard::by(session, volume.clone(), Strategy::Cleanup);
        guard.mount()?;
        Ok(guard)
    }

    /// Uses a directory; the caller deletes created files.
    pub(crate) fn of_dir(session: &Arc<Session>, target: DirTarget, writes: bool) -> RollbackGuard {
        let volume = VolumeConfig::new(Location::Dir(target.path().to_owned()), "dir", 0);
        let strategy = if writes { Strategy::Cleanup } else { Strategy::Untouched };
        RollbackGuard { target: Some(Box::new(target)), ..RollbackGuard::by(session, volume, strategy) }
    }

    fn by(session: &Arc<Session>, volume: VolumeConfig, strategy: Strategy) -> RollbackGuard {
        RollbackGuard { session: session.clone(), volume, target: None, strategy, exact: None }
    }

    /// A copy of an image in the same directory.
    fn copy(session: &Arc<Session>, image: &Path, volume: &VolumeConfig) -> Result<RollbackGuard, Error> {
        let image = canonical(image)?;
        let beside = image.parent().unwrap_or(Path::new("/"));
        let scratch = Scratch::make(session, beside, SCRATCH)?;
        let copy = scratch.path().join("copy.img");
        let copied = disk::copy_image(&image, &copy)?;
        let volume = VolumeConfig { location: Location::Image(copy), ..volume.clone() };
        Ok(RollbackGuard::by(session, volume, Strategy::Copy { image, scratch, copied }))
    }

    /// The file system.
    pub(crate) fn target(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("the file system is open until it is rolled back")
    }

    /// The file system, as a shared reference.
    pub(crate) fn shared(&self) -> &dyn Target {
        self.target.as_deref().expect("the file system is open until it is rolled back")
    }

    /// Whether the caller must delete the created files.
    pub(crate) fn is_cleaned_up(&self) -> bool {
        matches!(self.strategy, Strategy::Cleanup)
    }

    fn mount(&mut self) -> Result<(), Error> {
        if let Strategy::Device(device) = &mut self.strategy {
            device.watch()?;
        }
        self.target = Some(fs::open(&self.session, &self.volume)?);
        Ok(())
    }

    /// Rolls the file system back, and opens it again. A directory stays as it is.
    pub(crate) fn rewind(&mut self) -> Result<(), Error> {
        if matches!(self.strategy, Strategy::Cleanup | Strategy::Untouched) {
            return Ok(());
        }
        self.target.take().map_or(Ok(()), |target| target.close())?;
        match &mut self.strategy {
            Strategy::Snapshot { dir, snapshot, .. } => {
                let mut store = Store::open(dir)?;
                store.rollback(snapshot)?;
                store.close()?;
            }
            Strategy::Copy { image, scratch, .. } => {
                let copy = scratch.path().join("copy.img");
                std::fs::remove_file(&copy).map_err(Error::io("removing", &copy))?;
                disk::copy_image(image, &copy)?;
            }
            Strategy::Device(device) => device.restore()?,
            Strategy::Cleanup | Strategy::Untouched => {}
        }
        self.mount()
    }

    /// Closes the file system, rolls it back, and verifies it.
    pub(crate) fn restore(self) -> Result<Restored, Error> {
        let RollbackGuard { target, strategy, exact, .. } = self;
        target.map_or(Ok(()), |target| target.close())?;
        let (method, restore_note, restored_bytes) = match strategy {
            // The disk is removed with its temporary directory.
            Strategy::Snapshot { scratch: Some(scratch), .. } => {
                drop(scratch);
                (RollbackMethod::Copied, None, None)
            }
            Strategy::Snapshot { dir, snapshot, restore_note, .. } => {
                let mut store = Store::open(&dir)?;
                store.rollback(&snapshot)?;
                store.delete_snapshot(&snapshot)?;
                store.close()?;
                (RollbackMethod::RolledBack, restore_note, None)
            }
            Strategy::Copy { scratch, copied: CopyMethod::Reflink, .. } => {
                drop(scratch);
                (RollbackMethod::Reflinked, None, None)
            }
            Strategy::Copy { scratch, .. } => {
                drop(scratch);
                (RollbackMethod::Copied, None, None)
            }
            Strategy::Device(mut device) => {
                device.restore()?;
                if exact.as_ref().is_some_and(|exact| exact.check().is_err()) {
                    // Another process wrote to the device, or writes bypassed the log.
                    device.restore_all()?;
                }
                let (restore_note, bytes) = device.done();
                (RollbackMethod::Restored, Some(restore_note), Some(bytes))
            }
            Strategy::Cleanup => (RollbackMethod::CleanedUp, None, None),
            Strategy::Untouched => (RollbackMethod::Untouched, None, None),
        };
        let sha256 = exact.map(|exact| exact.check()).transpose()?;
        restore_note.map_or(Ok(()), RestoreNote::remove)?;
        Ok(Restored { method, sha256, restored_bytes })
    }
}

/// Prefix of the directories that hold copies.
const SCRATCH: &str = "senesce-benchmark";

impl Strategy {
    /// Takes this snapshot of a modelled disk.
    fn snapshot(dir: &Path, snapshot: String, restore_note: Option<RestoreNote>) -> Result<Strategy, Error> {
        let mut store = Store::open(dir)?;
        store.snapshot(&snapshot)?;
        store.close()?;
        Ok(Strategy::Snapshot { dir: dir.to_owned(), snapshot, restore_note, scratch: None })
    }
}

impl Exact {
    fn of(of: Whole) -> Result<Exact, Error> {
        let before = of.digest()?;
        Ok(Exact { of, before })
    }

    /// Refuses a file system that differs from its initial state.
    fn check(&self) -> Result<Digest, Error> {
        let after = self.of.digest()?;
        if after == self.before {
            return Ok(after);
        }
        let path = match &self.of {
            Whole::File(path) | Whole::Store(path) => path.display(),
        };
        Err(Error::Failed(format!(
            "{path} changed during the benchmark: its SHA-256 was {} and is now {after}",
            self.before
        )))
    }
}

impl Whole {
    fn digest(&self) -> Result<Digest, Error> {
        match self {
            Whole::File(path) => Ok(disk::checksum(path)?),
            Whole::Store(dir) => {
                let mut store = Store::open(dir)?;
                let digest = store.digest()?;
                store.close()?;
                Ok(digest)
            }
        }
    }
}

fn canonical(image: &Path) -> Result<PathBuf, Error> {
    std::fs::canonicalize(image).map_err(Error::io("opening", image))
}

/// A snapshot name that is unused on the modelled disk.
fn new_name(dir: &Path) -> Result<String, Error> {
    let taken = disk::modelled::list_snapshots(dir)?;
    let mut names = (1..).map(|number| format!("before-benchmark-{number}"));
    let free = |name: &String| taken.iter().all(|snapshot| snapshot.name != *name);
    Ok(names.find(free).expect("numbers are unlimited"))
}
