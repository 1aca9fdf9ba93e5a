//! Arguments of `senesce compare`.

use super::{Axis, AxisValues, Reader, Work};
use crate::units;
use clap::{ArgGroup, Args, ValueEnum};
use experiment::Shard;
use std::path::PathBuf;
use workload::Churn;

#[derive(Args)]
pub struct Compare {
    /// Names of aged file systems [default: all in the work directory]
    pub names: Vec<String>,
    #[command(flatten)]
    pub first: AgeFirst,
    #[command(flatten)]
    pub kernels: CompareKernels,
    #[command(flatten)]
    pub work: Work,
    /// Cold scans of each side, averaged
    ///
    /// Only several agings give confidence intervals.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// Program that reads
    #[arg(long, value_enum, default_value_t = Reader::Grep)]
    pub reader: Reader,
    /// Device model of the modelled times [default: the modelled disk it is on, or hdd-7200]
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Do not measure a new large file
    #[arg(long)]
    pub no_new_file: bool,
    /// Finish an interrupted comparison
    #[arg(long)]
    pub resume: bool,
    /// Show what the store holds, and measure nothing
    ///
    /// Of each name the last comparison, such as those of all merged parts of a matrix.
    #[arg(long, conflicts_with_all = ["ages", "resume", "repeat", "reader", "disk", "no_new_file"])]
    pub recorded: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// File systems to age before they are compared.
#[derive(Args)]
#[command(group(ArgGroup::new("ages").args(["fs", "matrix"]).multiple(true)))]
pub struct AgeFirst {
    /// Age these file systems first, unless done before
    #[arg(long, value_name = "KINDS", value_delimiter = ',', conflicts_with = "names")]
    pub fs: Vec<String>,
    /// Age all combinations of these, such as fs=ext4,xfs
    ///
    /// AXIS is fs, mkfs, mount, kernel, profile, size, fullness, overwrites or churn. Its VALUES are separated by |, or by commas without one;
    /// an empty one is the default: 'mkfs=-O bigalloc,^extent|'. Combinations that cannot be made are left out. No image is kept.
    #[arg(long, value_name = "AXIS=VALUES", num_args = 1.., conflicts_with = "names")]
    pub matrix: Vec<AxisValues>,
    /// Age only part I of N, for job arrays
    ///
    /// Give each part a work directory; `senesce store merge` puts their results together, `compare --recorded` shows them.
    #[arg(long, value_name = "I/N", requires = "ages")]
    pub shard: Option<Shard>,
    /// Agings of each file system, with consecutive seeds
    ///
    /// The images of all but the first are removed.
    #[arg(long, value_name = "N", requires = "ages", default_value_t = AGINGS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub agings: u64,
    /// Options of mkfs; repeat it to compare several
    #[arg(long, value_name = "OPTIONS", requires = "ages", allow_hyphen_values = true)]
    pub mkfs_opts: Vec<String>,
    /// Mount options, separated by commas; repeat it to compare several
    #[arg(long, value_name = "OPTIONS", requires = "ages")]
    pub mount_opts: Vec<String>,
    /// Name of the file systems, to which what they differ in is appended [default: file system and profile]
    #[arg(long, requires = "ages")]
    pub name: Option<String>,
    /// Size of each file system
    #[arg(long, value_name = "SIZE", requires = "ages", value_parser = units::size)]
    pub size: Option<u64>,
    /// Profile: built-in name or TOML file
    #[arg(long, value_name = "PROFILE", requires = "ages")]
    pub profile: Option<String>,
    /// Target fullness, as a share of the size
    #[arg(long, value_name = "SHARE", requires = "ages", value_parser = units::share)]
    pub fullness: Option<f64>,
    /// Bytes to create, in multiples of the size
    #[arg(long, value_name = "N", requires = "ages", value_parser = units::overwrites)]
    pub overwrites: Option<f64>,
    /// Change live files, in shares of the operations
    #[arg(long, value_name = "SHARES", requires = "ages", value_parser = units::churn)]
    pub churn: Option<Churn>,
    /// Random seed of the first aging
    #[arg(long, value_name = "N", requires = "ages")]
    pub seed: Option<u64>,
    /// Keep the images in memory (/dev/shm)
    #[arg(long, requires = "ages")]
    pub memory: bool,
}

/// Default number of agings under each condition. Between ext4 file systems of 400 MiB four find a difference of 20 % 99 times of 100, three 79
/// times: two degrees of freedom are too few.
pub(super) const AGINGS: u64 = 4;

/// Kernels to age and compare on.
#[derive(Args)]
pub struct CompareKernels {
    /// Compare the same file systems on several kernels
    #[arg(long, value_enum, requires_all = ["ages", "kernel"])]
    pub across: Option<Across>,
    /// Kernel images to run on, in virtual machines
    #[arg(long, value_name = "VMLINUZ", value_delimiter = ',', requires = "ages")]
    pub kernel: Vec<PathBuf>,
    /// Directories of their modules, in the same order
    #[arg(long, value_name = "DIR", value_delimiter = ',', requires = "ages")]
    pub modules: Vec<PathBuf>,
}

/// Dimension of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Across {
    /// Kernels
    Kernel,
}

impl Compare {
    /// Whether file systems are aged before they are compared.
    pub fn ages_first(&self) -> bool {
        !self.first.fs.is_empty() || !self.first.matrix.is_empty()
    }

    /// The kernels to run on, of the option and of the matrix.
    pub fn kernel_images(&self) -> Vec<PathBuf> {
        let of_matrix =
            self.first.matrix.iter().filter(|of| of.axis == Axis::Kernel).flat_map(|of| &of.values);
        self.kernels.kernel.iter().cloned().chain(of_matrix.map(PathBuf::from)).collect()
    }
}
