//! Arguments of `senesce probe`.

use super::{HotFiles, MeasuringClock, Sequential};
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

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
