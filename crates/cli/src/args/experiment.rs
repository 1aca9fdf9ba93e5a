//! What `senesce run` and `senesce reproduce` take.

use super::Work;
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
    /// Figures of the literature, such as fast17-fig5 [default: list them]
    pub figures: Vec<String>,
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
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
