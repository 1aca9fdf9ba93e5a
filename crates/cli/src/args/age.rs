//! Arguments of `senesce age` and `senesce demo`.

use super::{Clock, Work, WorkloadArgs};
use crate::units;
use clap::{ArgGroup, Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use workload::Churn;

#[derive(Args)]
pub struct Demo {
    /// Work directory; results of an earlier demo in it are replaced
    #[arg(long, value_name = "DIR", default_value = "senesce-demo")]
    pub work: PathBuf,
    /// Size of each file system
    #[arg(long, value_name = "SIZE", default_value = "400MiB", value_parser = units::size)]
    pub size: u64,
    /// Agings of each file system, with consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub agings: u64,
    /// Cold scans of each side
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub repeat: u64,
    /// Random seed of the first aging
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Default size of a file system.
pub const SIZE: &str = "2GiB";

/// Default profile.
pub const PROFILE: &str = "agrawal";

/// Default random seed.
pub const SEED: u64 = 42;

#[derive(Args)]
#[command(group(ArgGroup::new("erase_or_resume").args(["erase", "resume"]).multiple(true)))]
pub struct Age {
    /// File system, such as ext4, xfs or btrfs
    #[arg(long, value_name = "KIND", default_value = "ext4", long_help = fs_help())]
    pub fs: String,
    /// Size of the file system
    #[arg(long, value_name = "SIZE", default_value = SIZE, value_parser = units::size)]
    pub size: u64,
    /// Profile: built-in name or TOML file
    #[arg(long, value_name = "PROFILE", default_value = PROFILE, conflicts_with = "workload")]
    pub profile: String,
    /// Target fullness, as a share of the size [default: from the profile, or 0.8; less if the file system cannot be filled that far]
    #[arg(long, value_name = "SHARE", value_parser = units::share, conflicts_with = "workload")]
    pub fullness: Option<f64>,
    /// Random seed
    #[arg(long, default_value_t = SEED)]
    pub seed: u64,
    /// Planner of the operations
    #[arg(long, value_enum, default_value_t = Method::Planned, conflicts_with = "workload")]
    pub method: Method,
    /// Bytes to create, in multiples of the size, filling included [default: the least that the profile allows]
    #[arg(long, value_name = "N", value_parser = units::overwrites, conflicts_with = "workload")]
    pub overwrites: Option<f64>,
    /// Change live files, in shares of the operations
    ///
    /// As in `overwrite=0.2,punch=0.1`: 20 % of the operations overwrite up to 16 blocks in place, and 10 % punch holes.
    #[arg(long, value_name = "SHARES", value_parser = units::churn, conflicts_with_all = ["workload", "data"])]
    pub churn: Option<Churn>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = units::time, conflicts_with = "workload")]
    pub time: Option<Duration>,
    /// Stop when the chi-square p-value of the age distribution reaches P
    #[arg(long, value_name = "P", value_parser = units::share, conflicts_with = "workload")]
    pub fit: Option<f64>,
    #[command(flatten)]
    pub workload: WorkloadArgs,
    #[command(flatten)]
    pub work: Work,
    /// Name in the work directory [default: FS-PROFILE-SEED or FS-WORKLOAD-SEED]
    #[arg(long)]
    pub name: Option<String>,
    /// Replay threads; with several, no two agings have the same layout [default: 1, except for betreefs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "workload")]
    pub threads: Option<u16>,
    /// How files get their data
    #[arg(long, value_enum, default_value_t = Data::Auto, conflicts_with = "workload")]
    pub data: Data,
    /// Action when the file system is full
    #[arg(long, value_enum, default_value_t = OnFull::Skip, conflicts_with = "workload")]
    pub on_full: OnFull,
    /// Do not write data into the surviving files; only extent maps can be measured afterwards
    #[arg(long, conflicts_with = "workload")]
    pub no_fill: bool,
    /// Options for mkfs, as one string
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    pub mkfs_opts: String,
    /// Mount options, separated by commas
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub mount_opts: String,
    /// Read-ahead of the device in KiB
    #[arg(long, value_name = "KIB", default_value_t = 128)]
    pub read_ahead_kb: u32,
    /// Directory of the image [default: the work directory]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["memory", "dir", "device"])]
    pub image_dir: Option<PathBuf>,
    /// Keep the image in memory (/dev/shm)
    #[arg(long, conflicts_with_all = ["dir", "device"])]
    pub memory: bool,
    /// Put the file system on a modelled disk: built-in name or TOML file
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["dir", "device"])]
    pub disk: Option<String>,
    /// Clock of the modelled disk
    #[arg(long, value_enum, default_value_t = Clock::Model, requires = "disk")]
    pub clock: Clock,
    /// Age in a new subdirectory of DIR; needs no root
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub dir: Option<PathBuf>,
    /// Age on this block device; ALL DATA ON IT IS LOST
    #[arg(long, value_name = "DEV", requires = "erase_or_resume")]
    pub device: Option<PathBuf>,
    /// Confirm that DEV may be erased; must be spelled as in --device
    #[arg(long, value_name = "DEV")]
    pub erase: Option<String>,
    /// Continue an interrupted aging, or age further
    ///
    /// Changed options, such as --overwrites or --profile, age a complete file system further.
    #[arg(long)]
    pub resume: bool,
    /// Save the operation trace to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub save_trace: Option<PathBuf>,
    /// Plan only; do not touch a file system
    #[arg(long, conflicts_with = "workload")]
    pub plan_only: bool,
    #[command(flatten)]
    pub kernel: OnKernel,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Run on another kernel.
#[derive(Args)]
pub struct OnKernel {
    /// Run on this kernel image in a virtual machine
    #[arg(long, value_name = "VMLINUZ")]
    pub kernel: Option<PathBuf>,
    /// Directory of the kernel modules [default: lib/modules/RELEASE beside the boot directory of the kernel, or /lib/modules/RELEASE]
    #[arg(long, value_name = "DIR", requires = "kernel")]
    pub modules: Option<PathBuf>,
}

/// Help of `--fs`.
fn fs_help() -> String {
    let names: Vec<_> = fs::kinds().iter().map(|kind| kind.name()).collect();
    format!(
        "File system: {}; in a virtual machine if this kernel lacks it (see `senesce doctor`)",
        names.join(", ")
    )
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Method {
    /// Plan backwards from the final state: exact distributions with the fewest operations
    Planned,
    /// The published method of Geriatrix
    Greedy,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Data {
    /// The fastest method that gives the layout of written files
    Auto,
    /// Preallocate, and fill in place at the end
    Fallocate,
    /// Write
    Write,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum OnFull {
    /// Count the failed operation and continue
    Skip,
    /// Stop aging
    Stop,
}
