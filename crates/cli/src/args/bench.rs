//! Arguments of `senesce bench`.

use super::personality::{ClockArgs, Fio, Personality};
use crate::units;
use bench::metadata::{InterfaceKind, Phase, SizeDistribution, WaitingFactor};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct Bench {
    #[command(subcommand)]
    pub bench: BenchKind,
}

#[derive(Subcommand)]
pub enum BenchKind {
    /// Benchmark metadata with many ranks (MD-REAL-IO)
    Metadata(Box<Metadata>),
    /// Run a server workload: `senesce bench fileserver`
    Personality(Box<Personality>),
    /// Run a fio job file
    Fio(Box<Fio>),
    /// Run one rank of a benchmark that another process started
    #[command(hide = true)]
    MetadataRank,
    /// Run a benchmark for an experiment
    #[command(hide = true)]
    MetadataSubprocess,
    /// Measure in a machine with a virtual clock
    #[command(hide = true)]
    VirtualTimeJob,
}

/// The interfaces of the metadata benchmark, those of other builds included.
fn interfaces() -> PossibleValuesParser {
    let value = |kind: &InterfaceKind| PossibleValue::new(kind.name).help(kind.help).aliases(kind.aliases);
    InterfaceKind::all().into_iter().map(value).into()
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PhaseArg {
    /// Create data sets and their first objects
    Precreate,
    /// Stat, read, delete and create objects
    Benchmark,
    /// Delete all objects and data sets
    Cleanup,
}

impl PhaseArg {
    pub fn phase(self) -> Phase {
        match self {
            PhaseArg::Precreate => Phase::Precreate,
            PhaseArg::Benchmark => Phase::Benchmark,
            PhaseArg::Cleanup => Phase::Cleanup,
        }
    }
}

#[derive(Args)]
pub struct Metadata {
    /// Storage interface
    #[arg(long, default_value = "posix", value_parser = interfaces())]
    pub interface: String,
    /// Directory of the objects; must be new or empty
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Service without user and password: s3://BUCKET/PREFIX, postgres://HOST/DATABASE, mongodb://HOST/DATABASE
    #[arg(long, value_name = "URL", conflicts_with = "root")]
    pub url: Option<String>,
    /// File of NAME=VALUE lines with the credentials [default: environment variables]
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub credentials: Option<PathBuf>,
    /// Number of ranks [default: 1, or the processes of mpirun]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: Option<u32>,
    /// Run each rank as a process instead of a thread
    #[arg(long)]
    pub processes: bool,
    /// Data sets per rank
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub data_sets: u32,
    /// Objects to create in each data set beforehand
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub precreate: u64,
    /// Objects that each rank processes per data set and repeat
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub iterations: u64,
    /// Repeats of the benchmark phase
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeats: u32,
    /// Object size in bytes, a range, or a distribution
    ///
    /// Such as 3900, 1KiB..64KiB (uniform), or lognormal:4KiB:1.5 (median, sigma).
    #[arg(long, value_name = "SIZE", default_value = "3900", value_parser = units::sizes)]
    pub object_size: SizeDistribution,
    /// Rank distance between writer and reader
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub offset: u32,
    /// Number of the first object
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub start_item: u64,
    /// Time limit of each repeat of the benchmark phase
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub stonewall: Option<Duration>,
    /// After the time limit, let all ranks finish as many operations as the fastest rank
    #[arg(long, requires = "stonewall")]
    pub wear_out: bool,
    /// Wait after each operation, in multiples of its latency; `adaptive` steps through 0, 1/16, 1/8 … 4
    #[arg(long, value_name = "FACTOR", default_value = "0", value_parser = units::waiting)]
    pub waiting: WaitingFactor,
    /// Only stat and read in the benchmark phase
    #[arg(long)]
    pub read_only: bool,
    /// Write an object before another is read, as MD-REAL-IO lists
    #[arg(long, conflicts_with = "read_only")]
    pub write_first: bool,
    /// Fill one data set after the other beforehand, as MD-REAL-IO did
    #[arg(long)]
    pub set_by_set: bool,
    /// Continue when objects cannot be created beforehand
    #[arg(long)]
    pub ignore_precreate_errors: bool,
    /// Do not verify the data that is read
    #[arg(long)]
    pub no_verify: bool,
    /// Phases to run
    #[arg(long, value_enum, value_name = "PHASE", value_delimiter = ',',
          default_values_t = [PhaseArg::Precreate, PhaseArg::Benchmark, PhaseArg::Cleanup])]
    pub phases: Vec<PhaseArg>,
    /// File with the state of a run whose objects are kept, for the phases of a later run
    #[arg(long, value_name = "FILE", default_value = "senesce-metadata.json")]
    pub run_info: PathBuf,
    /// Memory limit of all ranks and their page cache together (control group)
    #[arg(long, value_name = "SIZE", value_parser = units::size, conflicts_with_all = ["free_memory", "free_memory_between"])]
    pub memory: Option<u64>,
    /// Occupy memory until no more than SIZE is free, as MD-REAL-IO does
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub free_memory: Option<u64>,
    /// Occupy memory between the phases, to empty caches
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub free_memory_between: Option<u64>,
    /// Print the results of each rank
    #[arg(long)]
    pub process_reports: bool,
    /// Save every latency to FILE (Parquet), outside the measured file system
    #[arg(long, value_name = "FILE")]
    pub latencies: Option<PathBuf>,
    /// Random seed of the object data
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Work directory whose store keeps the results
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Compare this aged file system with its unaged copy
    ///
    /// An image of `senesce age`, or its name in --work.
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["root", "url", "phases", "run_info", "import", "latencies"])]
    pub on: Option<PathBuf>,
    #[command(flatten)]
    pub clock: ClockArgs,
    /// Import output files of MD-REAL-IO or md-workbench into the store, and run nothing
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "work", conflicts_with = "root")]
    pub import: Vec<PathBuf>,
    /// Name of the run in the store [default: the interface]
    #[arg(long)]
    pub name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
