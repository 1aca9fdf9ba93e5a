//! `senesce disk models`, `show` and `check`.

use crate::output::{self, number, rate};
use anyhow::{Context as _, Result};
use disk::Model;
use disk::model::transfer_curve;
use serde::Serialize;
use std::path::Path;

/// A model in a list.
#[derive(Serialize)]
struct Summary {
    name: String,
    title: String,
    source: String,
}

impl Summary {
    fn of(model: &Model) -> Summary {
        let [name, title, source] = [model.name(), model.title(), model.source()].map(str::to_owned);
        Summary { name, title, source }
    }
}

pub fn list(json: bool) -> Result<()> {
    let summaries: Vec<_> = Model::builtin().map(|model| Summary::of(&model)).collect();
    if json {
        return output::json(&summaries);
    }
    output::table(&["model", "what"], summaries.into_iter().map(|model| vec![model.name, model.title]))
}

pub fn show(name: &str, json: bool) -> Result<()> {
    let model = Model::find(name)?;
    if json { output::json(&model) } else { output::line(model.to_toml().trim_end()) }
}

/// Read sizes of the curve: 4 KiB to 64 MiB, as in figure 1 of Conway et al. 2017.
fn sizes(disk_bytes: u64) -> Vec<u64> {
    (12..=26).map(|power| 1 << power).filter(|size| *size <= disk_bytes).collect()
}

pub fn curve(name: &str, size_bytes: u64, seed: u64, json: bool) -> Result<()> {
    let model = Model::find(name)?;
    let curve = transfer_curve(&model, size_bytes, &sizes(size_bytes), seed);
    if json {
        return output::json(&serde_json::json!({
            "model": model.name(), "size_bytes": size_bytes, "seed": seed, "curve": curve,
        }));
    }
    output::table(
        &["read size", "MB/s", "share of the best"],
        curve.points.iter().map(|point| {
            let share = point.bytes_per_s / curve.best_bytes_per_s;
            let size = input::bytes(point.read_bytes);
            vec![
                size,
                rate(Some(point.bytes_per_s / 1e6)),
                number(Some(share).filter(|share| share.is_finite())),
            ]
        }),
    )?;
    let natural = |size: Option<u64>| size.map_or("–".to_owned(), input::bytes);
    output::line(&format!(
        "best {} MB/s; natural transfer size {} (50 %), {} (90 %)",
        rate(Some(curve.best_bytes_per_s / 1e6)),
        natural(curve.natural_50_bytes),
        natural(curve.natural_90_bytes),
    ))
}

pub fn check(file: &Path, json: bool) -> Result<()> {
    let text = input::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let summary = Summary::of(&Model::parse(&text, file)?);
    if json {
        return output::json(&summary);
    }
    output::line(&format!("{}: a device model: {}", summary.name, summary.title))
}
