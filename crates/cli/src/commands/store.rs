//! `senesce store`.

use crate::args::StoreAction;
use crate::output;
use anyhow::{Context as _, Result};
use results::{Merged, StoreAt};

pub fn run(action: &StoreAction) -> Result<()> {
    let StoreAction::Merge { from, into, json } = action;
    let from: Vec<StoreAt> = from.iter().map(|store| StoreAt::named(store)).collect();
    // None is made before all that are taken from are known to be there.
    let stores = from.iter().map(StoreAt::open_there).collect::<Result<Vec<_>, _>>()?;
    let into = StoreAt::named(into).open()?;
    let mut merged = Vec::new();
    for (at, store) in from.iter().zip(&stores) {
        merged.push((at, into.merge(store).with_context(|| format!("merging {at}"))?));
    }
    if *json {
        let row = |(at, Merged { taken, known, unfinished }): &(&StoreAt, Merged)| {
            let store = at.to_string();
            serde_json::json!({ "store": store, "taken": taken, "known": known, "unfinished": unfinished })
        };
        return output::json(&serde_json::json!({ "merged": merged.iter().map(row).collect::<Vec<_>>() }));
    }
    for (at, Merged { taken, known, unfinished }) in merged {
        output::line(&format!(
            "{at}: {taken} runs merged, {known} already present, {unfinished} unfinished and left out"
        ))?;
    }
    Ok(())
}
