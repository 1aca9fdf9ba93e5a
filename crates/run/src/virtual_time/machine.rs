//! Starts the machines, several at once.

use super::age::AgeJob;
use super::job::Job;
use super::sides::Side;
use super::{SUBCOMMAND, vm_error};
use crate::Error;
use crate::aged_pair::UnagedSide;
use fs::{FileSystem, Location, VolumeConfig};
use results::Watch;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use vm::{AttachedDisk, Kernel, VirtualTimeTask, run_in_virtual_time};

/// The file systems in the machines.
const DISKS: [&str; 2] = ["/disk0", "/disk1"];

/// The seed of a machine that makes or ages a file system, which does not differ by the seed of a measurement.
const MAKING_SEED: u64 = 1;

/// The programs that a machine with this file system needs, and their packages.
pub fn tools(kind: &dyn FileSystem) -> Vec<(&'static str, &'static str)> {
    let (programs, package) = kind.tools();
    programs.iter().map(|name| (*name, package)).chain([IDENTIFIES]).collect()
}

/// Looks for a file system that would be overwritten.
const IDENTIFIES: (&str, &str) = ("blkid", "util-linux");

/// What all machines have.
pub struct Machine {
    modules: Vec<&'static str>,
    tools: Vec<(&'static str, &'static str)>,
}

impl Machine {
    pub fn new(kind: &dyn FileSystem) -> Machine {
        Machine { modules: fs::modules(kind), tools: tools(kind) }
    }

    /// Measures a side once.
    pub fn measure<T: DeserializeOwned>(
        &self,
        side: &Side,
        seed: u64,
        job: impl FnOnce(VolumeConfig) -> Job,
    ) -> Result<T, Error> {
        self.run(&side.kernel, &[(&side.image, false)], seed, &job(inside(&side.volume, 0)))
    }

    /// Makes the sides that have no image yet, in `dir`.
    pub fn make(
        &self,
        mut sides: Vec<Side>,
        like: &Fresh,
        dir: &Path,
        watch: &mut dyn Watch,
    ) -> Result<Vec<Side>, Error> {
        // Sides that differ only in the kernel are made once.
        let mut made: Vec<(VolumeConfig, PathBuf)> = Vec::new();
        for side in sides.iter_mut().filter(|side| side.image.as_os_str().is_empty()) {
            if let Some((_, image)) = made.iter().find(|(volume, _)| *volume == side.volume) {
                side.image = image.clone();
                continue;
            }
            watch.phase(like.message(), None);
            let image = dir.join(format!("{}.img", made.len()));
            check_room(like, dir)?;
            create(&image, side.volume.size_bytes)?;
            let fresh = inside(&side.volume, 0);
            let tree = like.tree().map(|tree| (inside(&tree.volume, 1), like.filled));
            let disks = [(image.as_path(), true)].into_iter();
            let disks = disks.chain(like.tree().map(|tree| (tree.image.as_path(), false)));
            let job = Job::Make { fresh, tree };
            let () = self.run(&like.of.kernel, &disks.collect::<Vec<_>>(), MAKING_SEED, &job)?;
            side.image = image.clone();
            made.push((side.volume.clone(), image));
        }
        Ok(sides)
    }

    /// Ages a file system in a new image, which is removed if that fails.
    pub fn age<T: DeserializeOwned>(&self, kernel: &Kernel, image: &Path, job: AgeJob) -> Result<T, Error> {
        check_free(image.parent().unwrap_or(Path::new("/")), job.volume.size_bytes, "the aged file system")?;
        create(image, job.volume.size_bytes)?;
        let job = Job::Age(AgeJob { volume: inside(&job.volume, 0), ..job });
        self.run(kernel, &[(image, true)], MAKING_SEED, &job).inspect_err(|_| {
            // The error of the machine is the one to report.
            let _ = std::fs::remove_file(image);
        })
    }

    fn run<T: DeserializeOwned>(
        &self,
        kernel: &Kernel,
        disks: &[(&Path, bool)],
        seed: u64,
        job: &Job,
    ) -> Result<T, Error> {
        let args: Vec<OsString> = SUBCOMMAND.iter().map(OsString::from).collect();
        let attached = disks.iter().zip(DISKS).map(|((image, is_written), inside)| AttachedDisk {
            image: image.to_path_buf(),
            inside: inside.into(),
            is_written: *is_written,
        });
        let task = VirtualTimeTask {
            kernel,
            modules: &self.modules,
            tools: &self.tools,
            disks: &attached.collect::<Vec<_>>(),
            args: &args,
            dir: Path::new("/"),
            input: serde_json::to_vec(job).expect("plain data serializes"),
            seed,
        };
        let ended = run_in_virtual_time(&task).map_err(vm_error)?;
        if ended.status != 0 {
            return Err(Error::Failed(said(&ended.errors)));
        }
        serde_json::from_str(&ended.output)
            .map_err(|e| Error::Failed(format!("parsing the result of the virtual machine: {e}")))
    }
}

