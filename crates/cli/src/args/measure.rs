//! What `senesce probe` and `senesce compare` take.

use super::{HotFiles, Sequential, Work};
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, ValueEnum)]
pub enum Reader {
    /// `grep -r` for a random string
    Grep,
    /// The built-in reader, in the order of names
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
        /// What reads
        #[arg(long, value_enum, default_value_t = Reader::Grep)]
        reader: Reader,
        /// How many times
        #[arg(long, value_name = "N", default_value_t = 1)]
        repeat: u64,
        /// Models of disks that the requests are priced on: built-in names or TOML files
        #[arg(long, value_name = "MODEL", value_delimiter = ',', default_value = lab::HDD_MODEL)]
        disk: Vec<String>,
        /// Keep the requests of the last scan as Parquet, for `senesce disk price`
        #[arg(long, value_name = "FILE")]
        save_log: Option<PathBuf>,
    },
    /// Where the blocks of files lie: layout scores from extent maps
    Layout {
        #[command(flatten)]
        subject: Subject,
        /// Models of disks that reading the extents in scan order is priced on
        #[arg(long, value_name = "MODEL", value_delimiter = ',')]
        disk: Vec<String>,
    },
    /// How the free space is cut up
    FreeSpace {
        #[command(flatten)]
        subject: Subject,
    },
    /// Write a large file, see into how many extents it breaks, and remove it
    NewFile {
        #[command(flatten)]
        subject: Subject,
        /// Its size [default: 2 GB, or half of the free space]
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
    },
    /// Bandwidth of random reads of each size, and the natural transfer size
    TransferSize(TransferSize),
    /// Run a command, and compare what it changed with what the device was written
    WriteAmplification {
        /// A directory on the file system that the command changes
        path: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// The command and its arguments, behind --
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Read every file again and again with little memory
    WarmScan {
        #[command(flatten)]
        subject: Subject,
        /// Limits on memory, one after another
        #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',', required = true)]
        memory: Vec<u64>,
        /// Warm scans within each limit, after the one that fills the cache
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
        repeat: u64,
        /// Models of disks that the requests are priced on
        #[arg(long, value_name = "MODEL", value_delimiter = ',')]
        disk: Vec<String>,
    },
    /// Create many files of one size, and read them in that order: throughput by size (Smith & Seltzer 1997)
    Sequential(Sequential),
    /// Read the files that were modified last, and overwrite them in place (Smith & Seltzer 1997)
    HotFiles(HotFiles),
}

#[derive(Args)]
pub struct TransferSize {
    /// An image or a device, which may be in use, for it is only read; or a modelled disk, which has its own clock
    pub path: PathBuf,
    /// Tell the time that this model of a disk takes for the reads, not that which they took here
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Sizes of the reads [default: 4 KiB to 64 MiB in powers of two]
    #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Most reads of each size
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reads: u64,
    /// Time after which no more reads of a size begin
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = units::time)]
    pub time: Duration,
    /// Decides the places that are read
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Subject {
    /// A directory, an image or a device
    pub path: PathBuf,
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
    /// Cold scans of each side; an interval needs 6
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// What reads
    #[arg(long, value_enum, default_value_t = Reader::Grep)]
    pub reader: Reader,
    /// Model of the disk that scans are priced on [default: that of the disk below, or hdd-7200]
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Do not write a new large file
    #[arg(long)]
    pub no_new_file: bool,
    /// Finish what an earlier comparison left
    #[arg(long)]
    pub resume: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// What is aged before it is compared.
#[derive(Args)]
pub struct AgeFirst {
    /// Age these kinds of file systems first, unless that is done: the next four are as for `senesce age`
    #[arg(long, value_name = "KINDS", value_delimiter = ',', conflicts_with = "names")]
    pub fs: Vec<String>,
    /// Size of each file system
    #[arg(long, value_name = "SIZE", requires = "fs")]
    pub size: Option<String>,
    /// Profile to follow
    #[arg(long, value_name = "PROFILE", requires = "fs")]
    pub profile: Option<String>,
    /// Share of the size in use at the end
    #[arg(long, value_name = "SHARE", requires = "fs")]
    pub fullness: Option<String>,
    /// Bytes created over the size
    #[arg(long, value_name = "N", requires = "fs")]
    pub overwrites: Option<String>,
    /// Seed of all that is random
    #[arg(long, value_name = "N", requires = "fs")]
    pub seed: Option<String>,
}

/// The kernels that file systems are aged and compared on.
#[derive(Args)]
pub struct CompareKernels {
    /// Age and compare the same on several kernels
    #[arg(long, value_enum, requires_all = ["fs", "kernel"])]
    pub across: Option<Across>,
    /// Run on this kernel (vmlinuz), or these, in virtual machines
    #[arg(long, value_name = "VMLINUZ", value_delimiter = ',', requires = "fs")]
    pub kernel: Vec<PathBuf>,
    /// Directories of their modules, in the same order
    #[arg(long, value_name = "DIR", value_delimiter = ',', requires = "kernel")]
    pub modules: Vec<PathBuf>,
}

/// What comparisons are made across.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Across {
    /// Kernels
    Kernel,
}
