//! `senesce snapshot`.

mod diff;
mod import;
mod stat;
mod take;

use crate::args::SnapshotAction;
use ::snapshot::{Doubt, Snapshot};
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

/// Reads a snapshot and checks it for doubts: missing or uncertain information.
fn load(path: &Path) -> Result<(Snapshot, Vec<Doubt>)> {
    let snapshot = Snapshot::load(path)?;
    let doubts = ::snapshot::check(&snapshot).with_context(|| format!("snapshot {}", path.display()))?;
    Ok((snapshot, doubts))
}

/// Prints doubts on standard error.
fn print_doubts(path: &Path, doubts: &[Doubt]) {
    for doubt in doubts {
        eprintln!("{}: {doubt}", path.display());
    }
}

fn texts(doubts: &[Doubt]) -> Vec<String> {
    doubts.iter().map(ToString::to_string).collect()
}
