//! Cells whose file system this kernel lacks: they are measured where another kernel runs.

use super::image_dir;
use super::plan::{Job, Plan};
use super::runner::{RunSpec, is_measured};
use disk::Session;
use fs::FileSystem;
use results::Watch;
use run::{Error, interrupted, virtual_time};
use std::path::Path;

/// Access to another kernel.
#[derive(Clone, Copy, Debug)]
pub struct OtherKernel {
    /// The release of a kernel that has the file system, or why there is none.
    pub release: fn(&'static dyn FileSystem) -> Result<String, String>,
    /// Measures and records the cells of some file systems there, or says why that failed.
    pub measure: fn(&OtherKernelRun) -> Result<(), String>,
}

/// What is measured with another kernel.
pub struct OtherKernelRun<'a> {
    /// The run that this is part of.
    pub spec: &'a RunSpec,
    /// The experiment, in a file.
    pub experiment: &'a Path,
    /// The file systems.
    pub kinds: &'a [&'static dyn FileSystem],
    /// The directory for images.
    pub images: &'a Path,
}

/// Where the cells of a file system are measured.
#[derive(Clone)]
pub(super) enum Place {
    /// With this kernel.
    Here,
    /// With another kernel.
    OtherKernel(&'static dyn FileSystem),
    /// Nowhere, and why.
    Nowhere(String),
}

impl Place {
    /// The place of a file system, and the version of its programs and kernel where it has one.
    ///
    /// # Errors
    /// If this run measures it (`is_asked`), this kernel has it, and something else is missing.
    pub fn of(
        kind: &'static dyn FileSystem,
        is_asked: bool,
        other_kernel: &OtherKernel,
    ) -> Result<(Place, Option<String>), Error> {
        if fs::can_mount(kind) {
            if is_asked {
                fs::ready(kind)?;
            }
            return Ok((Place::Here, Some(kind.version())));
        }
        let tools = fs::require_tools(kind).map_err(|error| error.to_string());
        Ok(match tools.and_then(|()| (other_kernel.release)(kind)) {
            Ok(release) => (Place::OtherKernel(kind), Some(kind.version_on(&release))),
            Err(why) => (Place::Nowhere(format!("{why}; or leave it out with --fs")), None),
        })
    }

    /// The same, if a machine with a virtual clock measures it. That machine also ages what this kernel lacks.
    pub fn in_virtual_time(
        kind: &'static dyn FileSystem,
        is_asked: bool,
    ) -> Result<(Place, Option<String>), Error> {
        let is_aged_here = fs::can_mount(kind);
        if is_aged_here && is_asked {
            fs::ready(kind)?;
        }
        let release = || -> Result<String, Error> {
            fs::require_tools(kind)?;
            let kernel = virtual_time::kernel_for(kind)?;
            kernel.release().map_err(|error| Error::Failed(error.to_string()))
        };
        Ok(match release() {
            Ok(release) if is_aged_here => {
                (Place::Here, Some(format!("{}; measured on Linux {release}", kind.version())))
            }
            Ok(release) => (Place::Here, Some(kind.version_on(&release))),
            Err(why) => (Place::Nowhere(format!("{why}; or leave it out with --fs")), None),
        })
    }
}

/// Measures what this kernel cannot. Returns why that failed, if it did.
pub(super) fn measure(plan: &Plan, watch: &mut dyn Watch) -> Result<Option<String>, Error> {
    let spec = plan.spec;
    let kinds = kinds_left(plan)?;
    if kinds.is_empty() {
        return Ok(None);
    }
    let names = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    watch.say(&format!("== {} {}: {names}, with another kernel", spec.experiment.figure, spec.scale));
    let session = Session::begin()?;
    let images = image_dir::make(&session, spec, plan.scale.size_bytes)?;
    let experiment = images.path().join("experiment.toml");
    let text = toml::to_string(&spec.experiment).expect("an experiment came from such a file");
    std::fs::write(&experiment, text).map_err(Error::io("writing", &experiment))?;
    let there = OtherKernelRun { spec, experiment: &experiment, kinds: &kinds, images: images.path() };
    match (spec.other_kernel.measure)(&there) {
        Ok(()) => Ok(None),
        Err(_) if disk::interrupted() => Err(interrupted()),
        Err(why) => {
            watch.say(&format!("{names}: {why}"));
            Ok(Some(why))
        }
    }
}

/// The file systems of cells that are measured with another kernel, and are not in the store yet.
fn kinds_left(plan: &Plan) -> Result<Vec<&'static dyn FileSystem>, Error> {
    let spec = plan.spec;
    let store = spec.existing_store()?;
    let is_left = |job: &&Job| -> Result<bool, Error> {
        let Some(store) = store.as_ref().filter(|_| spec.resume) else { return Ok(true) };
        Ok(!is_measured(plan, job, store)?)
    };
    let mut kinds: Vec<&'static dyn FileSystem> = Vec::new();
    for job in plan.jobs.iter().filter(|job| job.is_asked) {
        let Place::OtherKernel(kind) = job.place else { continue };
        if !kinds.iter().any(|other| other.name() == kind.name()) && is_left(&job)? {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}
