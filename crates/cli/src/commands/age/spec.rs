//! The parameters of an aging, from the arguments.

use super::MEMORY;
use crate::args::{self, Age, Data, OnFull};
use crate::commands::{command_line, disk::clock};
use crate::units;
use anyhow::{Context as _, Result, bail};
use run::{AgeSpec, Location, MeasureRounds, VolumeConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload::profile::ByProfile;
use workload::{Churn, Workload};

/// Device models of the reported times, in addition to the modelled disk that holds the file system.
const DISKS: [&str; 2] = ["hdd-7200", "ssd-sata"];

/// The parameters of `senesce age`.
pub fn spec(args: &Age, workload: Arc<dyn Workload>, round: u64) -> Result<AgeSpec> {
    let fs = if args.dir.is_some() { "dir" } else { fs::find(&args.fs)?.name() };
    let source = workload.as_profile().map_or(workload.kind(), |by| &by.profile.name);
    let name = args.name.clone().unwrap_or_else(|| default_name(fs, source, args.seed));
    check_name(&name)?;
    let volume = VolumeConfig {
        mkfs_opts: mkfs_opts(&args.mkfs_opts),
        mount_opts: mount_opts(&args.mount_opts),
        read_ahead_kb: args.read_ahead_kb,
        kernel: vm::guest_environment().map(|guest| guest.kernel),
        ..VolumeConfig::new(location(args, &name)?, fs, args.size)
    };
    let measure = |every| -> Result<MeasureRounds> {
        let repeat = args.workload.repeat.unwrap_or(1);
        Ok(MeasureRounds { every, repeat, disks: disks(args.disk.as_deref())? })
    };
    Ok(AgeSpec {
        name,
        work: args.work.work.clone(),
        volume,
        erase: args.erase.clone(),
        workload,
        seed: args.seed,
        round,
        measure: args.workload.every.map(measure).transpose()?,
        time: args.time,
        fit: args.fit,
        threads: args.threads.map(usize::from),
        data: match args.data {
            Data::Auto => replay::Data::Auto,
            Data::Fallocate => replay::Data::Fallocate,
            Data::Write => replay::Data::Write,
        },
        on_full: match args.on_full {
            OnFull::Skip => replay::OnFull::Skip,
            OnFull::Stop => replay::OnFull::Stop,
        },
        fill: !args.no_fill,
        replicate: false,
        save_trace: args.save_trace.clone(),
        resume: args.resume,
        command: command_line(),
    })
}

/// The words of --mkfs-opts.
pub fn mkfs_opts(options: &str) -> Vec<String> {
    options.split_whitespace().map(str::to_owned).collect()
}

/// The parts of --mount-opts.
pub fn mount_opts(options: &str) -> Vec<String> {
    options.split(',').filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

/// Refuses a name that cannot be part of a file name, as that of a profile may be.
fn check_name(name: &str) -> Result<()> {
    if !run::can_name(name) {
        bail!("--name {name:?} cannot name a file; use letters, digits and dashes");
    }
    Ok(())
}

/// The name of a file system that is aged by `source`, a profile or workload.
fn default_name(fs: &str, source: &str, seed: u64) -> String {
    format!("{fs}-{source}-{seed}")
}

/// Where the file system is made.
fn location(args: &Age, name: &str) -> Result<Location> {
    // Stores the absolute path of a model file, so that any directory finds it, and the name of a built-in model.
    let model = args.disk.as_deref().map(model).transpose()?;
    let image = |dir: &Path| match &model {
        Some(model) => Location::Modelled {
            dir: dir.join(format!("{name}.disk")),
            model: model.clone(),
            clock: clock(args.clock),
        },
        None => Location::Image(dir.join(format!("{name}.img"))),
    };
    Ok(match (&args.dir, &args.device, &args.image_dir) {
        (Some(dir), _, _) => Location::Dir(dir.clone()),
        (_, Some(device), _) => Location::Device(device.clone()),
        (_, _, Some(dir)) => image(&absolute(dir)?),
        _ if args.memory => image(Path::new(MEMORY)),
        _ => image(&absolute(&args.work.work)?),
    })
}

/// The model of the modelled disk that holds the file system, if any, followed by the other models.
fn disks(own: Option<&str>) -> Result<Vec<String>> {
    let Some(own) = own else { return Ok(DISKS.map(str::to_owned).to_vec()) };
    let found = disk::Model::find(own)?;
    let others = DISKS.into_iter().filter(|name| *name != found.name()).map(str::to_owned);
    Ok(std::iter::once(model(own)?).chain(others).collect())
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

/// A planned aging by a profile, or by the default one.
pub fn planned(
    profile: Option<&str>,
    fullness: Option<f64>,
    overwrites: Option<f64>,
    churn: Option<Churn>,
) -> Result<ByProfile> {
    let profile = profile::load(profile.unwrap_or(args::PROFILE))?;
    Ok(ByProfile { profile, method: workload::Method::Planned, fullness, overwrites, churn })
}

/// The size that is asked for, or the default, in bytes.
pub fn size_or_default(asked: Option<u64>) -> Result<u64> {
    asked.map_or_else(|| units::size(args::SIZE), Ok).map_err(anyhow::Error::msg)
}

/// The options of an aging by a profile that `senesce compare` has too.
pub struct AgeOptions<'a> {
    pub fs: &'a str,
    pub work: &'a Path,
    pub name: Option<&'a str>,
    pub mkfs_opts: &'a str,
    pub mount_opts: &'a str,
    pub size_bytes: Option<u64>,
    pub profile: Option<&'a str>,
    pub fullness: Option<f64>,
    pub overwrites: Option<f64>,
    pub churn: Option<Churn>,
    pub seed: u64,
    /// Whether its image is in memory.
    pub memory: bool,
    /// Whether the file system is removed after the comparison.
    pub replicate: bool,
}

impl AgeOptions<'_> {
    /// An aging with the defaults of `senesce age`. The labels distinguish it from others, such as those of other kernels.
    pub fn spec(&self, labels: &[String]) -> Result<AgeSpec> {
        let fs = fs::find(self.fs)?.name();
        let workload = Arc::new(planned(self.profile, self.fullness, self.overwrites, self.churn)?);
        let seed = self.seed;
        let name = match self.name {
            Some(name) => format!("{name}-{seed}"),
            None => default_name(fs, &workload.profile.name, seed),
        };
        let name = [name].iter().chain(labels).map(String::as_str).collect::<Vec<_>>().join("-");
        check_name(&name)?;
        let size_bytes = size_or_default(self.size_bytes)?;
        let dir = if self.memory { PathBuf::from(MEMORY) } else { absolute(self.work)? };
        let image = Location::Image(dir.join(format!("{name}.img")));
        let kernel = vm::guest_environment().map(|guest| guest.kernel);
        let volume = VolumeConfig {
            kernel,
            mkfs_opts: mkfs_opts(self.mkfs_opts),
            mount_opts: mount_opts(self.mount_opts),
            ..VolumeConfig::new(image, fs, size_bytes)
        };
        let spec = AgeSpec::new(&name, self.work.to_owned(), volume, workload, seed, &command_line());
        Ok(AgeSpec { replicate: self.replicate, ..spec })
    }
}
