//! Arguments of `senesce probe sequential` and `senesce probe hot-files`.

use crate::units;
use clap::Args;
use std::path::PathBuf;

/// Target and number of runs of a file benchmark.
#[derive(Args)]
pub struct OnFiles {
    /// Directory, image, device or modelled disk to measure
    #[arg(required_unless_present = "on")]
    pub path: Option<PathBuf>,
    /// Compare this aged file system with its unaged copy: an image of `senesce age`, or its name in --work
    #[arg(long, value_name = "IMAGE", conflicts_with = "path")]
    pub on: Option<PathBuf>,
    /// Work directory whose store keeps the results [default with --on: where it was aged]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Number of measurements
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// Device model of the reported times [default: the modelled disk it is on, or hdd-7200]
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Sequential {
    #[command(flatten)]
    pub on: OnFiles,
    /// File sizes [default: powers of two from 16 KiB to 16 MiB, and 96 and 104 KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Total bytes per file size [default: 32 MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub total: Option<u64>,
}

#[derive(Args)]
pub struct HotFiles {
    #[command(flatten)]
    pub on: OnFiles,
    /// Files modified within N days are hot [default: 30, unless --share is given]
    #[arg(long, value_name = "N", value_parser = units::days)]
    pub days: Option<f64>,
    /// Time from which --days counts back, in seconds since 1970 [default: the newest modification]
    #[arg(long, value_name = "SECONDS", value_parser = units::moment, conflicts_with = "share")]
    pub now: Option<f64>,
    /// This share of the files, the most recently modified, is hot, such as 9.5% [default with --on: 9.5%]
    #[arg(long, value_name = "SHARE", value_parser = units::share, conflicts_with = "days")]
    pub share: Option<f64>,
    /// Overwrite the hot files; THEIR DATA IS LOST, except on images and modelled disks, which are rolled back
    #[arg(long)]
    pub overwrite: bool,
}
