//! What `senesce run` and `senesce reproduce` take.

use super::{StoreArg, Work};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct Run {
    /// The experiment: a TOML file
    pub experiment: PathBuf,
    #[command(flatten)]
    pub how: HowToRun,
}

#[derive(Args)]
pub struct Reproduce {
    /// Figures of the literature, such as fast17-fig5, or all [default: list them]
    pub figures: Vec<String>,
    /// List the figures, tables and listings that make up the whole
    #[arg(long, conflicts_with_all = ["status", "figures"])]
    pub list: bool,
    /// Say of each what the store holds: whether it was run, and which claims hold
    #[arg(long, conflicts_with = "figures")]
    pub status: bool,
    /// Of all, only the i-th of n parts, which take about the same time: for an array of jobs
    #[arg(long, value_name = "I/N", requires = "figures")]
    pub shard: Option<lab::Shard>,
    #[command(flatten)]
    pub how: HowToRun,
}

#[derive(Args)]
pub struct HowToRun {
    /// How large: small (minutes) or paper (as published)
    #[arg(long, default_value = "small")]
    pub scale: String,
    /// A git repository whose history is pulled, or whose tree is made, instead of a made-up one
    #[arg(long, value_name = "REPO")]
    pub repo: Option<PathBuf>,
    /// Take from the store what an earlier run has measured
    #[arg(long)]
    pub resume: bool,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub store: StoreArg,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
