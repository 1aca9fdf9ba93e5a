//! What `senesce profile` takes.

use super::Json;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Profile {
    #[command(subcommand)]
    pub action: ProfileAction,
}

#[derive(Subcommand)]
pub enum ProfileAction {
    /// List the built-in profiles
    List(Json),
    /// Show a profile as TOML, or drawn
    Show {
        /// Built-in name or TOML file
        name: String,
        /// Draw the histograms
        #[arg(long)]
        plot: bool,
        /// Print one JSON document
        #[arg(long, conflicts_with = "plot")]
        json: bool,
    },
    /// Check a TOML file
    Check {
        /// The file
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make a profile of a live tree: histograms only, no name leaves the machine
    Capture {
        /// The tree; other file systems below it are not entered
        path: PathBuf,
        /// The profile to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Name of the profile [default: that of the file]
        #[arg(long)]
        name: Option<String>,
        /// What a file's age is counted from
        #[arg(long, value_enum, default_value_t = AgeBy::Birth)]
        age_by: AgeBy,
        /// Threads of the walk [default: two a processor]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum AgeBy {
    /// Its creation
    Birth,
    /// Its last change of contents
    Modification,
}
