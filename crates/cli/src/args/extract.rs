//! What `senesce trace extract` takes.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Which commits are pulled.
#[derive(Clone, Copy, ValueEnum)]
pub enum Order {
    /// The newest commit, its first parent, that one's first parent, and so on
    FirstParent,
    /// All commits, each behind its parents
    Full,
}

#[derive(Args)]
pub struct Extract {
    /// The repository: bare, or the top of a working tree; it is only read
    #[arg(long, value_name = "REPO")]
    pub git: PathBuf,
    /// How many pulls, one commit each, from the oldest on [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub pulls: Option<u64>,
    /// A checkpoint after so many pulls [default: one at the end]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Which commits are pulled
    #[arg(long, value_enum, default_value_t = Order::FirstParent)]
    pub order: Order,
    /// Also what git writes below .git: objects, index, references, logs
    #[arg(long)]
    pub objects: bool,
    /// The trace to write; its labels go beside it
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also keep the contents of the files, beside the trace
    #[arg(long)]
    pub with_contents: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
