//! Arguments of `senesce trace extract`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Commits of a history to pull.
#[derive(Clone, Copy, ValueEnum)]
pub enum Order {
    /// First parents only: the main line
    FirstParent,
    /// All commits, parents first
    Full,
}

#[derive(Args)]
pub struct Extract {
    /// Repository: bare, or the top of a working tree, which is only read; or a URL, which is cloned once
    #[arg(long, value_name = "REPO")]
    pub git: PathBuf,
    /// Commits to pull, oldest first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub pulls: Option<u64>,
    /// Pulls between checkpoints [default: one checkpoint at the end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Order of the commits
    #[arg(long, value_enum, default_value_t = Order::FirstParent)]
    pub order: Order,
    /// Include the files below .git: objects, index, references, logs
    #[arg(long)]
    pub objects: bool,
    /// Trace to write; its labels file is written beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Save the file contents beside the trace
    #[arg(long)]
    pub with_contents: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
