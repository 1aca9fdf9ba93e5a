//! Arguments of `senesce profile`.

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
    /// Show a profile as TOML or as histograms
    Show {
        /// Built-in name or TOML file
        name: PathBuf,
        /// Draw the histograms
        #[arg(long)]
        plot: bool,
        /// Print one JSON document
        #[arg(long, conflicts_with = "plot")]
        json: bool,
    },
    /// Check a profile
    Check {
        /// Built-in name or TOML file
        name: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Capture the histograms of a live tree, without names
    Capture {
        /// Directory tree; file systems mounted below it are not entered
        path: PathBuf,
        /// Profile to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Name of the profile [default: from the file name]
        #[arg(long)]
        name: Option<String>,
        /// Timestamp from which ages are computed
        #[arg(long, value_enum, default_value_t = AgeBy::Birth)]
        age_by: AgeBy,
        /// Threads of the directory walk [default: two per processor]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum AgeBy {
    /// Creation time
    Birth,
    /// Modification time
    Modification,
}
