//! Arguments of `senesce disk` for served modelled disks.

use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum ServedDisk {
    /// Create a modelled disk in a new directory
    Create {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Size of the disk
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: u64,
        #[command(flatten)]
        model: ModelChoice,
        /// Volatile write cache, which a power cut can lose; below 64KiB there is none
        #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = units::size)]
        write_cache: u64,
    },
    /// Serve a modelled disk as a file until Ctrl-C or unmount
    Mount {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Attach a loop device to the file
        #[arg(long = "loop")]
        loop_device: bool,
    },
    /// Take a snapshot
    Snapshot {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Name of the snapshot
        name: String,
    },
    /// Roll back to a snapshot
    Rollback {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Name of the snapshot
        name: String,
    },
    /// Make the flash of an SSD fresh, filled or aged
    Precondition {
        /// Directory of the modelled disk
        dir: PathBuf,
        #[command(subcommand)]
        state: Preconditioned,
    },
    /// Show a modelled disk and its snapshots
    List {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write the requests since the last call; needs a served disk
    Log {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Request log to write (Parquet)
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Inject faults into a served disk
    Fault {
        /// Directory of the modelled disk
        dir: PathBuf,
        #[command(subcommand)]
        fault: FaultKind,
    },
    /// Serve a disk whose file system is mounted on standard input
    #[command(hide = true)]
    Serve {
        /// Directory of the modelled disk
        dir: PathBuf,
        /// Its clock, if not its own
        #[arg(value_enum)]
        clock: Option<Clock>,
    },
}

#[derive(Args)]
pub struct ModelChoice {
    /// Device model: built-in name or TOML file
    #[arg(long, value_name = "MODEL", default_value = "hdd-7200")]
    pub model: String,
    /// Clock of the service times
    #[arg(long, value_enum, default_value_t = Clock::Model)]
    pub clock: Clock,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Clock {
    /// Count service times only; runs as fast as the machine
    Model,
    /// Sleep for the service times; as slow as the device
    Real,
}

#[derive(Subcommand)]
pub enum Preconditioned {
    /// New flash; only the data in use was written, once
    Fresh,
    /// Every address was written once, so none is free to the SSD
    Filled,
    /// Filled, then overwritten at random in blocks of 4 KiB
    Aged {
        /// How often, in sizes of the disk
        #[arg(long, value_name = "N", default_value_t = 2.0, value_parser = overwrites)]
        overwrites: f64,
        /// Random seed of the addresses
        #[arg(long, value_name = "N", default_value_t = 42)]
        seed: u64,
    },
}

fn overwrites(text: &str) -> Result<f64, String> {
    let number = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1000.0).contains(&number) { Ok(number) } else { Err("must be between 0 and 1000".to_owned()) }
}

#[derive(Subcommand)]
pub enum FaultKind {
    /// Cut the power: lose unflushed writes, fail all requests
    PowerCut {
        /// Lose a random part of the unflushed writes, chosen by SEED, instead of all
        #[arg(long, value_name = "SEED")]
        some: Option<u64>,
    },
    /// Cut the power in the middle of a write
    TornWrite {
        /// Random seed of the write and the offset
        #[arg(long, default_value_t = 42)]
        seed: u64,
    },
    /// Fail reads of a range
    ReadError {
        /// Offset of the range
        #[arg(long, value_name = "BYTES", value_parser = units::offset)]
        at: u64,
        /// Length of the range
        #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = units::size)]
        length: u64,
    },
    /// Acknowledge flushes without doing them
    #[command(alias = "lie")]
    IgnoreFlush,
    /// Clear all faults
    None,
}
