//! The causes of the cost of a scan.

use super::models::Models;
use crate::output::{self, number};
use ::probe::Causes;
use anyhow::{Context as _, Result, bail};
use fs::Target;
use run::scanned::{Scanned, costs_of, per_gib};
use serde::Serialize;
use std::collections::BTreeMap;

/// The causes on one model.
#[derive(Serialize)]
pub struct OnModel {
    #[serde(flatten)]
    causes: Causes,
    /// Bytes that costs per GiB are divided by.
    allocated_bytes: u64,
}

/// The causes of the cost of a scan on each model, by name.
pub fn of(
    scanned: &Scanned,
    open: &dyn Target,
    models: &Models,
    disk_bytes: Option<u64>,
) -> Result<BTreeMap<String, OnModel>> {
    let here = || format!("telling the causes apart in {}", open.root().display());
    let disk_bytes = disk_bytes.context("the size of its disk is not known").with_context(here)?;
    let places = match scanned.places(open)? {
        Ok(places) => places,
        Err(why) => return Err(anyhow::anyhow!(why)).with_context(here),
    };
    let mut found = BTreeMap::new();
    for model in models.iter() {
        let Some(causes) = scanned.causes(&places, model, disk_bytes) else {
            bail!("{}: none of the requests read a file where its extent map says", here());
        };
        let allocated_bytes = scanned.scan.allocated_bytes;
        found.insert(model.name().to_owned(), OnModel { causes, allocated_bytes });
    }
    Ok(found)
}

/// Prints a table for each model.
pub fn show(all: &BTreeMap<String, OnModel>) -> Result<()> {
    for (model, OnModel { causes, allocated_bytes }) in all {
        let title = format!("modelled {model}");
        output::table(
            &[&title, "s/GiB", "less"],
            costs_of(causes).into_iter().map(|(measure, seconds)| {
                let less = 1.0 - seconds / causes.total_s;
                vec![
                    measure.label.to_owned(),
                    number(Some(per_gib(seconds, *allocated_bytes))),
                    format!("{:.0} %", 100.0 * less),
                ]
            }),
        )?;
    }
    Ok(())
}
