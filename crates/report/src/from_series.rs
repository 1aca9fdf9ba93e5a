//! Converts agings by a workload with measurements at checkpoints to page data.

use crate::data::Experiment;
use crate::from_experiment;
use experiment::{Axis, Outcome, Panels, Plot};
use results::measures::{self, Measure};
use results::{Run, Store};
use run::{Error, RoundsResult};
use std::collections::HashSet;

/// The last complete series of each name; of the given names, or of all without names.
pub fn latest<'r>(
    store: &Store,
    runs: &'r [Run],
    names: &[String],
) -> Result<Vec<(&'r Run, RoundsResult)>, Error> {
    let wanted = |run: &&Run| {
        run.kind == "age" && run.state == "done" && (names.is_empty() || names.contains(&run.name))
    };
    let mut seen = HashSet::new();
    let mut latest = Vec::new();
    for run in runs.iter().rev().filter(wanted).filter(|run| seen.insert(&run.name)) {
        let aged: Option<RoundsResult> = store.document(run.id, "", "outcome")?;
        // A run without measurements at checkpoints is shown only by its comparison.
        latest.extend(aged.filter(|aged| !aged.checkpoints.is_empty()).map(|aged| (run, aged)));
    }
    latest.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    Ok(latest)
}

/// The page data of a series.
pub fn series(run: &Run, aged: &RoundsResult) -> Experiment {
    let outcome = Outcome {
        figure: aged.name.clone(),
        title: format!("{} aged by {}", aged.fs, aged.workload),
        source: String::new(),
        scale: "series".to_owned(),
        checks: Vec::new(),
        trend: None,
        correlations: Vec::new(),
        checkpoints: aged.checkpoints.clone(),
        pairs: aged.pairs.clone(),
        trees: aged.trees.clone(),
        pictures: Vec::new(),
        failed: Vec::new(),
        round: Axis { label: "round".to_owned(), unit: String::new(), log: false },
        plots: PLOTS.map(|(title, measure, log)| plot(title, measure, log)).to_vec(),
    };
    let parameter = |name: &str| run.parameters.get(name).map_or_else(String::new, ToString::to_string);
    let mut disks: Vec<&str> = aged.checkpoints.iter().map(|at| at.disk.as_str()).collect();
    disks.sort_unstable();
    disks.dedup();
    let method = [
        ("Workload", parameter("aged_by")),
        ("File system", parameter("made")),
        (
            "Scans",
            format!(
                "{} of each side after each round, every file read from a cold cache",
                parameter("repeat")
            ),
        ),
        ("Modelled disks", disks.join(", ")),
    ];
    let mut shown = from_experiment::shown(run, outcome);
    shown.method.extend(method.map(|(name, text)| (name.to_owned(), text)));
    shown
}

/// The figures: title, measure, and whether its axis is logarithmic.
const PLOTS: [(&str, Measure, bool); 4] = [
    ("Cost of a scan on modelled disks", measures::MODELLED_S_PER_GIB, true),
    ("Aging ratio on modelled disks", measures::AGING_RATIO, false),
    ("Dynamic layout score", measures::DYNAMIC_LAYOUT_SCORE, false),
    ("Cost of a scan, measured on this machine", measures::SCAN_S_PER_GIB, true),
];

fn plot(title: &str, measure: Measure, log: bool) -> Plot {
    // Costs have a unit; ratios and shares are bare numbers.
    let unit = if log { measure.unit } else { "" };
    Plot {
        title: title.to_owned(),
        y: measure.name.to_owned(),
        axis: Axis { label: measure.name.replace('_', " "), unit: unit.to_owned(), log },
        panels: Panels::Disk,
        note: String::new(),
    }
}
