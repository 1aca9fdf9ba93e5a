//! Arguments of `senesce bench personality` and `senesce bench fio`.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Target and number of runs of a server workload.
#[derive(Args)]
pub struct BenchSubject {
    /// File system to measure: aged by senesce, or any other
    ///
    /// Image, modelled disk or work directory of `senesce age`, its name in --work, or any directory or image.
    #[arg(long, value_name = "WHAT")]
    pub on: PathBuf,
    /// Baseline of an aged file system
    #[arg(long, value_enum, default_value_t = Against::Unaged)]
    pub against: Against,
    /// Put the image on a modelled disk: built-in name or TOML file
    ///
    /// It takes its service times in real time.
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Runs on each side, each after a rollback
    ///
    /// 6 or more give confidence intervals.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// Work directory whose store keeps the results [default: where the file system was aged]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Against {
    /// The same tree copied to a fresh file system
    Unaged,
    /// No baseline
    None,
}

/// Clock of a measurement.
#[derive(Args)]
pub struct ClockArgs {
    /// Clock of the measurement
    #[arg(long, value_enum, default_value_t = MeasuringClock::Wall)]
    pub clock: MeasuringClock,
    /// Runs in virtual time on each side, each with another seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Kernel images to compare in virtual time
    #[arg(long, value_name = "VMLINUZ", value_delimiter = ',', conflicts_with = "mkfs_opts")]
    pub kernel: Vec<PathBuf>,
    /// Directories of their modules, in the same order
    #[arg(long, value_name = "DIR", value_delimiter = ',', requires = "kernel")]
    pub modules: Vec<PathBuf>,
    /// Options of mkfs to compare in virtual time; repeatable
    ///
    /// Each set is added to those of the file system, on a copy of the tree, and compared with a copy without it.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub mkfs_opts: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeasuringClock {
    /// Time of this machine
    Wall,
    /// Instructions of an emulated processor: the same in every run
    Virtual,
}

#[derive(Args)]
pub struct Personality {
    #[arg(help = personality_help())]
    pub personality: String,
    #[command(flatten)]
    pub subject: BenchSubject,
    #[command(flatten)]
    pub clock: ClockArgs,
    /// Duration of each run [default: 60s, or 2s of virtual time]
    #[arg(long, value_name = "TIME", value_parser = units::time, conflicts_with = "operations")]
    pub time: Option<Duration>,
    /// Run whole loops of at least N operations instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub operations: Option<u64>,
    /// Threads [default: from the personality]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Multiply the number of files
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    pub scale: Option<f64>,
    /// Limit of dirty data in memory
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub dirty: Option<u64>,
    /// Random seed of the files and accesses
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

#[derive(Args)]
pub struct Fio {
    /// Job file; its data files must be in the directory that fio runs in
    pub job: PathBuf,
    #[command(flatten)]
    pub subject: BenchSubject,
}

/// Help of the personality.
fn personality_help() -> String {
    let names: Vec<_> = ::bench::personality::builtin().collect();
    format!("{}, or a TOML file", names.join(", "))
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if factor > 0.0 && factor <= 1000.0 => Ok(factor),
        _ => Err("it is a number above 0 and up to 1000".to_owned()),
    }
}
