//! The metadata benchmark on an aged file system, and on its unaged copy. The aged one is afterwards what it was.

use super::{MetadataOutcome, MetadataSpec, recorded};
use crate::compare::{SUBJECTS, unaged};
use crate::manifest::{Home, Made, Manifest};
use crate::store::Store;
use crate::work::Work;
use crate::{Error, Watch};
use bench::metadata::{Keeper, PhaseOutcome, Task};
use disk::Session;
use fs::Target;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The directory of the objects, below the root of the tree.
const OBJECTS: &str = "senesce-benchmark";

/// What two sides gave.
#[derive(Clone, Debug, Serialize)]
pub struct OnAged {
    /// Name of the aged file system.
    pub name: String,
    /// How the aged file system came to be afterwards what it was before.
    pub kept: Kept,
    /// On the aged one.
    pub aged: MetadataOutcome,
    /// On its unaged copy.
    pub unaged: MetadataOutcome,
    /// Each phase on both.
    pub pairs: Vec<PhasePair>,
}

/// How an aged file system is afterwards what it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// Its modelled disk was rolled back to a snapshot.
    RolledBack,
    /// The benchmark ran on a copy of its image.
    Copied,
    /// Not to the block: the objects are deleted, and that is all. On devices and directories.
    CleanedUp,
}

/// A phase on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct PhasePair {
    /// The phase.
    pub phase: &'static str,
    /// Which repeat of it, from 0.
    pub iteration: u32,
    /// Objects a second on the aged side.
    pub aged_objects_per_s: f64,
    /// On the unaged side.
    pub unaged_objects_per_s: f64,
    /// Aged over unaged; below 1 where aging costs.
    pub rate_ratio: Option<f64>,
    /// Latency aged over unaged of each operation, at the median and in the tail (`median`, `p99`, `p999`); above 1 where
    /// aging costs.
    pub latency_ratio: BTreeMap<String, BTreeMap<&'static str, f64>>,
}

/// What the run of a side is called in the store.
pub fn metadata_side(on: &str, side: &str) -> String {
    format!("{on}, {side}")
}

/// Runs the benchmark of `spec` on the aged file system `on` of its work directory and on an unaged copy; where the objects
/// are follows from that. Each side is a run of its own in the store.
pub fn metadata_on(
    spec: &MetadataSpec,
    on: &str,
    watch: &mut dyn Watch,
    seen: &mut dyn FnMut(&PhaseOutcome),
) -> Result<OnAged, Error> {
    spec.task.check().map_err(super::bench_error)?;
    let dir = spec.work.as_deref().expect("an aged file system lies in a work directory");
    let manifest = Manifest::load_aged(dir, on)?;
    let work = Work::take(dir)?;
    let store = work.store()?;
    let session = Session::begin()?;
    let mut aged = Aged::open(&session, dir, &manifest)?;
    let mut running =
        Running { spec, work: dir, manifest: &manifest, session: &session, store: &store, watch, seen };
    let measured = running.sides(aged.target.as_mut());
    let kept = aged.restore()?;
    let (aged, unaged) = match measured {
        Err(_) if disk::interrupted() => Err(Error::Interrupted(kept.said_of(on))),
        measured => measured,
    }?;
    let pairs = aged.phases.iter().zip(&unaged.phases).map(|(aged, unaged)| PhasePair::of(aged, unaged));
    Ok(OnAged { name: on.to_owned(), kept, pairs: pairs.collect(), aged, unaged })
}

/// A benchmark of two sides on its way.
struct Running<'a> {
    spec: &'a MetadataSpec,
    work: &'a Path,
    manifest: &'a Manifest,
    session: &'a Arc<Session>,
    store: &'a Store,
    watch: &'a mut dyn Watch,
    seen: &'a mut dyn FnMut(&PhaseOutcome),
}

impl Running<'_> {
    /// The aged side and the unaged one. The unaged one is first, and is gone when the other begins.
    fn sides(&mut self, aged: &mut dyn Target) -> Result<(MetadataOutcome, MetadataOutcome), Error> {
        let Manifest { name, made, fill, .. } = self.manifest;
        self.watch.phase(&format!("{name}: copying to a fresh file system"), None);
        let mut unaged = unaged::make(self.session, self.work, name, made, *fill, aged)?;
        let of_unaged = self.side(&metadata_side(name, SUBJECTS[1]), unaged.target_mut());
        unaged.remove()?;
        let of_unaged = of_unaged?;
        Ok((self.side(&metadata_side(name, SUBJECTS[0]), aged)?, of_unaged))
    }

    /// One side, from a cold cache.
    fn side(&mut self, name: &str, target: &mut dyn Target) -> Result<MetadataOutcome, Error> {
        target.chill()?;
        let keeper = Keeper::Posix { root: target.root().join(OBJECTS) };
        let task = Task { keeper, ..self.spec.task.clone() };
        let spec = MetadataSpec { name: name.to_owned(), task, ..self.spec.clone() };
        recorded(&spec, Some(self.store), None, self.watch, self.seen)
    }
}

/// The aged side.
struct Aged {
    target: Box<dyn Target>,
    restoring: Restoring,
}

