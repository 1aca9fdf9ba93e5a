//! Measures in virtual time: in virtual machines whose clock counts instructions, so that a result does not depend on the load and the speed
//! of this machine, and one run of each seed is enough. Each run boots a machine of its own on the unchanged file system; several run side by
//! side.
//!
//! What it measures is the cost of the code of kernel and file system, not that of caches, memory and media.

mod age;
mod job;
mod machine;
mod sides;

pub use age::age;
pub use job::{Job, JobResult, perform};
pub use machine::tools;

use crate::Error;
use crate::aged_pair::{Found, Measured, RunPlan, Subject, UnagedSide, begin};
use crate::rollback::{Restored, RollbackMethod};
use crate::work::Work;
use disk::{FileLock, Scratch, Session};
use fs::{FileSystem, Location, VolumeConfig};
use machine::{Fresh, Machine, most_at_once, side_by_side};
use results::{RunId, Store, Watch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sides::{Side, ratios, sides};
use std::fs::File;
use std::path::{Path, PathBuf};
use vm::{Kernel, qemu_version};

/// What the time of an outcome is.
pub const MEANING: &str =
    "virtual time: each instruction of an emulated processor takes 1 ns; it is the time of no hardware";

/// The command of this program that passes the job on its standard input to [`perform`], and prints the result.
const SUBCOMMAND: [&str; 2] = ["bench", "virtual-time-job"];

/// Prefix of the directory of the copies.
const SCRATCH: &str = "senesce-virtual-time";

/// What is measured in virtual time.
#[derive(Clone, Debug, Default)]
pub struct VirtualTimeSpec {
    /// The kernels; without any, that of the aging, or the newest with the file system.
    pub kernels: Vec<Kernel>,
    /// Further options of mkfs; each set is measured on a copy, beside one with the options of the file system itself.
    pub mkfs_opts: Vec<Vec<String>>,
    /// Number of runs on each side, each with another seed.
    pub seeds: u64,
}

impl VirtualTimeSpec {
    /// The parameters of a run in the store.
    pub fn parameters(&self) -> serde_json::Value {
        let kernels: Vec<_> = self.kernels.iter().map(|kernel| &kernel.image).collect();
        serde_json::json!({ "meaning": MEANING, "kernels": kernels, "mkfs_opts": self.mkfs_opts, "seeds": self.seeds })
    }
}

/// The clock of an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VirtualClock {
    /// What its time is, in words.
    pub meaning: &'static str,
    /// The emulator.
    pub machine: String,
    /// The releases of the kernels.
    pub kernels: Vec<String>,
    /// The seeds of the runs on each side, for the measurement and for the random numbers of the kernel.
    pub seeds: Vec<u64>,
}

impl VirtualClock {
    /// The clock of machines with these kernels.
    pub fn of(kernels: &[Kernel], seeds: Vec<u64>) -> Result<VirtualClock, Error> {
        Ok(VirtualClock {
            meaning: MEANING,
            machine: format!("QEMU {}", qemu_version().map_err(vm_error)?),
            kernels: kernels.iter().map(Kernel::release).collect::<Result<_, _>>().map_err(vm_error)?,
            seeds,
        })
    }
}

/// Results in virtual time.
pub struct InVirtualTime<T> {
    /// The results of each side, by seed.
    pub measured: Measured<Vec<(String, Vec<T>)>>,
    /// The clock.
    pub clock: VirtualClock,
    /// The sides to compare: the names of two, and the name of their ratio.
    pub ratios: Vec<(String, [String; 2])>,
}

/// A measurement in virtual time.
pub struct Plan<'a> {
    /// The kernels and options.
    pub spec: &'a VirtualTimeSpec,
    /// The subject: an image, with or without a work directory.
    pub subject: &'a Subject,
    /// The run in the store; without one, `record` begins its own.
    pub run: Option<RunPlan<'a>>,
    /// What an aged file system is measured beside, if anything.
    pub unaged: Option<UnagedSide>,
    /// What is measured, for users.
    pub what: &'a str,
    /// The first seed.
    pub seed: u64,
}

