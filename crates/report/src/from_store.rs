//! Builds a page from a result store, which contains every number of the page.

use crate::data::{self, MeasureInfo, OneAging, Page};
use crate::{answer, from_experiment, from_metadata, from_series, from_tree, from_verify, method_rows};
use results::measures::{self, Topic};
use results::{Run, Store};
use run::{Contrast, Differing, Error, Manifest, Matrix, Means, Pair, ProfileResult, Replicates, SUBJECTS};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use workload::Fit;

/// The page with the last complete comparison of each name and the last run of each experiment; of the given
/// names, or of all without names. Agings with measurements at checkpoints are shown like experiments.
pub fn from_store(store: &Store, names: &[String], command: &str) -> Result<Page, Error> {
    let runs = store.runs()?;
    let mut compared = run::last_compared(&runs);
    compared.retain(|run| names.is_empty() || names.contains(&run.name));
    let mut seen: HashSet<&String> = compared.iter().map(|run| &run.name).collect();
    let experiments = from_experiment::latest(&runs, names);
    let series = from_series::latest(store, &runs, names)?;
    let benchmarks = from_metadata::latest(store, &runs, names)?;
    let verified = from_verify::latest(store, &runs, names)?;
    let others = || {
        let measured = series.iter().map(|(run, _)| *run).chain(benchmarks.iter().map(|(run, _)| *run));
        let verified = verified.iter().map(|(run, _)| *run);
        experiments.iter().copied().chain(measured).chain(verified)
    };
    seen.extend(others().map(|run| &run.name));
    if let Some(missing) = names.iter().find(|name| !seen.contains(name)) {
        return Err(Error::Refused(format!(
            "the store has no complete comparison of {missing}; create one with `senesce compare {missing}`"
        )));
    }
    let Some(last) = compared.iter().copied().chain(others()).max_by_key(|run| run.id.0) else {
        return Err(Error::Refused(
            "the store has no complete comparison, experiment or benchmark; create one with `senesce \
             compare`, `senesce reproduce` or `senesce bench`"
                .to_owned(),
        ));
    };
    let pairs = compared.iter().map(|run| Pair::load(store, run)).collect::<Result<Vec<_>, _>>()?;
    let mut conditions = Replicates::group(&pairs);
    distinguish(&mut conditions);
    let comparisons = conditions.iter().map(|of| comparison(store, of)).collect::<Result<Vec<_>, _>>()?;
    let mut shown = experiments
        .iter()
        .map(|run| from_experiment::experiment(store, run))
        .collect::<Result<Vec<_>, _>>()?;
    shown.extend(from_series::all(&series));
    shown.extend(from_metadata::aged_pairs(&benchmarks));
    shown.extend(benchmarks.iter().map(|(run, phases)| from_metadata::metadata(run, phases)));
    shown.extend(verified.iter().map(|(run, verified)| from_verify::verify(run, verified)));
    Ok(Page {
        title: title(&comparisons, &shown),
        made: last.finished.clone().unwrap_or_else(|| last.started.clone()),
        tool: last.tool.clone(),
        measured_by: commands(&runs, &compared, others()),
        drawn_by: command.to_owned(),
        machine: machine(last),
        method: if compared.is_empty() { Vec::new() } else { method(store, &compared)? },
        notes: notes(&comparisons),
        measures: MeasureInfo::of(&comparisons, &shown),
        answer: answer::of(&conditions),
        contrasts: Contrast::of_all(&conditions).into_iter().map(contrast).collect(),
        matrix: Matrix::of(&conditions).filter(Matrix::is_crossed),
        comparisons,
        experiments: shown,
    })
}

/// Adds to names that several conditions share what distinguishes these.
fn distinguish(conditions: &mut [Replicates]) {
    let names: Vec<String> = conditions.iter().map(|of| of.name.clone()).collect();
    for at in 1..conditions.len() {
        let Some(first) = names[..at].iter().position(|name| *name == names[at]) else { continue };
        let differing = conditions[at].condition.differing(&conditions[first].condition);
        let words: Vec<String> = differing.iter().map(Differing::in_words).collect();
        conditions[at].name = format!("{}, {}", names[at], words.join(", "));
    }
}

