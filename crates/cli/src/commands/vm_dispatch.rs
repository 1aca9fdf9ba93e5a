//! Decides whether a command runs in a virtual machine with another kernel, and runs it there: the same command line, on the same files. In a
//! virtual machine, a command always runs in place.

use super::age::{self, absolute};
use super::compare::first;
use crate::args::{Age, Compare, Gate, OnKernel, ProbeKind};
use crate::messages;
use crate::progress::Progress;
use anyhow::{Context as _, Result, bail};
use experiment::{OtherKernel, OtherKernelRun};
use fs::FileSystem;
use results::{STORE_FILE, StoreLocation};
use run::gate::Recipe;
use run::library::{Image, Library, SaveSpec};
use run::{Location, Manifest, Subject, VolumeConfig, Work};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use vm::{Kernel, Task, TaskOutput};

/// A virtual machine to run a command in, and the resources that the command needs.
pub struct Dispatch {
    kernel: Kernel,
    modules: Vec<&'static str>,
    /// Whether images are attached as persistent memory.
    memory: bool,
    /// The work directory.
    work: Option<PathBuf>,
    /// Other directories that the command writes to.
    writes: Vec<PathBuf>,
}

impl Dispatch {
    fn new(kernel: Kernel, kinds: &[&'static dyn FileSystem], work: Option<PathBuf>) -> Dispatch {
        Dispatch {
            kernel,
            modules: kinds.iter().flat_map(|kind| kind.modules()).collect(),
            memory: kinds.iter().any(|kind| kind.in_persistent_memory()),
            work,
            writes: Vec::new(),
        }
    }
}

/// The command failed in the virtual machine and has already printed the error.
#[derive(Debug, thiserror::Error)]
#[error("the command failed in the virtual machine with status {0}")]
pub struct FailedInVm(pub u8);

/// The virtual machine for an aging; `None` if it runs here.
pub fn for_age(args: &Age, name: &str) -> Result<Option<Dispatch>> {
    if vm::guest_environment().is_some() || args.plan_only {
        return Ok(None);
    }
    if args.dir.is_some() {
        if args.kernel.kernel.is_some() {
            bail!("--kernel does not work with --dir: age an image instead");
        }
        return Ok(None);
    }
    let kind = fs::find(&args.fs)?;
    let work = absolute(&args.work.work)?;
    let recorded = || -> Result<_> {
        let aged = if args.resume { Manifest::load(&work, name)? } else { None };
        Ok(aged.and_then(|aged| aged.volume.kernel))
    };
    let kernel = match requested_kernel(&args.kernel)? {
        Some(kernel) => Some(kernel),
        None => recorded()?,
    };
    let Some(kernel) = kernel.map_or_else(|| kernel_for(&[kind]), |kernel| Ok(Some(kernel)))? else {
        return Ok(None);
    };
    // The tools in the virtual machine are the same; checking here avoids a boot.
    fs::require_tools(kind)?;
    if args.device.is_some() {
        bail!("{} needs a virtual machine here, which cannot use devices: age an image instead", kind.name());
    }
    if kind.in_persistent_memory() && args.disk.is_some() {
        bail!("{} uses persistent memory: leave --disk out", kind.name());
    }
    let mut dispatch = Dispatch::new(kernel, &[kind], Some(work));
    dispatch.writes.extend(args.image_dir.as_deref().map(absolute).transpose()?);
    dispatch.writes.extend(args.memory.then(|| age::MEMORY.into()));
    dispatch.writes.extend(args.save_trace.as_deref().map(parent_dir).transpose()?);
    Ok(Some(dispatch))
}

/// The virtual machines for a comparison, one for each kernel that aged a file system; `None` stands for this machine.
pub fn for_compare(args: &Compare, named: &[Manifest]) -> Result<Vec<Option<Dispatch>>> {
    let work = absolute(&args.work.work)?;
    if !args.ages_first() {
        let mut kernels: Vec<_> = named.iter().map(|manifest| &manifest.volume.kernel).collect();
        kernels.sort();
        kernels.dedup();
        let dispatch = |kernel: &Option<Kernel>| {
            let Some(kernel) = kernel.clone() else { return Ok(None) };
            let of = || named.iter().filter(|manifest| manifest.volume.kernel.as_ref() == Some(&kernel));
            let kinds = of().map(|manifest| fs::find(&manifest.volume.fs)).collect::<Result<Vec<_>, _>>()?;
            let mut dispatch = Dispatch::new(kernel.clone(), &kinds, Some(work.clone()));
            for manifest in of() {
                dispatch.writes.extend(image_dir(&manifest.volume)?);
            }
            Ok(Some(dispatch))
        };
        return kernels.into_iter().map(dispatch).collect();
    }
    let kinds = first::kinds(args)?.into_iter().map(fs::find).collect::<Result<Vec<_>, _>>()?;
    kinds.iter().try_for_each(|kind| fs::require_tools(*kind))?;
    let mut kernels: Vec<_> =
        requested_kernels(&args.kernel_images(), &args.kernels.modules)?.into_iter().map(Some).collect();
    match (kernels.len(), args.kernels.across) {
        (0, None) => kernels.push(kernel_for(&kinds)?),
        (0 | 1, Some(_)) => bail!("--across kernel needs two or more kernels: give --kernel A,B"),
        (2.., None) if args.first.matrix.is_empty() => bail!("several kernels need --across kernel"),
        _ => {}
    }
    let dispatch = |kernel| {
        let mut dispatch = Dispatch::new(kernel, &kinds, Some(work.clone()));
        dispatch.writes.extend(args.first.memory.then(|| age::MEMORY.into()));
        dispatch
    };
    Ok(kernels.into_iter().map(|kernel| kernel.map(dispatch)).collect())
}

/// The virtual machine for the agings of a gate; `None` if it runs here.
pub fn for_gate(args: &Gate, recipe: &Recipe) -> Result<Option<Dispatch>> {
    let kind = fs::find(&recipe.fs)?;
    fs::require_tools(kind)?;
    let kernel =
        requested_kernel(&args.kernel)?.map_or_else(|| kernel_for(&[kind]), |kernel| Ok(Some(kernel)))?;
    let Some(kernel) = kernel else { return Ok(None) };
    let mut dispatch = Dispatch::new(kernel, &[kind], Some(absolute(&args.work.work)?));
    dispatch.writes.extend(recipe.memory.then(|| age::MEMORY.into()));
    Ok(Some(dispatch))
}

/// The virtual machine for a probe; `None` if it runs here.
pub fn for_probe(kind: &ProbeKind) -> Option<Dispatch> {
    let (subject, log) = match kind {
        ProbeKind::Scan { subject, save_log, .. } => (subject, save_log.as_deref()),
        ProbeKind::Layout { subject, .. }
        | ProbeKind::FreeSpace { subject }
        | ProbeKind::NewFile { subject, .. }
        | ProbeKind::WarmScan { subject, .. } => (subject, None),
        _ => return None,
    };
    if vm::guest_environment().is_some() {
        return None;
    }
    // Ignores errors: the probe reports them when it runs here.
    let volume = run::existing_volume(&subject.path).ok()??;
    let kind = fs::find(&volume.fs).ok()?;
    let mut dispatch = Dispatch::new(kernel_for(&[kind]).ok()??, &[kind], None);
    let written = [Some(subject.path.as_path()), log].into_iter().flatten();
    dispatch.writes = written.filter_map(|path| parent_dir(path).ok()).collect();
    Some(dispatch)
}

/// The virtual machine for a benchmark; `None` if it runs here. Notes when rates say nothing.
pub fn for_bench(subject: &Subject) -> Result<Option<Dispatch>> {
    if vm::is_emulated() {
        messages::note("the processor is emulated by QEMU: rates and latencies are those of no machine");
    }
    if vm::guest_environment().is_some() {
        return Ok(None);
    }
    let Some(volume) = subject.volume(&mut Progress::new())? else { return Ok(None) };
    let Some(kind) = volume.kind()? else { return Ok(None) };
    let (kernel, work) = match subject {
        Subject::Aged { work, .. } => (volume.kernel.clone(), Some(work)),
        Subject::Alone { work, .. } => (kernel_for(&[kind])?, work.as_ref()),
        // It is in a virtual machine.
        Subject::Disposable(_) => return Ok(None),
    };
    let Some(kernel) = kernel else { return Ok(None) };
    let work = work.map(|work| absolute(work)).transpose()?;
    let mut dispatch = Dispatch::new(kernel, &[kind], work);
    dispatch.writes.extend(image_dir(&volume)?);
    Ok(Some(dispatch))
}

/// The virtual machine for saving an aged file system; `None` if it is saved here.
pub fn for_save(spec: &SaveSpec) -> Result<Option<Dispatch>> {
    if vm::guest_environment().is_some() {
        return Ok(None);
    }
    let volume = Manifest::load_aged(&spec.work, &spec.name)?.volume;
    let Some(kernel) = volume.kernel.clone() else { return Ok(None) };
    let mut dispatch = Dispatch::new(kernel, &[fs::find(&volume.fs)?], Some(absolute(&spec.work)?));
    dispatch.writes.extend(image_dir(&volume)?);
    dispatch.writes.push(match &spec.to {
        Some(file) => parent_dir(file)?,
        None => Library::of_user()?.path().to_owned(),
    });
    Ok(Some(dispatch))
}

/// The virtual machine for the deep check of a saved image in `scratch`; `None` if it runs here.
pub fn for_image_check(image: &Image, scratch: &Path) -> Result<Option<Dispatch>> {
    if vm::guest_environment().is_some() {
        return Ok(None);
    }
    let kind = fs::find(&image.about.aged.volume.fs)?;
    let Some(kernel) = kernel_for(&[kind])? else { return Ok(None) };
    Ok(Some(Dispatch { writes: vec![absolute(scratch)?], ..Dispatch::new(kernel, &[kind], None) }))
}

/// Measures cells of experiments in virtual machines.
pub const OTHER_KERNEL: OtherKernel = OtherKernel {
    release: |kind| {
        let said = |error: anyhow::Error| format!("{error:#}");
        match (vm::guest_environment(), kernel_for(&[kind]).map_err(said)?) {
            (None, Some(kernel)) => kernel.release().map_err(|error| error.to_string()),
            _ => Err(format!("this kernel does not support {}", kind.name())),
        }
    },
    measure: |there| measure_with_other_kernel(there).map_err(|error| format!("{error:#}")),
};

fn measure_with_other_kernel(there: &OtherKernelRun) -> Result<()> {
    let OtherKernelRun { spec, experiment, kinds, images } = there;
    let kernel = kernel_for(kinds)?.context("this kernel supports them")?;
    let work = absolute(&spec.work)?;
    let mut dispatch = Dispatch::new(kernel, kinds, Some(work.clone()));
    dispatch.writes.push(images.to_path_buf());
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    let mut args: Vec<OsString> = vec!["run".into(), experiment.into()];
    let mut option = |name: &str, value: OsString| args.extend([name.into(), value]);
    option("--fs", names.join(",").into());
    option("--scale", spec.scale.as_str().into());
    option("--work", work.into());
    option("--image-dir", images.into());
    match &spec.store {
        None => {}
        Some(StoreLocation::File(path)) => {
            option("--store", absolute(path)?.into());
            dispatch.writes.push(parent_dir(path)?);
        }
        Some(StoreLocation::Postgres(_)) => {
            bail!("a virtual machine has no network for the results: use --store FILE")
        }
    }
    if spec.resume {
        args.push("--resume".into());
    }
    run_in_vm(&dispatch, &args, true).map(drop)
}

/// The kernel given by --kernel.
fn requested_kernel(asked: &OnKernel) -> Result<Option<Kernel>> {
    Ok(asked.kernel.as_deref().map(|image| Kernel::new(image, asked.modules.as_deref())).transpose()?)
}

/// The kernels given by --kernel.
pub fn requested_kernels(images: &[PathBuf], modules: &[PathBuf]) -> Result<Vec<Kernel>> {
    if !modules.is_empty() && modules.len() != images.len() {
        bail!("--modules needs one directory for each kernel, in the same order");
    }
    let modules = modules.iter().map(|dir| Some(dir.as_path())).chain(std::iter::repeat(None));
    Ok(images
        .iter()
        .zip(modules)
        .map(|(image, modules)| Kernel::new(image, modules))
        .collect::<Result<_, _>>()?)
}

/// A kernel that supports these file systems; `None` if the running one does.
fn kernel_for(kinds: &[&'static dyn FileSystem]) -> Result<Option<Kernel>> {
    if kinds.iter().all(|kind| fs::can_mount(*kind)) {
        return Ok(None);
    }
    let modules: Vec<&str> = kinds.iter().flat_map(|kind| kind.modules()).collect();
    let lacking: Vec<&str> =
        kinds.iter().filter(|kind| !fs::can_mount(**kind)).map(|kind| kind.name()).collect();
    let found = Kernel::find(&modules);
    found.map(Some).with_context(|| format!("this kernel does not support {}", lacking.join(", ")))
}

/// The directory that contains the image or modelled disk.
fn image_dir(volume: &VolumeConfig) -> Result<Option<PathBuf>> {
    match &volume.location {
        Location::Image(path) | Location::Modelled { dir: path, .. } => parent_dir(path).map(Some),
        Location::Device(_) | Location::Dir(_) => Ok(None),
    }
}

/// The parent directory of `path`.
fn parent_dir(path: &Path) -> Result<PathBuf> {
    Ok(absolute(path)?.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Runs the current command line in the virtual machine and passes its output through.
pub fn run(dispatch: &Dispatch) -> Result<()> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    run_in_vm(dispatch, &args, false).map(drop)
}

/// Runs the current command line in the virtual machine with --json and parses its output.
pub fn run_json<T: serde::de::DeserializeOwned>(dispatch: &Dispatch) -> Result<T> {
    let mut args: Vec<_> = std::env::args_os().skip(1).collect();
    if !args.iter().any(|arg| arg == "--json") {
        args.push("--json".into());
    }
    let output = run_in_vm(dispatch, &args, true)?;
    serde_json::from_slice(&output).context("parsing the output of the command in the virtual machine")
}

fn run_in_vm(dispatch: &Dispatch, args: &[OsString], keep_output: bool) -> Result<Vec<u8>> {
    // File locks in the virtual machine are not visible here: this one covers both.
    let work = dispatch.work.as_deref().map(Work::take).transpose()?;
    let mut writable: Vec<PathBuf> = dispatch.work.iter().chain(&dispatch.writes).cloned().collect();
    writable.sort();
    writable.dedup();
    for dir in &writable {
        std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    }
    let task = Task {
        kernel: &dispatch.kernel,
        modules: &dispatch.modules,
        writable: &writable,
        persistent_memory: dispatch.memory,
        args,
        keep_output,
    };
    let ended = vm::run(&task, &mut |line| messages::print(line));
    if let (Some(work), Some(dir)) = (&work, &dispatch.work)
        && (ended.as_ref().is_ok_and(|ended| ended.status == 0) || has_results(dir))
    {
        work.keep();
    }
    match ended? {
        TaskOutput { status: 0, output, .. } => Ok(output),
        TaskOutput { status, .. } => Err(FailedInVm(u8::try_from(status).unwrap_or(1)).into()),
    }
}

/// Whether the work directory contains a manifest, even of an incomplete aging, or a result store, which a command with nothing to keep removes.
fn has_results(work: &Path) -> bool {
    let entries = std::fs::read_dir(work).into_iter().flatten().flatten();
    let is_result =
        |path: &Path| path.extension().is_some_and(|ending| ending == "json") || path.ends_with(STORE_FILE);
    entries.map(|entry| entry.path()).any(|path| is_result(&path))
}
