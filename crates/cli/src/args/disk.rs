//! What `senesce disk` takes.

use super::Json;
use super::served::ServedDisk;
use crate::units;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct Disk {
    #[command(subcommand)]
    pub action: DiskAction,
}

#[derive(Subcommand)]
pub enum DiskAction {
    #[command(flatten)]
    Served(ServedDisk),
    /// List the built-in device models
    Models(Json),
    /// Show a device model as TOML, or its bandwidth against the size of reads
    Show {
        /// Built-in name or TOML file
        model: String,
        /// Show the effective bandwidth of random reads of each size
        #[arg(long)]
        curve: bool,
        /// Size of the disk that is read
        #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "20GiB", requires = "curve")]
        size: u64,
        /// Seed of the random places
        #[arg(long, value_name = "N", default_value_t = 1, requires = "curve")]
        seed: u64,
        /// Print one JSON document
        #[arg(long)]
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
    /// Say what the requests of a log would cost on a device
    Price {
        /// The log, as `senesce probe scan --save-log` writes it
        log: PathBuf,
        /// Built-in device model or TOML file
        #[arg(long, value_name = "NAME|FILE")]
        model: String,
        /// Size of the disk [default: that of the log]
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}
