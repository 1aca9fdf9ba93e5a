//! `senesce report`.

use crate::args::Report;
use crate::messages::note;
use crate::output;
use anyhow::{Context as _, Result};
use results::StoreLocation;
use std::path::Path;

pub fn run(args: &Report) -> Result<()> {
    let store = args.store.or_of(&args.work);
    write(&store, &args.names, &args.output)?;
    if args.json {
        return output::json(&serde_json::json!({ "report": args.output, "store": store.to_string() }));
    }
    note(&format!("wrote {}", args.output.display()));
    Ok(())
}

/// Writes the report of a store.
pub fn write(store: &StoreLocation, names: &[String], output: &Path) -> Result<()> {
    let store = store.open_existing()?;
    let page = report::from_store(&store, names, &super::command_line())?;
    std::fs::write(output, report::render(&page)).with_context(|| format!("writing {}", output.display()))
}
