//! `senesce store`.

use crate::args::StoreAction;
use crate::output;
use anyhow::{Context as _, Result};
use results::measures::{Better, MEASURES};
use results::{MergeCounts, StoreLocation};

pub fn run(action: &StoreAction) -> Result<()> {
    match action {
        StoreAction::Merge { from, into, json } => merge(from, into, *json),
        StoreAction::Measures { json: true, .. } => output::json(&MEASURES),
        StoreAction::Measures { markdown, .. } => measures(*markdown),
    }
}

fn merge(from: &[String], into: &str, json: bool) -> Result<()> {
    let from: Vec<StoreLocation> = from.iter().map(|store| StoreLocation::parse(store)).collect();
    // Opens all sources first, so that a missing one fails before the target is created.
    let stores = from.iter().map(StoreLocation::open_existing).collect::<Result<Vec<_>, _>>()?;
    let into = StoreLocation::parse(into);
    if let StoreLocation::File(path) = &into
        && let Some(dir) = path.parent()
    {
        std::fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    }
    let into = into.open()?;
    let mut merged = Vec::new();
    for (at, store) in from.iter().zip(&stores) {
        merged.push((at, into.merge(store).with_context(|| format!("merging {at}"))?));
    }
    if json {
        let row = |(at, MergeCounts { copied, unchanged, unfinished }): &(&StoreLocation, MergeCounts)| {
            let store = at.to_string();
            serde_json::json!({ "store": store, "taken": copied, "known": unchanged, "unfinished": unfinished })
        };
        return output::json(&serde_json::json!({ "merged": merged.iter().map(row).collect::<Vec<_>>() }));
    }
    for (at, MergeCounts { copied, unchanged, unfinished }) in merged {
        output::line(&format!(
            "{at}: {copied} runs merged, {unchanged} already present, {unfinished} unfinished and left out"
        ))?;
    }
    Ok(())
}

fn measures(markdown: bool) -> Result<()> {
    let rows = MEASURES.iter().map(|measure| {
        let better = match measure.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "–",
        };
        let name = if markdown { format!("`{}`", measure.name) } else { measure.name.to_owned() };
        vec![name, measure.unit.to_owned(), better.to_owned(), measure.doc.to_owned()]
    });
    let headings = ["measure", "unit", "better", "definition"];
    if markdown { output::markdown(&headings, rows) } else { output::table(&headings, rows) }
}
