//! `senesce age`.

mod workload;

use crate::args::{self, Age};
use crate::commands::vm_dispatch;
use crate::output;
use crate::progress::Progress;
use ::workload::Conditions;
use anyhow::{Context as _, Result, bail};
use lab::{AgeSpec, Aged, Location, VolumeConfig};
use mpi::World;
use ranks::Group as _;
use std::path::{Path, PathBuf};

/// The directory of images in memory.
pub const MEMORY: &str = "/dev/shm/senesce";

pub fn run(args: &Age) -> Result<()> {
    let workload = workload::find(&args.workload)?;
    let source = match &workload {
        Some((workload, _)) => workload.name().to_owned(),
        None => profile::load(&args.profile)?.name,
    };
    if let Some(dispatch) = vm_dispatch::for_age(args, &source)? {
        return vm_dispatch::run(&dispatch);
    }
    if let Some((workload, round)) = workload {
        mpi::require_single_process()?;
        return workload::run(args, workload, round);
    }
    let spec = spec(args)?;
    let world = World::join(disk::interrupted)?;
    if let Some(world) = world {
        return share(args, &spec, world);
    }
    let mut progress = Progress::new();
    if args.plan_only {
        let planned = lab::plan_only(&spec, &mut progress)?;
        drop(progress);
        return if args.json {
            output::json(&planned)
        } else {
            show(&planned.aged)?;
            output::line(&format!(
                "planned {:.1} million operations/s, using at most {} of memory",
                planned.planned_operations_per_s / 1e6,
                lab::bytes(planned.peak_rss_bytes)
            ))
        };
    }
    let aged = lab::age(&spec, &mut progress)?;
    drop(progress);
    if args.json { output::json(&aged) } else { show(&aged) }
}

/// Ages a shared directory with all ranks of an MPI run.
fn share(args: &Age, spec: &AgeSpec, mut world: World) -> Result<()> {
    if args.dir.is_none() {
        bail!("MPI runs age a shared directory only: name one with --dir");
    }
    if args.plan_only {
        bail!("--plan-only does not run under mpirun: start it without");
    }
    if spec.on_full == replay::OnFull::Stop {
        bail!(
            "--on-full stop does not work with MPI, as ranks do not know the progress of each other; leave it out"
        );
    }
    let (rank, host) = (world.rank(), world.host());
    if rank > 0 {
        return lab::age_follow(&mut world).with_context(|| format!("rank {rank} on {host}"));
    }
    let mut progress = Progress::new();
    let aged = lab::age_among(spec, &mut world, &mut progress)?;
    drop(progress);
    if args.json { output::json(&aged) } else { show(&aged) }
}

/// The name of the file system that is aged by `source`, a profile or workload.
pub fn name(args: &Age, source: &str) -> String {
    let fs = if args.dir.is_some() { "dir" } else { &args.fs };
    args.name.clone().unwrap_or_else(|| format!("{fs}-{source}-{}", args.seed))
}

/// The file system to create, and its name, if `source` ages it.
fn name_and_volume(args: &Age, source: &str) -> Result<(String, VolumeConfig)> {
    let fs = if args.dir.is_some() { "dir".to_owned() } else { fs::find(&args.fs)?.name().to_owned() };
    let name = name(args, source);
    if !lab::can_name(&name) {
        bail!("--name {name:?} cannot name a file; use letters, digits and dashes");
    }
    // Stores the absolute path of a model file, so that any directory finds it, and the name of a built-in model.
    let model = args.disk.as_deref().map(model).transpose()?;
    let image = |dir: &Path| match &model {
        Some(model) => Location::Modelled {
            dir: dir.join(format!("{name}.disk")),
            model: model.clone(),
            clock: super::disk::clock(args.clock),
        },
        None => Location::Image(dir.join(format!("{name}.img"))),
    };
    let location = match (&args.dir, &args.device, &args.image_dir) {
        (Some(dir), _, _) => Location::Dir(dir.clone()),
        (_, Some(device), _) => Location::Device(device.clone()),
        (_, _, Some(dir)) => image(&absolute(dir)?),
        _ if args.memory => image(Path::new(MEMORY)),
        _ => image(&absolute(&args.work.work)?),
    };
    let volume = VolumeConfig {
        mkfs_opts: args.mkfs_opts.split_whitespace().map(str::to_owned).collect(),
        mount_opts: args.mount_opts.split(',').filter(|o| !o.is_empty()).map(str::to_owned).collect(),
        read_ahead_kb: args.read_ahead_kb,
        kernel: vm::guest_environment().map(|guest| guest.kernel),
        ..VolumeConfig::new(location, &fs, args.size)
    };
    Ok((name, volume))
}

pub fn spec(args: &Age) -> Result<AgeSpec> {
    let profile = profile::load(&args.profile)?;
    let (name, volume) = name_and_volume(args, &profile.name)?;
    let max_fullness = fs::find(&volume.fs).map_or(1.0, |kind| kind.max_fullness(args.size));
    let fullness = args.fullness.unwrap_or_else(|| profile.fullness.unwrap_or(0.8).min(max_fullness));
    Ok(AgeSpec {
        name,
        work: args.work.work.clone(),
        volume,
        erase: args.erase.clone(),
        conditions: Conditions {
            method: match args.method {
                args::Method::Planned => ::workload::Method::Planned,
                args::Method::Greedy => ::workload::Method::Greedy,
            },
            profile,
            capacity_bytes: args.size,
            fullness,
            seed: args.seed,
            overwrites: args.overwrites,
        },
        time: args.time,
        fit: args.fit,
        threads: args.threads.map(usize::from),
        data: match args.data {
            args::Data::Auto => replay::Data::Auto,
            args::Data::Fallocate => replay::Data::Fallocate,
            args::Data::Write => replay::Data::Write,
        },
        on_full: match args.on_full {
            args::OnFull::Skip => replay::OnFull::Skip,
            args::OnFull::Stop => replay::OnFull::Stop,
        },
        fill: !args.no_fill,
        save_trace: args.save_trace.clone(),
        resume: args.resume,
        command: super::command_line(),
    })
}

fn model(name_or_path: &str) -> Result<String> {
    let model = disk::Model::find(name_or_path)?;
    if disk::Model::builtin().any(|builtin| builtin == model) {
        return Ok(model.name().to_owned());
    }
    let path = absolute(Path::new(name_or_path))?;
    path.to_str().map(str::to_owned).context("a path of a model has only letters of Unicode")
}

/// Makes a path absolute; paths in manifests must not depend on the current directory.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("finding {}", path.display()))
}

fn show(aged: &Aged) -> Result<()> {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    output::table(
        &[&aged.name, ""],
        [
            row("operations", format!("{} ({} at the bound)", aged.operations, aged.bound_operations)),
            row("overwrites", format!("{:.2} ({:.2} at the bound)", aged.overwrites, aged.bound_overwrites)),
            row("live files", aged.live_files.to_string()),
            row("fullness", format!("{:.4}", aged.fullness)),
            row("age error (rms)", format!("{:.2e}", aged.age_rms_error)),
            row("size error (rms)", format!("{:.2e}", aged.size_rms_error)),
            row("depth error (rms)", format!("{:.2e}", aged.depth_rms_error)),
            row("fit (p-value)", format!("{:.3}", aged.fit_p_value)),
            row("stopped by", format!("{:?}", aged.stopped_by).to_lowercase()),
            row("operations/s", format!("{:.0}", aged.operations_per_s)),
            row("errors", aged.errors.to_string()),
            row("trace", aged.trace_sha256.clone()),
        ],
    )
}
