//! File systems that are written to for a measurement, and are afterwards what they were, to the byte where that can be: checksums
//! before and after tell.
//!
//! | what | how |
//! |---|---|
//! | a modelled disk | it is rolled back to a snapshot |
//! | an image | a copy is written to: by reference where the file system below can, else of its data |
//! | a device | the blocks that the log of its requests says were written are restored from a saved image ([`device`]) |
//! | a directory | what was made in it is deleted: the same files, not the same blocks |
//!
//! What is to be done is noted on disk before anything is written, so that it can be done whatever happens to the process.

mod device;

use crate::Error;
use crate::manifest::{Home, Made};
use device::Device;
use disk::modelled::{Clock, DiskSettings, Store};
use disk::{Copied, Digest, Dirty, Scratch, Session, Undo};
use fs::{DirTarget, Target};
use results::Watch;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file system is afterwards what it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackMethod {
    /// Its modelled disk was rolled back to a snapshot.
    RolledBack,
    /// A copy of its image that shares its blocks was written to.
    Reflinked,
    /// A copy of its image was written to.
    Copied,
    /// The blocks of its device that were written were restored from a saved image.
    Restored,
    /// Not to the block: what was made on it is deleted, and that is all. On directories.
    CleanedUp,
    /// It was only read.
    Untouched,
}

impl RollbackMethod {
    /// How a file system that lives there is kept when it is written to.
    pub(crate) fn at(home: &Home) -> RollbackMethod {
        match home {
            Home::Image(_) => RollbackMethod::Copied,
            Home::Modelled { .. } => RollbackMethod::RolledBack,
            Home::Device(_) => RollbackMethod::Restored,
            Home::Dir(_) => RollbackMethod::CleanedUp,
        }
    }
}

/// What was done to a file system so that it is what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Restored {
    /// The method.
    #[serde(rename = "kept")]
    pub method: RollbackMethod,
    /// The checksum of all of it, which is the same before and after; none where only its files are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Bytes that were written back to a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored_bytes: Option<u64>,
}

