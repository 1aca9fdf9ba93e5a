//! Arguments of `senesce verify`.

use super::Work;
use crate::units;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

#[derive(Args)]
#[command(group(ArgGroup::new("what").args(["real", "builtin"]).required(true)))]
pub struct Verify {
    /// Snapshots of the real file system in chronological order, or a directory of them
    pub real: Vec<PathBuf>,
    /// Snapshots of a replayed file system at the same checkpoints [default: replay on a fresh file system in a temporary
    /// image]
    #[arg(long, value_name = "REPLAYED", num_args = 1.., requires = "real", conflicts_with_all = ["fs", "size", "seed"])]
    pub against: Vec<PathBuf>,
    /// Validate snapshot replay on a synthetic workload
    #[arg(long)]
    pub builtin: bool,
    /// Simulated days after the initial filling
    #[arg(long, value_name = "N", default_value_t = 10, requires = "builtin", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub days: u64,
    /// Concurrent tasks of the synthetic workload
    #[arg(long, alias = "at-once", value_name = "N", default_value_t = 5, requires = "builtin", value_parser = clap::value_parser!(u8).range(1..=7))]
    pub concurrency: u8,
    /// Work intervals (30 s each) per simulated day and GiB; each ends with a sync
    #[arg(long, alias = "windows", value_name = "N", default_value_t = 120, requires = "builtin", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub intervals: u64,
    /// Target fullness of the synthetic workload
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, requires = "builtin", value_parser = units::share)]
    pub fullness: f64,
    /// File system to replay on, as for `senesce age`; this kernel must have it
    #[arg(long, value_name = "KIND", default_value = "ext4")]
    pub fs: String,
    /// Size of the file system
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::size)]
    pub size: u64,
    /// Bytes between syncs in the replay: the amount that the real file system wrote in 30 s
    #[arg(long, value_name = "SIZE", default_value = "512KiB", value_parser = units::size, conflicts_with = "against")]
    pub write_back: u64,
    /// Derive the workload as published (Smith & Seltzer 1997), without extensions
    #[arg(long, conflicts_with = "against")]
    pub published: bool,
    /// Add short-lived files from this activity profile set: file, or `builtin`
    #[arg(long, value_name = "SET", conflicts_with = "against")]
    pub short_lived: Option<PathBuf>,
    /// Random seed
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    #[command(flatten)]
    pub work: Work,
    /// Name in the store [default: verify-FS, or verify]
    #[arg(long)]
    pub name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