/// Measures every side with every seed: `job` makes the job of one machine, `record` stores its result under the name of the side and its
/// seed.
pub fn measure<T: DeserializeOwned + Send>(
    plan: &Plan,
    watch: &mut dyn Watch,
    job: impl Fn(VolumeConfig, u64) -> Job + Sync,
    record: impl Fn(&Store, Option<RunId>, &str, u64, &T) -> Result<(), Error>,
) -> Result<InVirtualTime<T>, Error> {
    let found = Found::find(plan.subject, watch)?;
    let (image, volume, kind) = image_of(&found)?;
    let kernels = kernels(plan.spec, &volume, kind)?;
    let subject = Side::new(&image, &volume, &kernels[0]);
    let sides = sides(plan.spec, found.manifest().is_some() && plan.unaged.is_some(), &subject, &kernels)?;
    let ratios = ratios(&sides);
    let session = Session::begin()?;
    let work = plan.subject.work().map(Work::take).transpose()?;
    let _lock = lock(&image)?;
    let store = work.as_ref().map(Work::store).transpose()?;
    if let Some(work) = &work {
        work.keep();
    }
    let run = store.as_ref().zip(plan.run.as_ref());
    let run = run.map(|(store, run)| begin(store, run, &found)).transpose()?;
    let seeds: Vec<u64> = (0..plan.spec.seeds).map(|number| plan.seed.wrapping_add(number)).collect();
    let filled = found.manifest().is_none_or(|manifest| manifest.fill);
    let recorded = |side: &str, seed, result: &T| match &store {
        Some(store) => record(store, run, side, seed, result),
        None => Ok(()),
    };
    let measured = || {
        let scratch = Scratch::make(&session, image.parent().unwrap_or(Path::new("/")), SCRATCH)?;
        let machine = Machine::new(kind);
        let fresh = Fresh { side: plan.unaged.unwrap_or(UnagedSide::Copy), of: &subject, filled };
        let sides = machine.make(sides, &fresh, scratch.path(), watch)?;
        let title = format!("{}: {}, in virtual time", found.name(), plan.what);
        measure_all(&machine, &sides, &seeds, (&title, watch), job, recorded)
    };
    let result = measured();
    if let (Some(store), Some(run)) = (&store, run) {
        store.end_with(run, &result)?;
    }
    let restored = Restored { method: RollbackMethod::Copied, sha256: None, restored_bytes: None };
    let measured = Measured { name: found.name(), restored, disk: None, result: result? };
    Ok(InVirtualTime { measured, clock: VirtualClock::of(&kernels, seeds)?, ratios })
}

/// Measures every side with every seed. Each result is recorded when it is there.
fn measure_all<T: DeserializeOwned + Send>(
    machine: &Machine,
    sides: &[Side],
    seeds: &[u64],
    (title, watch): (&str, &mut dyn Watch),
    job: impl Fn(VolumeConfig, u64) -> Job + Sync,
    record: impl Fn(&str, u64, &T) -> Result<(), Error>,
) -> Result<Vec<(String, Vec<T>)>, Error> {
    let runs: Vec<(&Side, u64)> =
        sides.iter().flat_map(|side| seeds.iter().map(move |seed| (side, *seed))).collect();
    watch.phase(title, Some(runs.len() as u64));
    let one = |(side, seed): &(&Side, u64)| machine.measure(side, *seed, |volume| job(volume, *seed));
    let mut results: Vec<Option<T>> = runs.iter().map(|_| None).collect();
    let mut done = 0;
    let keep = |index: usize, result: T| {
        let (side, seed) = &runs[index];
        record(&side.name(), *seed, &result)?;
        results[index] = Some(result);
        done += 1;
        watch.at(done);
        Ok(())
    };
    side_by_side(&runs, most_at_once(sides[0].volume.size_bytes), one, keep)?;
    let mut results = results.into_iter().flatten();
    Ok(sides.iter().map(|side| (side.name(), results.by_ref().take(seeds.len()).collect())).collect())
}

/// The image of the subject, and its file system.
fn image_of(found: &Found) -> Result<(PathBuf, VolumeConfig, &'static dyn FileSystem), Error> {
    let refused = |why: &str| Error::Refused(format!("{} {why}: virtual time needs an image", found.name()));
    let Some(volume) = found.volume() else { return Err(refused("is a directory")) };
    let Location::Image(image) = &volume.location else {
        return Err(refused(&format!("is on {}", volume.location.path().display())));
    };
    let kind = fs::find(&volume.fs)?;
    if kind.in_pool() {
        return Err(Error::Refused(format!("{} cannot be measured in virtual time yet", kind.name())));
    }
    fs::require_tools(kind)?;
    Ok((image.clone(), volume.clone(), kind))
}

/// Refuses a file system of a size that no machine with a virtual clock has, alone or, to copy its tree, beside another of the same size.
pub fn check_size(bytes: u64, unaged: UnagedSide) -> Result<(), Error> {
    let both = [bytes; 2];
    let disks = if unaged == UnagedSide::Copy { &both[..] } else { &both[..1] };
    vm::check_virtual_disks(disks).map_err(Error::Refused)
}

/// The newest kernel that measures this file system in virtual time.
pub fn kernel_for(kind: &dyn FileSystem) -> Result<Kernel, Error> {
    Kernel::find(&[&vm::VIRTUAL_TIME_MODULES[..], &fs::modules(kind)].concat()).map_err(vm_error)
}

fn kernels(
    spec: &VirtualTimeSpec,
    volume: &VolumeConfig,
    kind: &dyn FileSystem,
) -> Result<Vec<Kernel>, Error> {
    if !spec.kernels.is_empty() {
        return Ok(spec.kernels.clone());
    }
    match &volume.kernel {
        Some(kernel) => Ok(vec![kernel.clone()]),
        None => Ok(vec![kernel_for(kind)?]),
    }
}

/// Holds the image as long as machines read it.
pub fn lock(image: &Path) -> Result<FileLock, Error> {
    let opening = Error::io("opening", image);
    match File::open(image).and_then(FileLock::try_take).map_err(opening)? {
        Ok(lock) => Ok(lock),
        Err(_) => Err(disk::Error::ImageInUse(image.to_owned()).into()),
    }
}

fn vm_error(error: vm::Error) -> Error {
    match error {
        vm::Error::Interrupted => Error::Interrupted("the image is unchanged".to_owned()),
        error => Error::Failed(error.to_string()),
    }
}
