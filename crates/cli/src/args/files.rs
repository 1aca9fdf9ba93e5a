//! What `senesce probe sequential` and `senesce probe hot-files` take.

use crate::units;
use clap::Args;
use std::path::PathBuf;

/// What a benchmark of files runs on, and how often.
#[derive(Args)]
pub struct OnFiles {
    /// A directory, an image, a device or a modelled disk, measured alone
    #[arg(required_unless_present = "on")]
    pub path: Option<PathBuf>,
    /// Measure this aged file system beside an unaged copy: an image that `age` left, or its name in --work
    #[arg(long, value_name = "IMAGE", conflicts_with = "path")]
    pub on: Option<PathBuf>,
    /// Keep the results in the store of this work directory [with --on: that which it was aged in]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// How many times each is measured, as published
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// Model of the disk whose time is told [default: that of the disk below, or hdd-7200]
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
    /// Sizes of files [default: 16 KiB to 16 MiB in powers of two, and 96 and 104 KiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size, value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Bytes of all files of one size [default: 32 MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub total: Option<u64>,
}

#[derive(Args)]
pub struct HotFiles {
    #[command(flatten)]
    pub on: OnFiles,
    /// Hot is what was modified within so many days [default: 30, but see --share]
    #[arg(long, value_name = "N", value_parser = units::days)]
    pub days: Option<f64>,
    /// Count the days back from this moment, in seconds since 1970 [default: the newest modification]
    #[arg(long, value_name = "SECONDS", value_parser = units::moment, conflicts_with = "share")]
    pub now: Option<f64>,
    /// Hot is this share of the files, the youngest, as in 9.5% [default with --on: 9.5%]
    #[arg(long, value_name = "SHARE", value_parser = units::share, conflicts_with = "days")]
    pub share: Option<f64>,
    /// Overwrite the hot files: WHAT THEY HOLD IS LOST, except on images and modelled disks, which are put back
    #[arg(long)]
    pub overwrite: bool,
}