fn title(comparisons: &[data::Comparison], experiments: &[data::Experiment]) -> String {
    if comparisons.is_empty() {
        let figures: Vec<&str> = experiments.iter().map(|experiment| experiment.figure.as_str()).collect();
        return work(&figures).map_or_else(|| figures.join(", "), str::to_owned);
    }
    let mut kinds: Vec<&str> = Vec::new();
    let mut profiles: Vec<&str> = Vec::new();
    for c in comparisons {
        if !kinds.contains(&c.fs.as_str()) {
            kinds.push(&c.fs);
        }
        if !profiles.contains(&c.profile.as_str()) {
            profiles.push(&c.profile);
        }
    }
    format!("{} aged with {}", kinds.join(", "), profiles.join(", "))
}

/// The publication that all these figures are of, if they are several.
fn work(figures: &[&str]) -> Option<&'static str> {
    let work = ::experiment::work_of(figures.first()?)?;
    let all_of_it = figures.iter().all(|figure| ::experiment::work_of(figure) == Some(work));
    (figures.len() > 1 && all_of_it).then_some(work)
}

fn machine(run: &Run) -> Vec<(String, String)> {
    let m = &run.machine;
    [
        ("Processor", m.cpu.clone()),
        ("Logical processors", m.cpus.to_string()),
        ("Memory", input::bytes(m.memory_bytes)),
        ("Kernel", m.kernel.clone()),
        ("System", m.system.clone()),
        ("Architecture", m.architecture.clone()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// The commands behind the page: those of the agings, of the comparisons and of the experiments, each once.
fn commands<'r>(runs: &'r [Run], compared: &[&'r Run], others: impl Iterator<Item = &'r Run>) -> Vec<String> {
    let aged = compared.iter().filter_map(|run| run.parameters.get("aged_run")?.as_i64());
    let aged: HashSet<i64> = aged.collect();
    let mut of: Vec<&Run> = runs.iter().filter(|run| aged.contains(&run.id.0)).collect();
    of.extend(compared.iter().copied().chain(others));
    of.sort_by_key(|run| run.id.0);
    let mut seen = HashSet::new();
    of.into_iter().map(|run| run.command.clone()).filter(|command| seen.insert(command.clone())).collect()
}

/// A description of the scan, which may differ between the comparisons of a page.
fn scan(run: &Run) -> String {
    let parameter =
        |name: &str| run.parameters.get(name).map_or_else(String::new, |v| v.to_string().replace('"', ""));
    format!(
        "{} reader, every file from a cold cache, {} repetitions for each aging, on alternating sides; GiB are \
         allocated bytes",
        parameter("reader"),
        parameter("repeat")
    )
}

fn method(store: &Store, compared: &[&Run]) -> Result<Vec<(String, String)>, Error> {
    let hdd = disk::Model::find(run::HDD_MODEL)?;
    let mut rows = vec![
        ("Unaged".to_owned(), "the same tree, copied in directory order to a fresh file system of the same kind, size and options".to_owned()),
        ("Interval".to_owned(), "95 % of Student's t over the agings, which differ in their seeds; for costs and ratios over their logarithms. Repeated scans of one aging are averaged".to_owned()),
        ("Modelled disk".to_owned(), format!("{}: {}. It receives the same requests as the scan; it is a model, not a measurement. `senesce disk show {}` prints its parameters", hdd.name(), hdd.title(), hdd.name())),
        ("Dynamic layout score".to_owned(), "share of 4 KiB blocks that are read directly after their predecessor, over the read requests that reached the device".to_owned()),
        ("Fit".to_owned(), "root-mean-square error of shares by bin; p-value: the minimum of the chi-square tests of age, size and depth".to_owned()),
    ];
    let mut each = Vec::new();
    for run in compared {
        each.push((run.name.as_str(), "Scan".to_owned(), scan(run)));
        for subject in SUBJECTS {
            if let Some(cold) = store.document::<Vec<String>>(run.id, subject, "chilled")? {
                each.push((
                    run.name.as_str(),
                    format!("Cold cache ({subject})"),
                    without_names(&cold.join("; "), &run.name),
                ));
            }
        }
    }
    rows.extend(method_rows::merged(each));
    Ok(rows)
}

/// The text without the name of the comparison in names of files, and without the numbers of loop devices: they differ between comparisons and
/// tell readers nothing.
fn without_names(text: &str, name: &str) -> String {
    let mut parts = text.split("/dev/loop");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += "/dev/loop…";
        plain += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    plain.replace(&format!("/{name}."), "/NAME.")
}

fn notes(comparisons: &[data::Comparison]) -> Vec<String> {
    let mut notes = Vec::new();
    if comparisons.iter().any(|c| c.measured.is_some()) {
        notes.push(
            "Wall time on an image in memory or on a virtual disk hardly shows the cost of layout on a real \
             disk, as there are no seeks. Compare the measured ratio with the modelled one."
                .to_owned(),
        );
    }
    for c in comparisons {
        // The file system of a store may be one that this version does not support.
        let note = fs::find(&c.fs).ok().and_then(|kind| kind.layout_note());
        notes.extend(note.map(|note| format!("{}: {note}.", c.name)));
    }
    notes
}

/// The page data of the comparisons under one condition, finished or running.
pub fn comparison(store: &Store, of: &Replicates) -> Result<data::Comparison, Error> {
    let first = of.pairs.first().expect("a group has a comparison").run;
    let missing = |what: &str| Error::Refused(format!("run {} in the store has no {what}", first.0));
    let manifest: Manifest = store.document(first, "", "manifest")?.ok_or_else(|| missing("manifest"))?;
    // A workload has no target profile, so there is no fit to report.
    let aged: Option<ProfileResult> = store.document(first, "", "aged")?;
    let free_bytes = of.means(&measures::FREE_BYTES).and_then(|free| free.aged).map(|free| free.mean);
    let used = free_bytes.map(|free| 1.0 - free / manifest.volume.size_bytes as f64);
    let costs = measures::of_topic(Topic::Cost);
    let ratios = costs.filter_map(|cost| Some((cost.name.to_owned(), of.means(cost)?.ratio?)));
    let mut comparison = data::Comparison {
        name: of.name.clone(),
        fs: manifest.volume.fs.clone(),
        fs_version: manifest.fs_version.clone(),
        mkfs: manifest.mkfs.clone().unwrap_or_else(|| "none: an existing directory".to_owned()),
        size_bytes: manifest.volume.size_bytes,
        profile: manifest.source().to_owned(),
        fullness: manifest.conditions().map(|conditions| conditions.fullness).or(used),
        agings: of.pairs.iter().map(one_aging).collect(),
        aged: side(store, of, SUBJECTS[0])?,
        unaged: side(store, of, SUBJECTS[1])?,
        modelled: of.modelled.clone(),
        measured: of.measured.clone(),
        ratios: ratios.collect(),
        modelled_disk: of.modelled_disk().to_owned(),
        aging: aged.as_ref().map(aging).unwrap_or_default(),
    };
    // Another measure already shows the 7200 rpm disk.
    if comparison.modelled_disk == run::HDD_MODEL
        && comparison.ratios.contains_key(measures::MODELLED_HDD_S_PER_GIB.name)
    {
        for values in [&mut comparison.aged.values, &mut comparison.unaged.values, &mut comparison.ratios] {
            values.remove(measures::MODELLED_S_PER_GIB.name);
        }
    }
    Ok(comparison)
}

fn one_aging(pair: &Pair) -> OneAging {
    let values = |side: &run::Side| {
        side.values.iter().filter_map(|(name, value)| Some((name.clone(), (*value)?))).collect()
    };
    let ratio = |cost: &results::Measure| Some((cost.name.to_owned(), pair.ratio(cost)?));
    OneAging {
        seed: pair.seed,
        aged: values(&pair.aged),
        unaged: values(&pair.unaged),
        ratios: measures::of_topic(Topic::Cost).filter_map(ratio).collect(),
    }
}

fn contrast(contrast: Contrast) -> data::Contrast {
    let differing = contrast.differing_in_words();
    let Contrast { name, against, aged, unaged, .. } = contrast;
    data::Contrast { name, against, differing, aged, unaged }
}

/// A side: the values of all agings, and the documents of the first.
fn side(store: &Store, of: &Replicates, subject: &str) -> Result<data::Side, Error> {
    let mut raw = Vec::new();
    for pair in &of.pairs {
        let numbers = run::compared_numbers(store, pair.run)?;
        let own = numbers.into_iter().filter(|number| number.subject == subject);
        raw.extend(own.map(|number| measurement(pair.seed, number)));
    }
    let first = of.pairs[0].run;
    let layout: serde_json::Value = store.document(first, subject, "static_layout")?.unwrap_or_default();
    let free: serde_json::Value = store.document(first, subject, "free_space")?.unwrap_or_default();
    let mean = |means: &Means| if subject == SUBJECTS[0] { means.aged } else { means.unaged };
    let values = of.measures.iter().filter_map(|means| Some((means.measure.clone(), mean(means)?)));
    Ok(data::Side {
        values: values.collect(),
        free_histogram: part(&free, "histogram"),
        by_size: part(&layout, "by_size"),
        tree: run::tree_layout(store, first, subject)?.map(from_tree::tree),
        block_map: part(&layout, "block_map"),
        mapped_files: layout.get("files_with_blocks").and_then(serde_json::Value::as_u64),
        raw,
    })
}

/// A list in a document; empty if missing.
fn part<T: DeserializeOwned>(document: &serde_json::Value, name: &str) -> Vec<T> {
    document.get(name).and_then(|list| serde_json::from_value(list.clone()).ok()).unwrap_or_default()
}

fn measurement(seed: u64, m: results::Measurement) -> data::Measurement {
    data::Measurement { seed, measure: m.measure, unit: m.unit, repetition: m.repetition, value: m.value }
}

fn aging(aged: &ProfileResult) -> data::Aging {
    let stopped_by = serde_json::to_value(aged.stopped_by).ok();
    data::Aging {
        values: aged.values().map(|(measure, value)| (measure.name.to_owned(), value)).into(),
        stopped_by: stopped_by.and_then(|s| s.as_str().map(str::to_owned)).unwrap_or_default(),
        age: fit(&aged.reached.age, age),
        size: fit(&aged.reached.size, size),
        depth: fit(&aged.reached.depth, str::to_owned),
    }
}

/// The label of a bin of ages, of which the end is a share of all operations.
fn age(end: &str) -> String {
    end.parse().map_or_else(|_| end.to_owned(), |share: f64| format!("≤ {} %", (1e4 * share).round() / 100.0))
}

/// The label of a bin of sizes, of which the end is in bytes.
fn size(end: &str) -> String {
    end.parse().map_or_else(|_| end.to_owned(), |size| format!("≤ {}", input::bytes(size)))
}

fn fit(fit: &Fit, label: fn(&str) -> String) -> Vec<data::FitBin> {
    let bins = fit.label.iter().zip(&fit.target).enumerate();
    bins.map(|(i, (end, &target))| data::FitBin { label: label(end), target, reached: fit.actual_share(i) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{age, size, without_names};

    #[test]
    fn equal_devices_and_images_read_alike() {
        let text = |name: &str, device: u32| {
            without_names(&format!("dropped /dev/loop{device}; /a/{name}.img is in memory"), name)
        };
        assert_eq!(text("ext4-42", 0), "dropped /dev/loop…; /a/NAME.img is in memory");
        assert_eq!(text("ext4-42", 0), text("xfs-7", 12));
        assert_eq!(text("a", 0), text("m", 0));
    }

    #[test]
    fn bins_have_human_labels() {
        assert_eq!((age("0.1286"), size("8388608")), ("≤ 12.86 %".to_owned(), "≤ 8 MiB".to_owned()));
        assert_eq!((age("old"), size("large")), ("old".to_owned(), "large".to_owned()));
    }
}