/// How it is made what it was.
enum Restoring {
    /// By a snapshot, which a file names as long as that is to be done.
    Snapshot { snapshot: String, note: PathBuf },
    /// By removing the copy that it is.
    Copy(PathBuf),
    /// By no more than the cleanup phase.
    Cleanup,
}

impl Aged {
    fn open(session: &Arc<Session>, work: &Path, manifest: &Manifest) -> Result<Aged, Error> {
        let open = |made: &Made| crate::age::open(session, made);
        Ok(match &manifest.made.home {
            Home::Image(image) => {
                let copy = image.with_extension("benchmark.img");
                copy_image(image, &copy)?;
                let made = Made { home: Home::Image(copy.clone()), ..manifest.made.clone() };
                let target = open(&made).inspect_err(|_| drop(std::fs::remove_file(&copy)))?;
                Aged { target, restoring: Restoring::Copy(copy) }
            }
            Home::Modelled { .. } => {
                let mut target = open(&manifest.made)?;
                let note = work.join(format!("{}.benchmark", manifest.name));
                let snapshot = match std::fs::read_to_string(&note) {
                    // A benchmark that was killed has left its objects.
                    Ok(snapshot) => {
                        target.rollback(&snapshot)?;
                        snapshot
                    }
                    Err(_) => {
                        let snapshot = new_name(target.as_ref())?;
                        target.snapshot(&snapshot)?;
                        std::fs::write(&note, &snapshot).map_err(Error::io("writing", &note))?;
                        snapshot
                    }
                };
                Aged { target, restoring: Restoring::Snapshot { snapshot, note } }
            }
            Home::Device(_) | Home::Dir(_) => {
                Aged { target: open(&manifest.made)?, restoring: Restoring::Cleanup }
            }
        })
    }

    /// Makes it what it was, and closes it.
    fn restore(self) -> Result<Kept, Error> {
        let Aged { mut target, restoring } = self;
        match restoring {
            Restoring::Snapshot { snapshot, note } => {
                target.rollback(&snapshot)?;
                target.close()?;
                std::fs::remove_file(&note).map_err(Error::io("removing", &note))?;
                Ok(Kept::RolledBack)
            }
            Restoring::Copy(copy) => {
                target.close()?;
                std::fs::remove_file(&copy).map_err(Error::io("removing", &copy))?;
                Ok(Kept::Copied)
            }
            Restoring::Cleanup => {
                target.close()?;
                Ok(Kept::CleanedUp)
            }
        }
    }
}

/// A name that no snapshot has.
fn new_name(target: &dyn Target) -> Result<String, Error> {
    let taken = target.modelled().expect("it lies on a modelled disk").snapshots()?;
    let mut names = (1..).map(|number| format!("before-benchmark-{number}"));
    let free = |name: &String| taken.iter().all(|snapshot| snapshot.name != *name);
    Ok(names.find(free).expect("numbers do not end"))
}

/// Copies an image, holes as holes, and where the file system below can share blocks, without copying them.
fn copy_image(image: &Path, copy: &Path) -> Result<(), Error> {
    let mut cp = disk::command("cp");
    let copied = disk::run_tool(
        cp.args(["--reflink=auto", "--sparse=always", "--"]).arg(image).arg(copy),
        "coreutils",
    );
    match copied {
        Ok(output) if output.status.success() => Ok(()),
        failed => {
            let _ = std::fs::remove_file(copy);
            let why = String::from_utf8_lossy(&failed?.stderr).trim().to_owned();
            Err(Error::Failed(format!("the benchmark runs on a copy of {}: {why}", image.display())))
        }
    }
}

impl Kept {
    /// What that means, for people.
    pub fn said_of(self, name: &str) -> String {
        match self {
            Kept::RolledBack => format!("{name} is rolled back to what it was"),
            Kept::Copied => format!("{name} is what it was: a copy was used, and is gone"),
            Kept::CleanedUp => format!("the objects were made on {name} itself, which cannot be rolled back"),
        }
    }
}

impl PhasePair {
    fn of(aged: &PhaseOutcome, unaged: &PhaseOutcome) -> PhasePair {
        let ratio = |aged: f64, unaged: f64| (unaged > 0.0).then(|| aged / unaged);
        let latencies = aged.latency_us.iter().filter_map(|(op, of_aged)| {
            let of_unaged = unaged.latency_us.get(op)?;
            let quantiles = [
                ("median", of_aged.median, of_unaged.median),
                ("p99", of_aged.p99, of_unaged.p99),
                ("p999", of_aged.p999, of_unaged.p999),
            ];
            let ratios = quantiles.into_iter().filter_map(|(name, a, u)| Some((name, ratio(a, u)?)));
            Some((op.clone(), ratios.collect()))
        });
        PhasePair {
            phase: aged.phase.name(),
            iteration: aged.iteration,
            aged_objects_per_s: aged.objects_per_s,
            unaged_objects_per_s: unaged.objects_per_s,
            rate_ratio: ratio(aged.objects_per_s, unaged.objects_per_s),
            latency_ratio: latencies.collect(),
        }
    }
}
