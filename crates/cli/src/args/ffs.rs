//! What `senesce ffs` takes.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Ffs {
    /// Trace to replay [default: a made-up history of 215 days and 1.3 million operations a GiB]
    pub trace: Option<PathBuf>,
    /// File system to simulate
    #[arg(long, value_enum, default_value_t = SimulatedFs::Ffs)]
    pub fs: SimulatedFs,
    /// Policies, side by side: baseline, original, no_switch, smart_frag, best_cluster; on extents buddy, first_fit, best_fit,
    /// buddy_no_window [default: all of the file system's]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Size of the simulated disk
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1GiB")]
    pub size: u64,
    /// Seed of the made-up history
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "trace")]
    pub seed: u64,
    /// Price reading all files, and the hot ones, on this device: a built-in model or TOML file
    #[arg(long, value_name = "NAME|FILE")]
    pub disk: Option<String>,
    /// Run the benchmark of sequential throughput too, on the empty disk and on the aged one
    #[arg(long, requires = "disk")]
    pub sequential: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SimulatedFs {
    /// The fast file system of 4.4BSD
    Ffs,
    /// A model of today's extent allocators
    Extents,
}
