//! `senesce report`.

use crate::args::Report;
use anyhow::{Context as _, Result};
use results::StoreLocation;
use std::path::Path;

pub fn run(args: &Report) -> Result<()> {
    write(&args.store.or_of(&args.work), &args.names, &args.output)?;
    eprintln!("wrote {}", args.output.display());
    Ok(())
}

/// Writes the report of a store.
pub fn write(store: &StoreLocation, names: &[String], output: &Path) -> Result<()> {
    let store = store.open_existing()?;
    let page = report::from_store(&store, names, &super::command_line())?;
    std::fs::write(output, report::render(&page)).with_context(|| format!("writing {}", output.display()))
}
