//! Generates man pages and shell completions from the arguments.

use crate::args::Senesce;
use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use std::path::Path;

pub fn man(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    clap_mangen::generate_to(Senesce::command(), dir)
        .with_context(|| format!("writing man pages to {}", dir.display()))
}

pub fn completions(shell: clap_complete::Shell) -> Result<()> {
    clap_complete::generate(shell, &mut Senesce::command(), "senesce", &mut std::io::stdout());
    Ok(())
}
