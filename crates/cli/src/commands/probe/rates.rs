//! Table cells for the rates of file benchmarks, and the subject of such a benchmark.

use crate::args::OnFiles;
use crate::commands::aged;
use crate::output::{self, number};
use anyhow::{Context as _, Result};
use results::MeanAndDeviation;
use run::{Rates, Ratios, Subject};

const MIB: f64 = (1u64 << 20) as f64;

/// The headings of the cells of [`row`]; `disk` is the model of the modelled rate.
pub fn headings(disk: &str) -> [String; 3] {
    [format!("MiB/s, modelled {disk}"), "MiB/s, clock of this disk".to_owned(), "MiB/s, wall".to_owned()]
}

/// Formats means with their standard deviations.
pub fn row(rates: &Rates) -> [String; 3] {
    [rates.modelled, rates.disk_clock, rates.wall].map(rate)
}

fn rate(rate: Option<MeanAndDeviation>) -> String {
    let mean = output::rate(rate.map(|rate| rate.mean / MIB));
    match rate.and_then(|rate| rate.deviation) {
        Some(deviation) => format!("{mean} ± {}", output::rate(Some(deviation / MIB))),
        None => mean,
    }
}

/// Formats the ratios of aged to unaged, for the columns of [`headings`].
pub fn ratios(ratios: &Ratios) -> [String; 3] {
    [ratios.modelled, None, ratios.wall].map(number)
}

/// The subject of the benchmark: the aged file system of --on, or a path.
pub fn subject(args: &OnFiles) -> Result<Subject> {
    if let Some(image) = &args.on {
        let (work, name) = aged::locate(args.work.as_deref(), image)?;
        return Ok(Subject::Aged { work, name });
    }
    let path = args.path.clone().context("name a directory, image, device or modelled disk")?;
    Ok(Subject::Alone { path, work: args.work.clone() })
}
