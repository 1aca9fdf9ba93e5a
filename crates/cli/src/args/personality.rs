//! What `senesce bench personality` and `senesce bench fio` take.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What a benchmark that writes runs on, and how often.
#[derive(Args)]
pub struct Ground {
    /// What it runs on: an image, modelled disk or work directory that `age` left, its name in --work, or any directory or image
    #[arg(long, value_name = "WHAT")]
    pub on: PathBuf,
    /// What an aged file system is compared with
    #[arg(long, value_enum, default_value_t = Against::Unaged)]
    pub against: Against,
    /// Put the image on a modelled disk that sleeps its service times: a built-in name or a TOML file
    #[arg(long, value_name = "MODEL")]
    pub disk: Option<String>,
    /// Runs on each side, each on what the file system was before; an interval needs 6
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// Keep the results in the store of this work directory [default: that of an aged file system]
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
    /// Nothing
    None,
}

#[derive(Args)]
pub struct Personality {
    /// fileserver, varmail, webserver, or a TOML file
    pub personality: String,
    #[command(flatten)]
    pub ground: Ground,
    /// How long each run is
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = units::time, conflicts_with = "operations")]
    pub time: Duration,
    /// Run whole loops that make at least so many operations instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub operations: Option<u64>,
    /// How many threads go round the loop [default: as the personality says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,
    /// Make so many times as many files
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    pub scale: Option<f64>,
    /// Let no more than about so much written data wait in memory for the disk
    #[arg(long, value_name = "SIZE", value_parser = units::size)]
    pub dirty: Option<u64>,
    /// Seed of the files and of which of them is chosen
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
}

#[derive(Args)]
pub struct Fio {
    /// The job file; its files must lie in the directory that fio runs in
    pub job: PathBuf,
    #[command(flatten)]
    pub ground: Ground,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if factor > 0.0 && factor <= 1000.0 => Ok(factor),
        _ => Err("it is a number above 0 and up to 1000".to_owned()),
    }
}
