//! Arguments of `senesce run`, `senesce reproduce` and `senesce referee`.

use super::{StoreArg, Work};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct Run {
    /// Experiment (TOML file)
    pub experiment: PathBuf,
    #[command(flatten)]
    pub how: HowToRun,
}

#[derive(Args)]
pub struct Reproduce {
    /// Figures and tables, such as fast17-fig5, or `all` [default: list them]
    pub figures: Vec<String>,
    /// List all figures, tables and listings
    #[arg(long, conflicts_with_all = ["status", "figures"])]
    pub list: bool,
    /// Show the status and verdict of each figure
    #[arg(long, conflicts_with = "figures")]
    pub status: bool,
    /// Show every published claim with its verdict
    #[arg(long, conflicts_with_all = ["status", "list", "figures"])]
    pub claims: bool,
    /// Print the status or the claims as Markdown tables
    #[arg(long, conflicts_with_all = ["json", "list", "figures"])]
    pub markdown: bool,
    /// Run only part I of N parts of about equal run time, for job arrays
    #[arg(long, value_name = "I/N", requires = "figures")]
    pub shard: Option<experiment::Shard>,
    #[command(flatten)]
    pub how: HowToRun,
}

#[derive(Args)]
pub struct Referee {
    /// Pulls of the history; real disks were measured after 10,000 and fewer
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub pulls: u64,
    /// Commits that the first pull brings along, for a history that begins with a small tree
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub skip: u64,
    #[command(flatten)]
    pub how: HowToRun,
}

#[derive(Args)]
pub struct HowToRun {
    /// Scale: small (minutes) or paper (as published)
    #[arg(long, default_value = "small")]
    pub scale: String,
    /// Git repository for the workloads: a path, or a URL, which is cloned once [default: a synthetic one]
    #[arg(long, value_name = "REPO")]
    pub repo: Option<PathBuf>,
    /// Agings of each setting, with consecutive seeds [default: as in the experiment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub agings: Option<u64>,
    /// Measure only these file systems [default: all]
    ///
    /// What the store holds of the others is read from it.
    #[arg(long, value_name = "FS", value_delimiter = ',')]
    pub fs: Vec<String>,
    /// Reuse the results of an earlier, interrupted run
    #[arg(long)]
    pub resume: bool,
    /// Directory for images [default: memory, or the work directory]
    #[arg(long, value_name = "DIR")]
    pub image_dir: Option<PathBuf>,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub store: StoreArg,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
