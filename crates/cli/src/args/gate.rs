//! Arguments of `senesce gate`.

use super::compare::AGINGS;
use super::{OnKernel, Reader, Work};
use crate::units;
use clap::Args;
use run::gate::LEAST_PAIRS;
use std::path::PathBuf;
use workload::Churn;

/// Default rate of false alarms.
const FALSE_ALARMS: &str = "0.01";

#[derive(Args)]
pub struct Gate {
    /// Comparison to test [default: age as the baseline was aged]
    ///
    /// A name in the store of the work directory, or a file that `senesce compare --json` printed.
    #[arg(value_name = "NEW", conflicts_with_all = ["learn", "agings", "mkfs_opts", "mount_opts", "kernel"])]
    pub new: Option<String>,
    /// Baseline to compare with
    ///
    /// Measured under the same conditions; otherwise the gate refuses it.
    #[arg(long, value_name = "FILE")]
    pub against: PathBuf,
    /// Make the baseline, from N pairs of equal agings
    ///
    /// Bounds follow from how much the two of a pair differ. 20 are good, 5 are the fewest.
    #[arg(long, value_name = "N", requires = "fs", value_parser = clap::value_parser!(u64).range(LEAST_PAIRS as u64..=1000))]
    pub learn: Option<u64>,
    /// File system to learn from
    #[arg(long, value_name = "KIND", requires = "learn")]
    pub fs: Option<String>,
    /// Agings to test, with the first seeds of the baseline
    #[arg(long, value_name = "N", default_value_t = AGINGS, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub agings: u64,
    /// What is tested and may differ, such as kernel,version
    ///
    /// What --mkfs-opts, --mount-opts and --kernel change need not be named. Anything else that differs is refused.
    #[arg(long, value_name = "FACTS", value_delimiter = ',', conflicts_with = "learn")]
    pub changed: Vec<String>,
    /// Share of gates that may raise an alarm without a cause
    ///
    /// Over all measures together.
    #[arg(long, value_name = "SHARE", default_value = FALSE_ALARMS, value_parser = units::share)]
    pub false_alarms: f64,
    /// Measures to test [default: all of the baseline]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "learn")]
    pub measures: Vec<String>,
    #[command(flatten)]
    pub work: Work,
    /// Reuse the agings of an interrupted --learn
    #[arg(long, requires = "learn")]
    pub resume: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE", conflicts_with = "learn")]
    pub junit: Option<PathBuf>,
    /// Write the results as TAP, the Test Anything Protocol
    #[arg(long, value_name = "FILE", conflicts_with = "learn")]
    pub tap: Option<PathBuf>,
    /// Write the results as a Markdown table
    #[arg(long, value_name = "FILE", conflicts_with = "learn")]
    pub markdown: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Options of mkfs [default: as in the baseline]
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub mkfs_opts: Option<String>,
    /// Mount options, separated by commas [default: as in the baseline]
    #[arg(long, value_name = "OPTIONS")]
    pub mount_opts: Option<String>,
    #[command(flatten)]
    pub kernel: OnKernel,
    #[command(flatten)]
    pub recipe: GateRecipe,
}

/// What a baseline is aged by, and how it is measured.
#[derive(Args)]
pub struct GateRecipe {
    /// Size of each file system
    #[arg(long, value_name = "SIZE", requires = "learn", value_parser = units::size)]
    pub size: Option<u64>,
    /// Keep the images in memory (/dev/shm)
    #[arg(long, requires = "learn")]
    pub memory: bool,
    /// Profile: built-in name or TOML file
    #[arg(long, value_name = "PROFILE", requires = "learn")]
    pub profile: Option<String>,
    /// Target fullness, as a share of the size
    #[arg(long, value_name = "SHARE", requires = "learn", value_parser = units::share)]
    pub fullness: Option<f64>,
    /// Bytes to create, in multiples of the size
    #[arg(long, value_name = "N", requires = "learn", value_parser = units::overwrites)]
    pub overwrites: Option<f64>,
    /// Change live files, in shares of the operations
    #[arg(long, value_name = "SHARES", requires = "learn", value_parser = units::churn)]
    pub churn: Option<Churn>,
    /// Random seed of the first pair
    #[arg(long, value_name = "N", requires = "learn")]
    pub seed: Option<u64>,
    /// Cold scans of each side, averaged [default: 1]
    #[arg(long, value_name = "N", requires = "learn", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: Option<u64>,
    /// Program that reads
    #[arg(long, value_enum, requires = "learn")]
    pub reader: Option<Reader>,
    /// Device model of the modelled times [default: hdd-7200]
    #[arg(long, value_name = "MODEL", requires = "learn")]
    pub disk: Option<String>,
    /// Do not measure a new large file
    #[arg(long, requires = "learn")]
    pub no_new_file: bool,
}
