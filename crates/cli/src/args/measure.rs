//! Arguments of `senesce probe` and `senesce compare`.

use super::{HotFiles, MeasuringClock, Sequential, Work};
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use workload::Churn;

#[derive(Clone, Copy, ValueEnum)]
pub enum Reader {
    /// `grep -r` for a random string
    Grep,
    /// Built-in reader, in name order
    Builtin,
}

#[derive(Args)]
pub struct Probe {
    #[command(subcommand)]
    pub probe: ProbeKind,
}

#[derive(Subcommand)]
pub enum ProbeKind {
    /// Read every file from a cold cache
    Scan {
        #[command(flatten)]
        subject: Subject,
        /// Program that reads
        #[arg(long, value_enum, default_value_t = Reader::Grep)]
        reader: Reader,
        /// Number of scans
        #[arg(long, value_name = "N", default_value_t = 1)]
        repeat: u64,
        /// Device models of the reported times: built-in names or TOML files
        #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = run::HDD_MODEL)]
        disk: Vec<String>,
        /// Price the last scan with one cause taken away at a time
        #[arg(long)]
        causes: bool,
        /// Save the block requests of the last scan (Parquet), for `senesce disk price`
        #[arg(long, value_name = "FILE")]
        save_log: Option<PathBuf>,
    },
    /// Compute layout scores from extent maps
    Layout {
        #[command(flatten)]
        subject: Subject,
        /// Device models for the time of reading all extents in scan order
        #[arg(long, value_name = "MODEL", value_delimiter = ',')]
        disk: Vec<String>,
    },
    /// Show the distribution of free extents
    FreeSpace {
        #[command(flatten)]
        subject: Subject,
    },
    /// Count the extents of a new large file, and remove it
    NewFile {
        #[command(flatten)]
        subject: Subject,
        /// File size [default: 2 GB, or half of the free space]
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
    },
    /// Measure bandwidth by read size and natural transfer size
    TransferSize(TransferSize),
    /// Measure the write amplification of a command
    WriteAmplification {
        /// Directory on the file system that the command changes
        path: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Command and arguments, after --
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Read every file repeatedly with limited memory
    WarmScan {
        #[command(flatten)]
        subject: Subject,
        /// Memory limits, measured in this order
        #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',', required = true)]
        memory: Vec<u64>,
        /// Warm scans per limit, after one that fills the cache
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
        repeat: u64,
        /// Device models of the reported times
        #[arg(long, value_name = "MODEL", value_delimiter = ',')]
        disk: Vec<String>,
    },
    /// Measure sequential throughput by file size
    ///
    /// As Smith and Seltzer (1997).
    Sequential(Sequential),
    /// Measure throughput of hot files (Smith & Seltzer 1997)
    HotFiles(HotFiles),
}

#[derive(Args)]
pub struct TransferSize {
    /// Image, device or modelled disk; it is only read and may be in use
    pub path: PathBuf,
    /// Report the modelled time of this device instead of the measured time
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Read sizes [default: powers of two from 4 KiB to 64 MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Maximum reads per size
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reads: u64,
    /// Time limit per size
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = units::time)]
    pub time: Duration,
    /// Random seed of the offsets
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Subject {
    /// Directory, image or device
    pub path: PathBuf,
    /// Clock of the measurement
    #[arg(long, value_enum, default_value_t = MeasuringClock::Wall)]
    pub clock: MeasuringClock,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

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
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// File systems to age before they are compared.
#[derive(Args)]
pub struct AgeFirst {
    /// Age these file systems first, unless done before
    #[arg(long, value_name = "KINDS", value_delimiter = ',', conflicts_with = "names")]
    pub fs: Vec<String>,
    /// Agings of each file system, with consecutive seeds
    ///
    /// The images of all but the first are removed.
    #[arg(long, value_name = "N", requires = "fs", default_value_t = AGINGS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub agings: u64,
    /// Options of mkfs; repeat it to compare several
    #[arg(long, value_name = "OPTIONS", requires = "fs", allow_hyphen_values = true)]
    pub mkfs_opts: Vec<String>,
    /// Mount options, separated by commas; repeat it to compare several
    #[arg(long, value_name = "OPTIONS", requires = "fs")]
    pub mount_opts: Vec<String>,
    /// Name of the file systems, to which what they differ in is appended [default: file system and profile]
    #[arg(long, requires = "fs")]
    pub name: Option<String>,
    /// Size of each file system
    #[arg(long, value_name = "SIZE", requires = "fs", value_parser = units::size)]
    pub size: Option<u64>,
    /// Profile: built-in name or TOML file
    #[arg(long, value_name = "PROFILE", requires = "fs")]
    pub profile: Option<String>,
    /// Target fullness, as a share of the size
    #[arg(long, value_name = "SHARE", requires = "fs", value_parser = units::share)]
    pub fullness: Option<f64>,
    /// Bytes to create, in multiples of the size
    #[arg(long, value_name = "N", requires = "fs", value_parser = units::overwrites)]
    pub overwrites: Option<f64>,
    /// Change live files, in shares of the operations
    #[arg(long, value_name = "SHARES", requires = "fs", value_parser = units::churn)]
    pub churn: Option<Churn>,
    /// Random seed of the first aging
    #[arg(long, value_name = "N", requires = "fs")]
    pub seed: Option<u64>,
    /// Keep the images in memory (/dev/shm)
    #[arg(long, requires = "fs")]
    pub memory: bool,
}

/// Default number of agings under each condition. Between ext4 file systems of 400 MiB four find a difference of 20 % 99 times of 100, three 79
/// times: two degrees of freedom are too few.
pub(super) const AGINGS: u64 = 4;

/// Kernels to age and compare on.
#[derive(Args)]
pub struct CompareKernels {
    /// Compare the same file systems on several kernels
    #[arg(long, value_enum, requires_all = ["fs", "kernel"])]
    pub across: Option<Across>,
    /// Kernel images to run on, in virtual machines
    #[arg(long, value_name = "VMLINUZ", value_delimiter = ',', requires = "fs")]
    pub kernel: Vec<PathBuf>,
    /// Directories of their modules, in the same order
    #[arg(long, value_name = "DIR", value_delimiter = ',', requires = "kernel")]
    pub modules: Vec<PathBuf>,
}

/// Dimension of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Across {
    /// Kernels
    Kernel,
}
