//! `senesce report`.

use crate::args::Report;
use anyhow::{Context as _, Result};
use std::path::Path;

pub fn run(args: &Report) -> Result<()> {
    write(&args.work.work, &args.names, &args.output)?;
    eprintln!("wrote {}", args.output.display());
    Ok(())
}

/// Writes the page of what the store of `work` holds.
pub fn write(work: &Path, names: &[String], output: &Path) -> Result<()> {
    let store = super::export::open(work)?;
    let page = report::from_store(&store, names, &super::command_line())?;
    std::fs::write(output, report::render(&page)).with_context(|| format!("writing {}", output.display()))
}
