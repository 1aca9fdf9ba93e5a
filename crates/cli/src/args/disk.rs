//! Arguments of `senesce disk`.

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
    /// Show a device model, or its bandwidth by read size
    Show {
        /// Built-in name or TOML file
        model: String,
        /// Show the effective bandwidth of random reads by size
        #[arg(long)]
        curve: bool,
        /// Size of the disk
        #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "20GiB", requires = "curve")]
        size: u64,
        /// Random seed of the offsets
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
    /// Compute the time of a request log on a device model
    Price {
        /// Request log of `senesce probe scan --save-log`
        log: PathBuf,
        /// Device model: built-in name, TOML file or modelled disk
        #[arg(long, value_name = "NAME|FILE|DISK")]
        model: String,
        /// Size of the disk [default: from the log]
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}