/// The error of the command inside: its last line.
fn said(errors: &str) -> String {
    let last = errors.trim().lines().last().unwrap_or("the command in the virtual machine failed");
    last.trim_start_matches("senesce: ").to_owned()
}

/// The same file system in a machine.
fn inside(volume: &VolumeConfig, disk: usize) -> VolumeConfig {
    VolumeConfig { kernel: None, ..volume.at(Location::Image(DISKS[disk].into())) }
}

/// Creates a sparse image.
fn create(image: &Path, bytes: u64) -> Result<(), Error> {
    let created = File::create_new(image).and_then(|file| file.set_len(bytes));
    created.map_err(Error::io("creating", image))
}

/// A fresh file system to make.
pub struct Fresh<'a> {
    /// What is in it.
    pub side: UnagedSide,
    /// The aged one.
    pub of: &'a Side,
    /// Whether the files of the aged one hold data.
    pub filled: bool,
}

impl Fresh<'_> {
    /// The file system whose tree is copied, if any.
    fn tree(&self) -> Option<&Side> {
        (self.side == UnagedSide::Copy).then_some(self.of)
    }

    fn message(&self) -> &'static str {
        match self.side {
            UnagedSide::Copy => "copying to a fresh file system, in virtual time",
            UnagedSide::Empty => "making an empty file system, in virtual time",
        }
    }
}

/// Refuses a file system that would not fit: a machine whose disk has no room is killed.
fn check_room(fresh: &Fresh, dir: &Path) -> Result<(), Error> {
    let tree = fresh.tree().map_or(0, |tree| Location::Image(tree.image.clone()).allocated_bytes());
    // Fresh metadata too; an image has never more than its size.
    let needed = (tree + tree / 8 + (64 << 20)).min(fresh.of.volume.size_bytes);
    check_free(dir, needed, "the unaged file system")
}

fn check_free(dir: &Path, needed: u64, what: &str) -> Result<(), Error> {
    let free = disk::free_bytes(dir)?;
    if free >= needed {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{what} needs {} in {}, where {} are free",
        input::bytes(needed),
        dir.display(),
        input::bytes(free)
    )))
}

/// The number of machines that fit in the processors and the memory of this one, at least one.
pub fn most_at_once(image_bytes: u64) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = bench::memory::available().unwrap_or(u64::MAX);
    let fitting = memory / 2 / (vm::VIRTUAL_TIME_MEMORY_BYTES + image_bytes);
    usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, processors)
}

/// Does `work` on all items, `most` at once. After an error no more are started. Passes the results to `seen` as they come, each with the
/// index of its item.
pub fn side_by_side<I: Sync, T: Send>(
    items: &[I],
    most: usize,
    work: impl Fn(&I) -> Result<T, Error> + Sync,
    mut seen: impl FnMut(usize, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let next = Mutex::new(items.iter().enumerate());
    let take = || next.lock().expect("no thread panics").next();
    let stop = || next.lock().expect("no thread panics").by_ref().for_each(drop);
    let (to, ended) = channel();
    std::thread::scope(|scope| {
        for _ in 0..most.min(items.len()) {
            let (to, take, work) = (to.clone(), &take, &work);
            scope.spawn(move || {
                while let Some((index, item)) = take() {
                    // The receiver hears all results.
                    let _ = to.send(work(item).map(|result| (index, result)));
                }
            });
        }
        drop(to);
        let mut first = Ok(());
        for result in ended {
            let result = result.and_then(|(index, result)| seen(index, result));
            if result.is_err() {
                stop();
            }
            first = first.and(result);
        }
        first
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_is_passed_on_and_an_error_ends_the_work() {
        let mut squares = vec![0; 3];
        let keep = |index: usize, square| {
            squares[index] = square;
            Ok(())
        };
        side_by_side(&[3, 1, 2], 2, |n| Ok(n * n), keep).unwrap();
        assert_eq!(squares, [9, 1, 4]);
        let begun = Mutex::new(0);
        let fails = |_: &u64| -> Result<(), Error> {
            *begun.lock().unwrap() += 1;
            Err(Error::Failed("no".to_owned()))
        };
        let error = side_by_side(&[0; 100_000], 2, fails, |_, ()| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "no");
        assert!(*begun.lock().unwrap() < 100_000, "an error ends the work");
    }

    #[test]
    fn at_least_one_machine_runs() {
        assert_eq!(most_at_once(1 << 60), 1);
        assert!(most_at_once(0) <= std::thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn error_of_the_command_is_its_last_line() {
        assert_eq!(said("note\nsenesce: no room\n"), "no room");
        assert_eq!(said(""), "the command in the virtual machine failed");
    }
}
