//! What `senesce age` and `senesce demo` take.

use super::{By, Clock, Work};
use crate::units;
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct Demo {
    /// Work directory, made anew
    #[arg(long, value_name = "DIR", default_value = "senesce-demo")]
    pub work: PathBuf,
    /// Size of each file system
    #[arg(long, value_name = "SIZE", default_value = "400MiB", value_parser = units::size)]
    pub size: u64,
    /// Cold scans of each side
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub repeat: u64,
    /// Seed of all that is random
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
}

#[derive(Args)]
#[command(group(ArgGroup::new("erase_or_resume").args(["erase", "resume"]).multiple(true)))]
pub struct Age {
    /// File system: ext4, xfs, btrfs or betreefs; f2fs, nilfs2 or bcachefs, in a virtual machine where this kernel lacks it;
    /// ext4-dax, in one always; zfs by zfs-fuse
    #[arg(long, value_name = "KIND", default_value = "ext4")]
    pub fs: String,
    /// Size of the file system
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = units::size)]
    pub size: u64,
    /// Profile to follow: a built-in name or a TOML file
    #[arg(long, value_name = "PROFILE", default_value = "agrawal", conflicts_with = "by")]
    pub profile: String,
    /// Share of the size in use at the end [default: the profile's, or 0.8; at most 0.5 on betreefs]
    #[arg(long, value_name = "SHARE", value_parser = units::share, conflicts_with = "by")]
    pub fullness: Option<f64>,
    /// Seed of all that is random
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// How operations are chosen
    #[arg(long, value_enum, default_value_t = Method::Planned, conflicts_with = "by")]
    pub method: Method,
    /// Bytes created over the size, filling included [default: the bound]
    #[arg(long, value_name = "N", value_parser = units::overwrites, conflicts_with = "by")]
    pub overwrites: Option<f64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = units::time, conflicts_with = "by")]
    pub time: Option<Duration>,
    /// Stop when the chi-square p-value of the fit is at least this
    #[arg(long, value_name = "P", value_parser = units::share, conflicts_with = "by")]
    pub fit: Option<f64>,
    #[command(flatten)]
    pub by: By,
    #[command(flatten)]
    pub work: Work,
    /// Name of the aged file system in the work directory [default: FS-PROFILE-SEED or FS-WORKLOAD-SEED]
    #[arg(long)]
    pub name: Option<String>,
    /// Threads of the replay [default: one on a modelled disk, else the best for the file system]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "by")]
    pub threads: Option<u16>,
    /// How data comes
    #[arg(long, value_enum, default_value_t = Data::Auto, conflicts_with = "by")]
    pub data: Data,
    /// What to do when the file system is full
    #[arg(long, value_enum, default_value_t = OnFull::Skip, conflicts_with = "by")]
    pub on_full: OnFull,
    /// Do not fill the survivors with data: metadata only, measured by extent maps alone
    #[arg(long, conflicts_with = "by")]
    pub no_fill: bool,
    /// Further options for mkfs, as one string
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    pub mkfs_opts: String,
    /// Options for mount, separated by commas
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub mount_opts: String,
    /// Read-ahead of the device in KiB
    #[arg(long, value_name = "KIB", default_value_t = 128)]
    pub read_ahead_kb: u32,
    /// Keep the image in this directory instead of the work directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["memory", "dir", "device"])]
    pub image_dir: Option<PathBuf>,
    /// Keep the image in memory (/dev/shm) instead of the work directory
    #[arg(long, conflicts_with_all = ["dir", "device"])]
    pub memory: bool,
    /// Age on a modelled disk: a built-in name or a TOML file
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dir", "device"])]
    pub disk: Option<String>,
    /// Whether the modelled disk's service times are only counted, or slept
    #[arg(long, value_enum, default_value_t = Clock::Model, requires = "disk")]
    pub clock: Clock,
    /// Age inside a fresh subdirectory of this directory; needs no root
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub dir: Option<PathBuf>,
    /// Age on this block device; all that is on it is lost
    #[arg(long, value_name = "DEV", requires = "erase_or_resume")]
    pub device: Option<PathBuf>,
    /// Confirm that DEV may be erased, spelt exactly as for --device
    #[arg(long, value_name = "DEV")]
    pub erase: Option<String>,
    /// Go on with an aging that was stopped or killed, or age further under changed conditions
    #[arg(long)]
    pub resume: bool,
    /// Keep the operations in this file
    #[arg(long, value_name = "FILE", conflicts_with = "by")]
    pub save_trace: Option<PathBuf>,
    /// Do everything but touch a file system
    #[arg(long, conflicts_with = "by")]
    pub plan_only: bool,
    #[command(flatten)]
    pub kernel: OnKernel,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Another kernel.
#[derive(Args)]
pub struct OnKernel {
    /// Run on this kernel (vmlinuz) in a virtual machine
    #[arg(long, value_name = "VMLINUZ")]
    pub kernel: Option<PathBuf>,
    /// Directory of its modules [default: lib/modules/RELEASE beside the boot directory that it is in, or /lib/modules/RELEASE]
    #[arg(long, value_name = "DIR", requires = "kernel")]
    pub modules: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// Backwards from the end: exact at the bound
    Planned,
    /// The published method of Geriatrix
    Greedy,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Data {
    /// Whatever is fastest and gives the layout of written files
    Auto,
    /// Preallocated, filled in place at the end
    Fallocate,
    /// Written
    Write,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum OnFull {
    /// Count the failure and go on
    Skip,
    /// Stop the aging
    Stop,
}
