//! Arguments of `senesce ffs`.

use crate::units;
use ::ffs::SimulatedFs as Simulated;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Ffs {
    /// Trace to replay [default: a synthetic history of 215 days and 1.3 million operations per GiB]
    pub trace: Option<PathBuf>,
    /// File system to simulate
    #[arg(long, value_enum, default_value_t = SimulatedFs::Ffs)]
    pub fs: SimulatedFs,
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help = policy_help())]
    pub policy: Vec<String>,
    /// Size of the simulated disk
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1GiB")]
    pub size: u64,
    /// Random seed of the synthetic history
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace")]
    pub seed: u64,
    /// Report the modelled time of reading all and the hot files on this device: built-in name or TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub disk: Option<String>,
    /// Run the sequential benchmark on the empty and on the aged disk
    #[arg(long, requires = "disk")]
    pub sequential: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Help of `--policy`.
fn policy_help() -> String {
    let [fast, extents] = [Simulated::Fast, Simulated::Extents].map(|fs| fs.policies().join(", "));
    format!("Policies to compare: {fast}; with --fs extents {extents} [default: all of the file system]")
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SimulatedFs {
    /// The Fast File System of 4.4BSD
    Ffs,
    /// A model of extent allocators
    Extents,
}