impl Restored {
    /// What that means, for people.
    pub fn said_of(&self, name: &str) -> String {
        let how = match self.method {
            RollbackMethod::RolledBack => format!("{name} is rolled back"),
            RollbackMethod::Reflinked => format!("{name} is unchanged (ran on a reflink copy, now deleted)"),
            RollbackMethod::Copied => format!("{name} is unchanged (ran on a copy, now deleted)"),
            RollbackMethod::Restored => {
                let bytes = crate::bytes(self.restored_bytes.unwrap_or(0));
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

/// Where it is noted that an aged file system is written to.
pub(crate) fn note(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.benchmark"))
}

/// Refuses what a benchmark that was killed has left otherwise than it was.
pub(crate) fn check_clean(dir: &Path, name: &str) -> Result<(), Error> {
    if !disk::is_dirty(&note(dir, name)) {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{name} was not rolled back after a killed benchmark; roll it back with `senesce cleanup` or another \
         `senesce bench … --on {name}`"
    )))
}

/// Makes it what it was if a benchmark that was killed has left it otherwise.
pub(crate) fn clean_first(dir: &Path, name: &str, watch: &mut dyn Watch) -> Result<(), Error> {
    let note = note(dir, name);
    if disk::is_dirty(&note) {
        watch.say(&format!("{name} was not rolled back after a killed benchmark; rolling it back now"));
        if let Some(done) = disk::undo(&note)? {
            watch.say(&done);
        }
    }
    Ok(())
}

/// A file system that is kept.
pub(crate) struct RollbackGuard {
    session: Arc<Session>,
    /// What is mounted to be written to.
    made: Made,
    // Dropped before what it lies on.
    target: Option<Box<dyn Target>>,
    strategy: Strategy,
    exact: Option<Exact>,
}

/// How it is made what it was.
enum Strategy {
    /// By a snapshot of a modelled disk, which a note names, or which lies in a directory that goes.
    Snapshot { dir: PathBuf, snapshot: String, dirty: Option<Dirty>, scratch: Option<Scratch> },
    /// By removing the copy that it is, with the directory that holds it.
    Copy { image: PathBuf, scratch: Scratch, copied: Copied },
    /// From a saved image.
    Device(Box<Device>),
    /// By whoever wrote to it.
    Cleanup,
    /// Nothing is to be done.
    Untouched,
}

/// What must be the same before and after.
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
    /// Prepares what `made` describes to be written to, and opens it. What is to be done in the end is noted beside it, under this
    /// name in `dir`; a note that is there has been seen to before.
    pub(crate) fn open(
        session: &Arc<Session>,
        dir: &Path,
        name: &str,
        made: &Made,
    ) -> Result<RollbackGuard, Error> {
        let note = note(dir, name);
        let mut keeping = match &made.home {
            Home::Image(image) => {
                let exact = Exact::of(Whole::File(canonical(image)?))?;
                RollbackGuard { exact: Some(exact), ..RollbackGuard::copy(session, image, made)? }
            }
            Home::Modelled { dir, .. } => {
                let exact = Exact::of(Whole::Store(dir.clone()))?;
                let undo = |snapshot: String| Undo::Snapshot { dir: dir.clone(), snapshot };
                let snapshot = new_name(dir)?;
                let dirty = Dirty::note(session, &note, &undo(snapshot.clone()))?;
                let strategy = Strategy::snapshot(dir, snapshot, Some(dirty))?;
                RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, made.clone(), strategy) }
            }
            Home::Device(path) => {
                let device = Device::prepare(session, path, dir, name, &note)?;
                let exact = Exact { of: Whole::File(path.clone()), before: device.saved() };
                let strategy = Strategy::Device(device.into());
                RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, made.clone(), strategy) }
            }
            Home::Dir(_) => RollbackGuard::by(session, made.clone(), Strategy::Cleanup),
        };
        keeping.mount()?;
        Ok(keeping)
    }

    /// Puts an image on a modelled disk of its own that sleeps its service times, and opens that.
    pub(crate) fn on_disk(
        session: &Arc<Session>,
        made: &Made,
        image: &Path,
        model: &str,
    ) -> Result<RollbackGuard, Error> {
        let image = canonical(image)?;
        let exact = Exact::of(Whole::File(image.clone()))?;
        let beside = image.parent().unwrap_or(Path::new("/"));
        let scratch = Scratch::make(session, beside, SCRATCH)?;
        let dir = scratch.path().join("copy.disk");
        Store::create(&dir, &DiskSettings::new(made.size_bytes, model, Clock::Real))?;
        let mut store = Store::open(&dir)?;
        store.fill(&image)?;
        let snapshot = "filled".to_owned();
        store.snapshot(&snapshot)?;
        store.close()?;
        drop(store);
        let home = Home::Modelled { dir: dir.clone(), model: model.to_owned(), clock: Clock::Real };
        let strategy = Strategy::Snapshot { dir, snapshot, dirty: None, scratch: Some(scratch) };
        let made = Made { home, ..made.clone() };
        let mut keeping = RollbackGuard { exact: Some(exact), ..RollbackGuard::by(session, made, strategy) };
        keeping.mount()?;
        Ok(keeping)
    }

    /// Opens what nobody asks afterwards whether it is what it was, as an unaged copy is.
    pub(crate) fn spare(session: &Arc<Session>, made: &Made) -> Result<RollbackGuard, Error> {
        let mut keeping = match &made.home {
            Home::Image(image) => RollbackGuard::copy(session, image, made)?,
            Home::Modelled { dir, .. } => {
                let strategy = Strategy::snapshot(dir, new_name(dir)?, None)?;
                RollbackGuard::by(session, made.clone(), strategy)
            }
            Home::Device(_) | Home::Dir(_) => RollbackGuard::by(session, made.clone(), Strategy::Cleanup),
        };
        keeping.mount()?;
        Ok(keeping)
    }

    /// Opens what `made` describes to be read and no more.
    pub(crate) fn read_only(session: &Arc<Session>, made: &Made) -> Result<RollbackGuard, Error> {
        let mount_opts = [&made.mount_opts[..], &["ro".to_owned()]].concat();
        let made = Made { mount_opts, ..made.clone() };
        let mut keeping = RollbackGuard::by(session, made, Strategy::Untouched);
        keeping.mount()?;
        Ok(keeping)
    }

    /// Opens what `made` describes as it is; whoever writes to it cleans up.
    pub(crate) fn as_it_is(session: &Arc<Session>, made: &Made) -> Result<RollbackGuard, Error> {
        let mut keeping = RollbackGuard::by(session, made.clone(), Strategy::Cleanup);
        keeping.mount()?;
        Ok(keeping)
    }

    /// Takes a directory; whoever writes to it cleans up.
    pub(crate) fn of_dir(session: &Arc<Session>, target: DirTarget, writes: bool) -> RollbackGuard {
        let made = Made {
            home: Home::Dir(target.path().to_owned()),
            fs: "dir".to_owned(),
            size_bytes: 0,
            plan_mkfs_opts: Vec::new(),
            mkfs_opts: Vec::new(),
            mount_opts: Vec::new(),
            read_ahead_kb: 0,
            kernel: None,
        };
        let strategy = if writes { Strategy::Cleanup } else { Strategy::Untouched };
        RollbackGuard { target: Some(Box::new(target)), ..RollbackGuard::by(session, made, strategy) }
    }

    fn by(session: &Arc<Session>, made: Made, strategy: Strategy) -> RollbackGuard {
        RollbackGuard { session: session.clone(), made, target: None, strategy, exact: None }
    }

    /// A copy of an image beside it.
    fn copy(session: &Arc<Session>, image: &Path, made: &Made) -> Result<RollbackGuard, Error> {
        let image = canonical(image)?;
        let beside = image.parent().unwrap_or(Path::new("/"));
        let scratch = Scratch::make(session, beside, SCRATCH)?;
        let copy = scratch.path().join("copy.img");
        let copied = disk::copy_image(&image, &copy)?;
        let made = Made { home: Home::Image(copy), ..made.clone() };
        Ok(RollbackGuard::by(session, made, Strategy::Copy { image, scratch, copied }))
    }

    /// The file system.
    pub(crate) fn target(&mut self) -> &mut dyn Target {
        self.target.as_deref_mut().expect("it is open until it is restored")
    }

    /// The same, shared.
    pub(crate) fn shared(&self) -> &dyn Target {
        self.target.as_deref().expect("it is open until it is restored")
    }

    /// Whether what is made on it must be deleted by whoever made it.
    pub(crate) fn is_cleaned_up(&self) -> bool {
        matches!(self.strategy, Strategy::Cleanup)
    }

    fn mount(&mut self) -> Result<(), Error> {
        if let Strategy::Device(device) = &mut self.strategy {
            device.watch()?;
        }
        self.target = Some(crate::age::open(&self.session, &self.made)?);
        Ok(())
    }

    /// Makes it what it was, and opens it again. A directory stays as it is.
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

    /// Closes it, makes it what it was, and looks whether it is.
    pub(crate) fn restore(self) -> Result<Restored, Error> {
        let RollbackGuard { target, strategy, exact, .. } = self;
        target.map_or(Ok(()), |target| target.close())?;
        let (method, dirty, restored_bytes) = match strategy {
            // What lay in a directory of its own goes with it.
            Strategy::Snapshot { scratch: Some(scratch), .. } => {
                drop(scratch);
                (RollbackMethod::Copied, None, None)
            }
            Strategy::Snapshot { dir, snapshot, dirty, .. } => {
                let mut store = Store::open(&dir)?;
                store.rollback(&snapshot)?;
                store.forget(&snapshot)?;
                store.close()?;
                (RollbackMethod::RolledBack, dirty, None)
            }
            Strategy::Copy { scratch, copied: Copied::ByReference, .. } => {
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
                    // Somebody else has written to it, or past the log.
                    device.restore_all()?;
                }
                let (dirty, bytes) = device.done();
                (RollbackMethod::Restored, Some(dirty), Some(bytes))
            }
            Strategy::Cleanup => (RollbackMethod::CleanedUp, None, None),
            Strategy::Untouched => (RollbackMethod::Untouched, None, None),
        };
        let sha256 = exact.map(|exact| exact.check()).transpose()?;
        dirty.map_or(Ok(()), Dirty::clean)?;
        Ok(Restored { method, sha256, restored_bytes })
    }
}

/// How the directories begin in which copies lie.
const SCRATCH: &str = "senesce-benchmark";

impl Strategy {
    /// A modelled disk that has this snapshot from now on.
    fn snapshot(dir: &Path, snapshot: String, dirty: Option<Dirty>) -> Result<Strategy, Error> {
        let mut store = Store::open(dir)?;
        store.snapshot(&snapshot)?;
        store.close()?;
        Ok(Strategy::Snapshot { dir: dir.to_owned(), snapshot, dirty, scratch: None })
    }
}

impl Exact {
    fn of(of: Whole) -> Result<Exact, Error> {
        let before = of.digest()?;
        Ok(Exact { of, before })
    }

    /// Refuses what is not what it was.
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

/// A name that no snapshot of the modelled disk has.
fn new_name(dir: &Path) -> Result<String, Error> {
    let taken = disk::modelled::list(dir)?;
    let mut names = (1..).map(|number| format!("before-benchmark-{number}"));
    let free = |name: &String| taken.iter().all(|snapshot| snapshot.name != *name);
    Ok(names.find(free).expect("numbers do not end"))
}
