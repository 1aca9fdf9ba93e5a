//! `senesce snapshot`.

mod diff;
mod import;
mod stat;
mod take;

use crate::args::SnapshotAction;
use crate::messages::note;
use ::snapshot::{Snapshot, Warning};
use anyhow::{Context as _, Result};
use std::path::Path;

pub fn run(action: &SnapshotAction) -> Result<()> {
    match action {
        SnapshotAction::Take(args) => take::run(args),
        SnapshotAction::Diff { older, newer, list, json } => diff::run(older, newer, *list, *json),
        SnapshotAction::Stat { file, json } => stat::run(file, *json),
        SnapshotAction::Import(args) => import::run(args),
    }
}

/// Reads a snapshot and checks it; returns warnings about missing or uncertain information.
fn load(path: &Path) -> Result<(Snapshot, Vec<Warning>)> {
    let snapshot = Snapshot::load(path)?;
    let warnings = ::snapshot::check(&snapshot).with_context(|| format!("snapshot {}", path.display()))?;
    Ok((snapshot, warnings))
}

/// Prints warnings on standard error.
fn print_warnings(path: &Path, warnings: &[Warning]) {
    for warning in warnings {
        note(&format!("{}: {warning}", path.display()));
    }
}

fn texts(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}
