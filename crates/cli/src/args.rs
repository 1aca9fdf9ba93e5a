//! The one table of arguments: help, man pages and completions are made from it.

use crate::units;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Ages a file system the way years of use would, measures what that did to it, and shows it.
#[derive(Parser)]
#[command(
    name = "senesce",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Senesce {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Say what works on this machine, and how to get the rest
    Doctor(Json),
    /// Age and compare ext4, XFS and Btrfs, small, and write the report
    Demo(Demo),
    /// Age a file system
    Age(Box<Age>),
    /// Measure a directory, an image or a device
    Probe(Probe),
    /// Compare aged file systems with their unaged copies
    Compare(Compare),
    /// List, show, check or capture profiles
    Profile(Profile),
    /// Show, convert or sum up traces of operations
    Trace(Trace),
    /// Write one page with everything that was compared
    Report(Report),
    /// Write all measurements as one table
    Export(Export),
    /// Take down what a killed run has left: mounts, loop devices, trace buffers
    Cleanup(Json),
    /// Write the man pages into a directory
    Man {
        /// The directory
        dir: PathBuf,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args)]
pub struct Json {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Where results are.
#[derive(Args, Clone)]
pub struct Work {
    /// Work directory: images, their descriptions, and the store of results
    #[arg(long, value_name = "DIR", default_value = "senesce-work")]
    pub work: PathBuf,
}

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
pub struct Age {
    /// File system: ext4, xfs or btrfs
    #[arg(long, value_name = "KIND", default_value = "ext4")]
    pub fs: String,
    /// Size of the file system
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = units::size)]
    pub size: u64,
    /// Profile to follow: a built-in name or a TOML file
    #[arg(long, value_name = "PROFILE", default_value = "agrawal")]
    pub profile: String,
    /// Share of the size in use at the end [default: the profile's, or 0.8]
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    pub fullness: Option<f64>,
    /// Seed of all that is random
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// How operations are chosen
    #[arg(long, value_enum, default_value_t = Method::Planned)]
    pub method: Method,
    /// Bytes created over the size, filling included [default: the bound]
    #[arg(long, value_name = "N")]
    pub overwrites: Option<f64>,
    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub time: Option<Duration>,
    /// Stop when the chi-square p-value of the fit is at least this
    #[arg(long, value_name = "P", value_parser = units::share)]
    pub fit: Option<f64>,
    #[command(flatten)]
    pub work: Work,
    /// Name of the aged file system in the work directory [default: FS-PROFILE-SEED]
    #[arg(long)]
    pub name: Option<String>,
    /// Threads of the replay [default: the best for the file system]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// How data comes
    #[arg(long, value_enum, default_value_t = Data::Auto)]
    pub data: Data,
    /// What to do when the file system is full
    #[arg(long, value_enum, default_value_t = OnFull::Skip)]
    pub on_full: OnFull,
    /// Do not fill the survivors with data: metadata only, measured by extent maps alone
    #[arg(long)]
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
    /// Age inside a fresh subdirectory of this directory; needs no root
    #[arg(long, value_name = "DIR", conflicts_with = "device")]
    pub dir: Option<PathBuf>,
    /// Age on this block device; all that is on it is lost
    #[arg(long, value_name = "DEV", requires = "erase_or_resume")]
    pub device: Option<PathBuf>,
    /// Confirm that DEV may be erased, spelt exactly as for --device
    #[arg(long, value_name = "DEV", group = "erase_or_resume")]
    pub erase: Option<String>,
    /// Go on with an aging that was stopped or killed, or age further under changed conditions
    #[arg(long, group = "erase_or_resume")]
    pub resume: bool,
    /// Keep the operations in this file
    #[arg(long, value_name = "FILE")]
    pub save_trace: Option<PathBuf>,
    /// Do everything but touch a file system
    #[arg(long)]
    pub plan_only: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
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
    },
    /// Where the blocks of files lie: layout scores from extent maps
    Layout {
        #[command(flatten)]
        subject: Subject,
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
    pub work: Work,
    /// Cold scans of each side; an interval needs 6
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// What reads
    #[arg(long, value_enum, default_value_t = Reader::Grep)]
    pub reader: Reader,
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

#[derive(Args)]
pub struct Profile {
    #[command(subcommand)]
    pub action: ProfileAction,
}

#[derive(Subcommand)]
pub enum ProfileAction {
    /// List the built-in profiles
    List(Json),
    /// Show a profile as TOML, or drawn
    Show {
        /// Built-in name or TOML file
        name: String,
        /// Draw the histograms
        #[arg(long)]
        plot: bool,
        /// Print one JSON document
        #[arg(long, conflicts_with = "plot")]
        json: bool,
    },
    /// Check a TOML file
    Check {
        /// The file
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make a profile of a live tree: histograms only, no name leaves the machine
    Capture {
        /// The tree; other file systems below it are not entered
        path: PathBuf,
        /// The profile to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Name of the profile [default: that of the file]
        #[arg(long)]
        name: Option<String>,
        /// What a file's age is counted from
        #[arg(long, value_enum, default_value_t = AgeBy::Birth)]
        age_by: AgeBy,
        /// Threads of the walk [default: two a processor]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum AgeBy {
    /// Its creation
    Birth,
    /// Its last change of contents
    Modification,
}

#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    pub action: TraceAction,
}

#[derive(Subcommand)]
pub enum TraceAction {
    /// Show where a trace comes from and its first operations
    Show {
        /// The trace
        file: PathBuf,
        /// How many operations to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        first: u64,
    },
    /// Convert between Parquet and JSON lines (.jsonl)
    Convert {
        /// The trace to read
        from: PathBuf,
        /// The trace to write
        to: PathBuf,
    },
    /// Sum up a trace
    Stat {
        /// The trace
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct Report {
    /// Names of compared file systems [default: all in the store]
    pub names: Vec<String>,
    #[command(flatten)]
    pub work: Work,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    pub work: Work,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// JSON
    Json,
}
