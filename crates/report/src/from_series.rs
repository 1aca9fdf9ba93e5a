//! Converts agings by a workload with measurements at checkpoints to page data.

use crate::data::Experiment;
use crate::{from_experiment, method_rows};
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

/// The page data of all series. Those that differ in the file system alone are shown together.
pub fn all(series: &[(&Run, RoundsResult)]) -> Vec<Experiment> {
    let mut groups: Vec<Vec<&(&Run, RoundsResult)>> = Vec::new();
    for one in series {
        let fits = |group: &&mut Vec<&(&Run, RoundsResult)>| {
            workload(group[0].0) == workload(one.0) && group.iter().all(|other| other.1.fs != one.1.fs)
        };
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.iter().map(|group| together(group)).collect()
}

/// What a series depends on, apart from the file system.
fn workload(run: &Run) -> serde_json::Value {
    let mut parameters = run.parameters.clone();
    if let Some(made) = parameters.get_mut("made") {
        *made = made.get("size_bytes").cloned().unwrap_or_default();
    }
    parameters
}

/// One experiment with the lines of all series of a group.
fn together(group: &[&(&Run, RoundsResult)]) -> Experiment {
    let mut each = group.iter().map(|(run, aged)| series(run, aged));
    let mut all = each.next().expect("a group has a series");
    let names: Vec<&str> = group.iter().map(|(_, aged)| aged.name.as_str()).collect();
    let kinds: Vec<&str> = group.iter().map(|(_, aged)| aged.fs.as_str()).collect();
    let mut methods = vec![std::mem::take(&mut all.method)];
    for one in each {
        for plot in one.plots {
            match all.plots.iter_mut().find(|other| other.title == plot.title) {
                Some(other) => other.lines.extend(plot.lines),
                None => all.plots.push(plot),
            }
        }
        all.trees.extend(one.trees);
        methods.push(one.method);
    }
    let rows = methods.into_iter().zip(&names).flat_map(|(method, name)| {
        method.into_iter().map(|(title, text)| (*name, title, text)).collect::<Vec<_>>()
    });
    all.method = method_rows::merged(rows.collect());
    all.figure = names.join(", ");
    all.title = format!("{} aged by {}", kinds.join(", "), group[0].1.workload);
    all
}

/// The page data of a series.
pub fn series(run: &Run, aged: &RoundsResult) -> Experiment {
    let outcome = Outcome {
        figure: aged.name.clone(),
        title: format!("{} aged by {}", aged.fs, aged.workload),
        source: String::new(),
        scale: "series".to_owned(),
        differs: Vec::new(),
        claims: Vec::new(),
        verdict: None,
        correlations: Vec::new(),
        checkpoints: aged.checkpoints.clone(),
        pairs: aged.pairs.clone(),
        trees: aged.trees.clone(),
        pictures: Vec::new(),
        failed: Vec::new(),
        left_out: Vec::new(),
        round: Axis { label: "round".to_owned(), unit: String::new(), log: false },
        plots: PLOTS.map(|(title, label, measure, log)| plot(title, label, measure, log)).to_vec(),
    };
    let mut disks: Vec<&str> = aged.checkpoints.iter().map(|at| at.disk.as_str()).collect();
    disks.sort_unstable();
    disks.dedup();
    let parameter = |name: &str| run.parameters.get(name).map(method_rows::words);
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
        sides: Vec::new(),
        note: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{NewRun, RunId};
    use run::Location;
    use run::checkpoint::CheckpointSide;
    use serde_json::json;

    fn aged(name: &str, fs: &str) -> RoundsResult {
        let at = json!({ "fs": fs, "disk": "hdd-7200", "option": "", "seed": 1, "round": 5, "side": "aged", "layout_score": 0.5 });
        let checkpoints = vec![serde_json::from_value::<CheckpointSide>(at).unwrap()];
        let [name, fs, workload] = [name, fs, "git"].map(str::to_owned);
        RoundsResult {
            name,
            fs,
            workload,
            seed: 1,
            round: 5,
            checkpoints,
            pairs: Vec::new(),
            trees: Vec::new(),
            checker_clean: None,
        }
    }

    #[test]
    fn series_that_differ_in_the_file_system_alone_share_their_plots() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("senesce.db")).unwrap();
        let made = |fs: &str, size: u64| {
            let volume = VolumeConfig::new(Location::Image(format!("{fs}.img").into()), fs, size);
            let parameters = json!({ "made": volume, "aged_by": "git" });
            store
                .begin(&NewRun { kind: "age", name: fs, command: "senesce age", seed: None, parameters })
                .unwrap()
        };
        let ids: Vec<RunId> =
            [("ext4", 1 << 30), ("xfs", 1 << 30), ("btrfs", 1 << 31)].map(|(fs, size)| made(fs, size)).into();
        let runs = store.runs().unwrap();
        let of = |at: usize, fs: &str| {
            (runs.iter().find(|run| run.id == ids[at]).unwrap(), aged(&format!("on-{fs}"), fs))
        };
        let shown = all(&[of(0, "ext4"), of(1, "xfs"), of(2, "btrfs")]);
        let titles: Vec<&str> = shown.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["ext4, xfs aged by git", "btrfs aged by git"]);
        assert_eq!(shown[0].figure, "on-ext4, on-xfs");
        let [plot] = &shown[0].plots[..] else { panic!("one measure was taken: {:?}", shown[0].plots) };
        let kinds: Vec<&str> = plot.lines.iter().map(|line| line.fs.as_str()).collect();
        assert_eq!(kinds, ["ext4", "xfs"]);
        let volumes: Vec<_> =
            shown[0].method.iter().filter(|(name, _)| name.starts_with("File system")).collect();
        assert_eq!(volumes[1], &("File system, on-xfs".to_owned(), "xfs, 1 GiB".to_owned()));
    }

    #[test]
    fn volumes_are_told_without_paths_and_raw_bytes() {
        let mut made = VolumeConfig::new(Location::Image("/dev/shm/a.img".into()), "ext4", 200 << 20);
        made.mkfs_opts = vec!["-O".to_owned(), "^flex_bg".to_owned()];
        let made = serde_json::to_value(made).unwrap();
        assert_eq!(volume(&made).unwrap(), "ext4, 200 MiB, mkfs options -O ^flex_bg");
        assert_eq!(volume(&serde_json::json!({})), None);
    }
}
