//! Comparison of two runs: the measures of both, their differences, and the different conditions.

use crate::Error;
use results::{Difference, Interval, Measurement, Run, Store, difference, median_interval};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The document of an experiment or series that names the runs of its checkpoints.
pub const CHECKPOINTS: &str = "checkpoints";

/// A checkpoint of an experiment or series, and the run that holds its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRun {
    /// Identifies the checkpoint: file system, setting, seed and round.
    pub at: String,
    /// The run, by its name, which is the same in every store.
    pub run: String,
}

/// The comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The measures that both runs have.
    pub measures: Vec<Compared>,
    /// Number of measures that only the first or only the second run has.
    pub alone: [usize; 2],
    /// The conditions that differ: name, and both values.
    pub conditions: Vec<(String, [String; 2])>,
}

/// A measure of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The subject: `aged`, `unaged` or the phase of a benchmark; for experiments prefixed with the checkpoint.
    pub subject: String,
    /// The measure.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// The medians of both runs, with 95 % intervals.
    pub medians: [Interval; 2],
    /// The difference of the second from the first.
    pub difference: Difference,
}

/// A run and the store that holds it.
pub type Stored<'a> = (&'a Store, &'a Run);

/// Compares the second run with the first.
pub fn compare_runs(first: Stored, second: Stored) -> Result<RunComparison, Error> {
    let (of_first, mut of_second) = (numbers(first)?, numbers(second)?);
    let (mut measures, mut alone) = (Vec::new(), [0; 2]);
    for ((subject, measure, unit), values) in of_first {
        let key = (subject, measure, unit);
        let Some(others) = of_second.remove(&key) else {
            alone[0] += 1;
            continue;
        };
        let intervals = median_interval(&values).zip(median_interval(&others));
        if let (Some((a, b)), Some(difference)) = (intervals, difference(&values, &others)) {
            let (subject, measure, unit) = key;
            measures.push(Compared { subject, measure, unit, medians: [a, b], difference });
        }
    }
    alone[1] = of_second.len();
    Ok(RunComparison { measures, alone, conditions: conditions(first.1, second.1) })
}

/// The values of each (subject, measure, unit).
type Numbers = BTreeMap<(String, String, String), Vec<f64>>;

/// The measurements of a run, or of its checkpoints.
fn numbers((store, run): Stored) -> Result<Numbers, Error> {
    let mut found = Numbers::new();
    let mut add = |at: &str, numbers: Vec<Measurement>| {
        for m in numbers {
            let parts = [at, &m.subject].into_iter().filter(|part| !part.is_empty());
            let subject = parts.collect::<Vec<_>>().join(", ");
            found.entry((subject, m.measure, m.unit)).or_default().push(m.value);
        }
    };
    add("", store.measurements(run.id)?);
    for checkpoint in store.document::<Vec<CheckpointRun>>(run.id, "", CHECKPOINTS)?.unwrap_or_default() {
        if let Some(run) = store.by_uid(&checkpoint.run)? {
            add(&checkpoint.at, store.measurements(run.id)?);
        }
    }
    Ok(found)
}

/// The conditions that differ between two runs.
fn conditions(first: &Run, second: &Run) -> Vec<(String, [String; 2])> {
    let of = |run: &Run| {
        let mut found = BTreeMap::new();
        flatten("", &run.parameters, &mut found);
        let machine = serde_json::to_value(&run.machine).expect("plain data");
        flatten("machine", &machine, &mut found);
        let seed = run.seed.map(|seed| seed.to_string());
        let columns = [("kind", &run.kind), ("name", &run.name), ("tool", &run.tool)];
        found.extend(columns.map(|(name, value)| (name.to_owned(), value.clone())));
        found.extend(seed.map(|seed| ("seed".to_owned(), seed)));
        found
    };
    let (first, mut second) = (of(first), of(second));
    let none = || "–".to_owned();
    let mut differing = Vec::new();
    for (name, a) in first {
        let b = second.remove(&name).unwrap_or_else(none);
        if a != b {
            differing.push((name, [a, b]));
        }
    }
    differing.extend(second.into_iter().map(|(name, b)| (name, [none(), b])));
    differing
}

