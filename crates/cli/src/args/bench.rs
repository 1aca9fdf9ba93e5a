//! What `senesce bench` takes.

use super::personality::{Fio, Personality};
use crate::units;
use bench::metadata::{Phase, Sizes, Waiting};
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
    /// Make, look at, read and delete many small objects by many ranks at once (MD-REAL-IO)
    Metadata(Box<Metadata>),
    /// Do what a server does, as Filebench does; `senesce bench fileserver`, `varmail`, `webserver` or FILE.toml for short
    Personality(Box<Personality>),
    /// Run a job file of fio
    Fio(Box<Fio>),
    /// Be a rank of a run that another process has started
    #[command(hide = true)]
    MetadataRank,
    /// Carry out a run that an experiment asks for
    #[command(hide = true)]
    MetadataApart,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum InterfaceKind {
    /// Files in directories
    Posix,
    /// The same files reached by MPI-IO, under mpirun
    MpiIo,
    /// Nothing at all: what the benchmark itself costs
    Null,
    /// Objects of an object store, such as S3
    #[value(alias = "s3")]
    ObjectStore,
    /// Rows of PostgreSQL
    Postgres,
    /// Documents of MongoDB
    Mongodb,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PhaseArg {
    /// Make data sets and their first objects
    Precreate,
    /// Look at, read and delete objects, and write new ones
    Benchmark,
    /// Delete all of it
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
    /// What keeps the objects
    #[arg(long, value_enum, default_value_t = InterfaceKind::Posix)]
    pub interface: InterfaceKind,
    /// The directory that they are made in, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Where the service is, without user or password: s3://BUCKET/PREFIX, postgres://HOST/DATABASE, mongodb://HOST/DATABASE
    #[arg(long, value_name = "URL", conflicts_with = "root")]
    pub url: Option<String>,
    /// A file of variables NAME=VALUE that say who you are to the service; without it the environment does
    #[arg(long, value_name = "FILE", conflicts_with = "root")]
    pub credentials: Option<PathBuf>,
    /// How many work at once [default: 1, or as many as mpirun has started]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: Option<u32>,
    /// Make each a process instead of a thread
    #[arg(long)]
    pub processes: bool,
    /// Data sets of each rank
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub data_sets: u32,
    /// Objects made in each data set beforehand
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub precreate: u64,
    /// Objects that a rank goes through in each data set in one repeat
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub iterations: u64,
    /// How often the benchmark phase is repeated
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeats: u32,
    /// Size of the objects: 3900, 1KiB..64KiB (all as often), or lognormal:4KiB:1.5 (median, sigma)
    #[arg(long, value_name = "SIZE", default_value = "3900", value_parser = units::sizes)]
    pub object_size: Sizes,
    /// How many ranks lie between who writes and who reads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub offset: u32,
    /// Number of the first object
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub start_item: u64,
    /// End each repeat of the benchmark phase after this time
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub stonewall: Option<Duration>,
    /// After that time, let all ranks do as much as the quickest has done
    #[arg(long, requires = "stonewall")]
    pub wear_out: bool,
    /// Wait after each operation this many times what it took, or `adaptive`: 0, 1/16, 1/8 … 4 times, one after another
    #[arg(long, value_name = "FACTOR", default_value = "0", value_parser = units::waiting)]
    pub waiting: Waiting,
    /// Only look and read in the benchmark phase
    #[arg(long)]
    pub read_only: bool,
    /// Go on when objects cannot be made beforehand
    #[arg(long)]
    pub ignore_precreate_errors: bool,
    /// Do not compare what is read with what was written
    #[arg(long)]
    pub no_verify: bool,
    /// The phases to run
    #[arg(long, value_enum, value_name = "PHASE", value_delimiter = ',',
          default_values_t = [PhaseArg::Precreate, PhaseArg::Benchmark, PhaseArg::Cleanup])]
    pub phases: Vec<PhaseArg>,
    /// Where a run whose objects stay leaves how far it came, for the phases of a later run
    #[arg(long, value_name = "FILE", default_value = "senesce-metadata.json")]
    pub run_info: PathBuf,
    /// Give the ranks, and what is cached for them, this much memory together, by a control group
    #[arg(long, value_name = "SIZE", value_parser = units::size, conflicts_with_all = ["free_memory", "free_memory_between"])]
    pub memory: Option<u64>,
    /// Occupy memory of the machine, so that no more than this is free, as published
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub free_memory: Option<u64>,
    /// The same for a moment between phases, which empties caches
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub free_memory_between: Option<u64>,
    /// Print what each rank did
    #[arg(long)]
    pub process_reports: bool,
    /// Keep every latency in this file (Parquet); not on the file system that is measured
    #[arg(long, value_name = "FILE")]
    pub latencies: Option<PathBuf>,
    /// Seed of what objects hold
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Keep the results in the store of this work directory
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Run on this aged file system and on an unaged copy, and compare: an image that `age` left, or its name in --work
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["root", "url", "phases", "run_info", "import", "latencies"])]
    pub on: Option<PathBuf>,
    /// Run nothing: read what MD-REAL-IO or md-workbench printed into these files into the store
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "work", conflicts_with = "root")]
    pub import: Vec<PathBuf>,
    /// Name of the run in the store [default: the interface]
    #[arg(long)]
    pub name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
