//! What `senesce verify` takes.

use super::Work;
use crate::units;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

#[derive(Args)]
#[command(group(ArgGroup::new("what").args(["real", "builtin"]).required(true)))]
pub struct Verify {
    /// Snapshots of the real file system, in order of time; or a directory of them
    pub real: Vec<PathBuf>,
    /// Snapshots of the replayed one at the same checkpoints; without them the workload of the real ones is replayed on a fresh
    /// file system, in an image, and removed
    #[arg(long, value_name = "REPLAYED", num_args = 1.., requires = "real", conflicts_with_all = ["fs", "size", "seed"])]
    pub against: Vec<PathBuf>,
    /// Have a small office work on a fresh file system, and compare it with what comes of its snapshots on another
    #[arg(long)]
    pub builtin: bool,
    /// Days that the office works after it has filled its file system
    #[arg(long, value_name = "N", default_value_t = 10, requires = "builtin", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub days: u64,
    /// Tasks that the office does at once
    #[arg(long, value_name = "N", default_value_t = 5, requires = "builtin", value_parser = clap::value_parser!(u8).range(1..=7))]
    pub at_once: u8,
    /// Half minutes of work in a day of the office, for each GiB; at the end of each all is written back
    #[arg(long, value_name = "N", default_value_t = 120, requires = "builtin", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub windows: u64,
    /// Share of its file system that the office has in use in the end
    #[arg(long, value_name = "SHARE", default_value_t = 0.85, requires = "builtin", value_parser = units::share)]
    pub fullness: f64,
    /// File system to replay on: ext4, xfs or btrfs
    #[arg(long, value_name = "KIND", default_value = "ext4")]
    pub fs: String,
    /// Its size
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = units::size)]
    pub size: u64,
    /// Write all back after so many bytes in the replay: what the real one wrote in half a minute of work
    #[arg(long, value_name = "SIZE", default_value = "512KiB", value_parser = units::size, conflicts_with = "against")]
    pub write_back: u64,
    /// Make the workload as published and no more
    #[arg(long, conflicts_with = "against")]
    pub published: bool,
    /// Put in short-lived files after this set of profiles of activity: a file, or `builtin`
    #[arg(long, value_name = "SET", conflicts_with = "against")]
    pub short_lived: Option<PathBuf>,
    /// Seed of all that is random
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