/// The leaves of a JSON value by their paths. A list of leaves counts as one leaf.
fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(&below(name), value, found)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, found));
        }
        Value::Null => {}
        Value::String(text) => drop(found.insert(path.to_owned(), text.clone())),
        other => drop(found.insert(path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{NewRun, RunId, measures};
    use serde_json::json;

    fn begun(store: &Store, parameters: Value) -> RunId {
        store.begin(&NewRun { kind: "compare", name: "it", command: "", seed: Some(1), parameters }).unwrap()
    }

    #[test]
    fn common_measures_are_compared_and_differing_conditions_named() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        let a = begun(&store, json!({ "made": { "fs": "ext4", "size": 1 }, "disks": ["hdd"], "gone": null }));
        let b = begun(&store, json!({ "made": { "fs": "xfs", "size": 1 }, "disks": ["hdd"], "repeat": 6 }));
        for repetition in 1..=6 {
            let cost = repetition as f64 / 100.0;
            store.record(a, &measures::SCAN_S_PER_GIB.measurement("aged", repetition, 1.0 + cost)).unwrap();
            store.record(b, &measures::SCAN_S_PER_GIB.measurement("aged", repetition, 3.0 + cost)).unwrap();
        }
        store.record(a, &measures::FILES.once("", 10.0)).unwrap();
        store.record(b, &measures::FILES.once("", 20.0)).unwrap();
        store.record(b, &measures::EXTENTS.once("", 20.0)).unwrap();
        let runs = store.runs().unwrap();
        let comparison = compare_runs((&store, &runs[0]), (&store, &runs[1])).unwrap();
        let [files, cost] = &comparison.measures[..] else { panic!("{comparison:?}") };
        assert!(!files.difference.can_detect() && files.difference.ratio == Some(2.0));
        assert!(cost.difference.is_significant() && (cost.difference.ratio.unwrap() - 2.93).abs() < 0.01);
        assert_eq!(
            (cost.medians[1].median, cost.subject.as_str(), comparison.alone),
            (3.035, "aged", [0, 1])
        );
        let differing: Vec<_> = comparison
            .conditions
            .iter()
            .map(|(name, [a, b])| (name.as_str(), a.as_str(), b.as_str()))
            .collect();
        assert_eq!(differing, [("made.fs", "ext4", "xfs"), ("repeat", "–", "6")]);
    }

    #[test]
    fn experiments_are_compared_checkpoint_by_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        for value in [1.0, 2.0] {
            let checkpoint = begun(&store, json!({}));
            store.record(checkpoint, &measures::SCAN_S_PER_GIB.once("aged", value)).unwrap();
            let run = store.uid(checkpoint).unwrap();
            let at = |round: u64| CheckpointRun { at: format!("ext4, round {round}"), run: run.clone() };
            let experiment = begun(&store, json!({}));
            store.record_document(experiment, "", CHECKPOINTS, &vec![at(1), at(2)]).unwrap();
        }
        let runs = store.runs().unwrap();
        let comparison = compare_runs((&store, &runs[1]), (&store, &runs[3])).unwrap();
        let subjects: Vec<&str> =
            comparison.measures.iter().map(|measure| measure.subject.as_str()).collect();
        assert_eq!(subjects, ["ext4, round 1, aged", "ext4, round 2, aged"]);
        assert_eq!(comparison.measures[0].difference.ratio, Some(2.0));
        // Merging stores renumbers the runs.
        let both = Store::open(&dir.path().join("both")).unwrap();
        let first = begun(&both, json!({}));
        runs.iter().for_each(|run| store.end(run.id, "done", None).unwrap());
        both.merge(&store).unwrap();
        let merged = both.runs().unwrap();
        assert_eq!(merged[0].id, first);
        assert_eq!(compare_runs((&both, &merged[2]), (&both, &merged[4])).unwrap(), comparison);
    }
}
