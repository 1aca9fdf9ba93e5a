//! What those subcommands of `senesce disk` take that are about a modelled disk in service.

use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum ServedDisk {
    /// Make a modelled disk in a new directory
    Create {
        /// The directory of its store
        dir: PathBuf,
        /// Size of the disk
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: u64,
        #[command(flatten)]
        model: ModelChoice,
        /// How much it holds unflushed, which a power cut can lose; below 64KiB nothing
        #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = units::size)]
        write_cache: u64,
    },
    /// Serve a modelled disk as a file, until Ctrl-C or until it is unmounted
    Mount {
        /// The directory of its store
        dir: PathBuf,
        /// Make a loop device of the file
        #[arg(long = "loop")]
        loop_device: bool,
    },
    /// Keep the disk as it is now under a new name
    Snapshot {
        /// The directory of its store
        dir: PathBuf,
        /// Name of the snapshot
        name: String,
    },
    /// Make the disk what it was when the snapshot was taken
    Rollback {
        /// The directory of its store
        dir: PathBuf,
        /// Name of the snapshot
        name: String,
    },
    /// Say how a modelled disk is, and which snapshots it has
    List {
        /// The directory of its store
        dir: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Write the requests since the last time into a file; the disk must be in service
    Log {
        /// The directory of its store
        dir: PathBuf,
        /// The file (Parquet)
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Make a disk in service fail
    Fault {
        /// The directory of its store
        dir: PathBuf,
        #[command(subcommand)]
        fault: FaultKind,
    },
    /// Serve a disk whose file system is mounted on standard input
    #[command(hide = true)]
    Serve {
        /// The directory of its store
        dir: PathBuf,
        /// Its clock, if not its own
        #[arg(value_enum)]
        clock: Option<Clock>,
    },
}

#[derive(Args)]
pub struct ModelChoice {
    /// Model of the disk: a built-in name or a TOML file
    #[arg(long, value_name = "MODEL", default_value = "hdd-7200")]
    pub model: String,
    /// Whether service times are only counted, or slept
    #[arg(long, value_enum, default_value_t = Clock::Model)]
    pub clock: Clock,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Clock {
    /// Counted: as fast as the machine
    Model,
    /// Slept: as slow as the disk that is modelled
    Real,
}

#[derive(Subcommand)]
pub enum FaultKind {
    /// The power goes: what was not flushed is lost, every request fails until it is mounted again
    PowerCut {
        /// Lose a random part of it, chosen by this seed, instead of all
        #[arg(long, value_name = "SEED")]
        some: Option<u64>,
    },
    /// The power goes in the middle of one of the last writes
    TornWrite {
        /// Seed of which, and where
        #[arg(long, default_value_t = 42)]
        seed: u64,
    },
    /// Reading a range fails
    ReadError {
        /// Where it begins
        #[arg(long, value_name = "BYTES", value_parser = units::offset)]
        at: u64,
        /// How long it is
        #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = units::size)]
        length: u64,
    },
    /// Flushes are acknowledged and not done
    Lie,
    /// No more lies and read errors
    None,
}
