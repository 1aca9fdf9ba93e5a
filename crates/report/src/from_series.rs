//! Converts agings by a workload with measurements at checkpoints to page data.

use crate::data::Experiment;
use crate::{from_experiment, from_metadata};
use experiment::{Axis, Outcome, Panels, Plot};
use results::measures::{self, Measure};
use results::{Run, Store};
use run::{Error, RoundsResult, VolumeConfig};
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
        plots: PLOTS.map(|(title, label, measure, log)| plot(title, label, measure, log)).to_vec(),
    };
    let mut disks: Vec<&str> = aged.checkpoints.iter().map(|at| at.disk.as_str()).collect();
    disks.sort_unstable();
    disks.dedup();
    let parameter = |name: &str| run.parameters.get(name).map(from_metadata::words);
    let scans = |repeat| format!("{repeat} of each side after each round, every file read from a cold cache");
    let method = [
        ("Workload", parameter("aged_by")),
        ("File system", run.parameters.get("made").and_then(volume)),
        ("Scans", parameter("repeat").map(scans)),
        ("Modelled disks", Some(disks.join(", "))),
    ];
    let mut shown = from_experiment::shown(run, outcome);
    shown.method.extend(method.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
    shown
}

/// Kind, size and options of the file system of a run.
fn volume(made: &serde_json::Value) -> Option<String> {
    let volume: VolumeConfig = serde_json::from_value(made.clone()).ok()?;
    let mut words = vec![volume.fs, input::bytes(volume.size_bytes)];
    let options = [("mkfs", volume.mkfs_opts.join(" ")), ("mount", volume.mount_opts.join(","))];
    words.extend(
        options.into_iter().filter(|(_, of)| !of.is_empty()).map(|(what, of)| format!("{what} options {of}")),
    );
    Some(words.join(", "))
}

/// The figures: title, label of the axis, measure, and whether its axis is logarithmic.
const PLOTS: [(&str, &str, Measure, bool); 6] = [
    ("Aging ratio on modelled disks", "aged over unaged scan cost", measures::AGING_RATIO, false),
    ("Cost of a scan on modelled disks", "scan cost", measures::MODELLED_S_PER_GIB, true),
    ("Layout score of the files", "layout score", measures::LAYOUT_SCORE, false),
    ("Dynamic layout score of a scan", "dynamic layout score", measures::DYNAMIC_LAYOUT_SCORE, false),
    ("Free extents", "number", measures::FREE_EXTENTS, true),
    ("Cost of a scan, measured on this machine", "scan cost", measures::SCAN_S_PER_GIB, true),
];

fn plot(title: &str, label: &str, measure: Measure, log: bool) -> Plot {
    // Ratios, scores and counts are bare numbers.
    let unit = if measure.unit == "s/GiB" { measure.unit } else { "" };
    Plot {
        title: title.to_owned(),
        y: measure.name.to_owned(),
        axis: Axis { label: label.to_owned(), unit: unit.to_owned(), log },
        panels: Panels::Disk,
        note: String::new(),
        published: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::volume;
    use run::{Location, VolumeConfig};

    #[test]
    fn volumes_are_told_without_paths_and_raw_bytes() {
        let mut made = VolumeConfig::new(Location::Image("/dev/shm/a.img".into()), "ext4", 200 << 20);
        made.mkfs_opts = vec!["-O".to_owned(), "^flex_bg".to_owned()];
        let made = serde_json::to_value(made).unwrap();
        assert_eq!(volume(&made).unwrap(), "ext4, 200 MiB, mkfs options -O ^flex_bg");
        assert_eq!(volume(&serde_json::json!({})), None);
    }
}
