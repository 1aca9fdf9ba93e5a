//! What `senesce probe` and `senesce compare` take.

use super::Work;
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Clone, Copy, ValueEnum)]
pub enum Reader {
    /// `grep -r` for a random string
    Grep,
    /// The built-in reader, in the order of names
    Builtin,
}

#[derive(Args)]
pub struct Probe {
    #[command(subcommand)]
    pub probe: ProbeKind,
}

#[derive(Subcommand)]
pub enum ProbeKind {
    /// Read every file from a cold cache
    Scan {
        #[command(flatten)]
        subject: Subject,
        /// What reads
        #[arg(long, value_enum, default_value_t = Reader::Grep)]
        reader: Reader,
        /// How many times
        #[arg(long, value_name = "N", default_value_t = 1)]
        repeat: u64,
        /// Keep the requests of the last scan as Parquet, for `senesce disk price`
        #[arg(long, value_name = "FILE")]
        save_log: Option<PathBuf>,
    },
    /// Where the blocks of files lie: layout scores from extent maps
    Layout {
        #[command(flatten)]
        subject: Subject,
    },
    /// How the free space is cut up
    FreeSpace {
        #[command(flatten)]
        subject: Subject,
    },
    /// Write a large file, see into how many extents it breaks, and remove it
    NewFile {
        #[command(flatten)]
        subject: Subject,
        /// Its size [default: 2 GB, or half of the free space]
        #[arg(long, value_name = "SIZE", value_parser = units::size)]
        size: Option<u64>,
    },
}

#[derive(Args)]
pub struct Subject {
    /// A directory, an image or a device
    pub path: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Compare {
    /// Names of aged file systems [default: all in the work directory]
    pub names: Vec<String>,
    #[command(flatten)]
    pub work: Work,
    /// Cold scans of each side; an interval needs 6
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// What reads
    #[arg(long, value_enum, default_value_t = Reader::Grep)]
    pub reader: Reader,
    /// Do not write a new large file
    #[arg(long)]
    pub no_new_file: bool,
    /// Finish what an earlier comparison left
    #[arg(long)]
    pub resume: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
