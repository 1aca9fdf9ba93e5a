//! Comparison of two runs: the measures of both, their differences, and the different conditions.

use crate::Error;
use crate::compare::{Condition, Identity, KIND as COMPARE, compared_numbers};
use crate::facts::flatten;
use results::measures::{self, Better};
use results::{Estimate, Measurement, Run, RunId, Sample, Store, Told, Verdict, Words, median_interval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The document of an experiment or series that names the runs of its checkpoints.
pub const CHECKPOINTS: &str = "checkpoints";

/// A checkpoint of an experiment or series, and the run that holds its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointRun {
    /// Identifies the checkpoint: file system, setting and round.
    pub at: String,
    /// The seed. Earlier versions had it in [`CheckpointRun::at`].
    #[serde(default)]
    pub seed: Option<u64>,
    /// The run, by its name, which is the same in every store.
    pub run: String,
}

/// The comparison of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunComparison {
    /// The measures that both runs have: first those that differ, the largest difference first.
    pub measures: Vec<Compared>,
    /// Number of measures that only the first or only the second run has.
    pub alone: [usize; 2],
    /// The conditions that differ: name, and both values.
    pub conditions: Vec<(String, [String; 2])>,
    /// What the values are of: `aging` or, for a benchmark, `repetition`.
    pub evidence: &'static str,
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
    /// The means of both runs.
    pub means: [Estimate; 2],
    /// The ratio of the second to the first; `None` if a value is not positive.
    pub ratio: Option<Estimate>,
    /// The verdict on the ratio.
    pub verdict: Option<Verdict>,
}

/// A run and the store that holds it.
pub type Stored<'a> = (&'a Store, &'a Run);

/// Compares the second run with the first. Comparisons of agings stand for all comparisons under their conditions.
pub fn compare_runs(first: Stored, second: Stored) -> Result<RunComparison, Error> {
    let (of_first, mut of_second) = (Samples::of(first)?, Samples::of(second)?);
    let evidence = if of_first.of_agings && of_second.of_agings { "aging" } else { "repetition" };
    let (mut measures, mut alone) = (Vec::new(), [0; 2]);
    for ((subject, measure, unit), sample) in of_first.samples {
        let key = (subject, measure, unit);
        let Some(other) = of_second.samples.remove(&key) else {
            alone[0] += 1;
            continue;
        };
        let means = Estimate::arithmetic(&sample.values).zip(Estimate::arithmetic(&other.values));
        if let Some((a, b)) = means {
            let (subject, measure, unit) = key;
            let ratio = other.ratio_to(&sample);
            let words = words(&measure, evidence);
            let verdict = ratio.as_ref().map(|ratio| Verdict::on(ratio, words));
            measures.push(Compared { subject, measure, unit, means: [a, b], ratio, verdict });
        }
    }
    alone[1] = of_second.samples.len();
    // Stable, so that equal measures stay in the order of their names.
    measures.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    let conditions = match (of_first.condition, of_second.condition) {
        (Some(a), Some(b)) => a.differing(&b).into_iter().map(|of| (of.fact, of.values)).collect(),
        _ => conditions(first.1, second.1),
    };
    Ok(RunComparison { measures, alone, conditions, evidence })
}

impl Compared {
    /// The size of a difference that is told; otherwise nothing.
    fn weight(&self) -> f64 {
        let is_told =
            self.verdict.as_ref().is_some_and(|verdict| matches!(verdict.told, Told::More | Told::Less));
        self.ratio.filter(|_| is_told).map_or(0.0, |ratio| ratio.mean.ln().abs())
    }
}

/// The words for a measure: time that is better if lower is slower or faster.
fn words(measure: &str, evidence: &'static str) -> Words {
    let is_time = measures::find(measure).is_some_and(|measure| {
        measure.better == Better::Lower && measure.unit.split('/').next() == Some("s")
    });
    let (more, less) = if is_time { ("slower", "faster") } else { ("larger", "smaller") };
    Words { more, less, evidence }
}

/// The values of each (subject, measure, unit).
#[derive(Default)]
struct Samples {
    samples: BTreeMap<(String, String, String), Sample>,
    /// Whether each value is of one aging.
    of_agings: bool,
    /// What they depend on, if they are from comparisons.
    condition: Option<Condition>,
}

impl Samples {
    /// The values of all agings under the conditions of a comparison, of the checkpoints of an experiment or series, or of the repetitions of
    /// another run.
    fn of((store, run): Stored) -> Result<Samples, Error> {
        let mut found = Samples::default();
        let comparison = if run.kind == COMPARE { Identity::load(store, run)? } else { None };
        let checkpoints = store.document::<Vec<CheckpointRun>>(run.id, "", CHECKPOINTS)?.unwrap_or_default();
        found.of_agings = comparison.is_some() || !checkpoints.is_empty();
        if let Some(comparison) = comparison {
            for (seed, run) in replicates(store, run, &comparison)? {
                found.add("", Some(seed), averages(compared_numbers(store, run)?));
            }
            found.condition = Some(comparison.condition);
        } else {
            found.add("", None, store.measurements(run.id)?);
        }
        for checkpoint in checkpoints {
            if let Some(run) = store.by_uid(&checkpoint.run)? {
                found.add(&checkpoint.at, checkpoint.seed, averages(store.measurements(run.id)?));
            }
        }
        Ok(found)
    }

    fn add(&mut self, at: &str, seed: Option<u64>, numbers: Vec<Measurement>) {
        for m in numbers {
            let parts = [at, &m.subject].into_iter().filter(|part| !part.is_empty());
            let subject = parts.collect::<Vec<_>>().join(", ");
            let sample = self.samples.entry((subject, m.measure, m.unit)).or_default();
            sample.values.push(m.value);
            sample.seeds.extend(seed);
        }
    }
}

/// The complete comparisons under the same conditions and `run` itself, by seed. Of several with one seed the last counts.
fn replicates(store: &Store, run: &Run, comparison: &Identity) -> Result<BTreeMap<u64, RunId>, Error> {
    let mut found = BTreeMap::new();
    for other in store.runs_of_kind(COMPARE)?.iter().filter(|other| other.state == "done") {
        let same = |of: &Identity| (of.name(), &of.condition) == (comparison.name(), &comparison.condition);
        if let Some(of) = Identity::load(store, other)?.filter(same) {
            found.insert(of.seed(), other.id);
        }
    }
    found.insert(comparison.seed(), run.id);
    Ok(found)
}

/// One value for each subject and measure: the median of the repetitions, which are of one file system.
fn averages(numbers: Vec<Measurement>) -> Vec<Measurement> {
    let mut found: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
    for m in numbers {
        found.entry((m.subject, m.measure, m.unit)).or_default().push(m.value);
    }
    let average = |((subject, measure, unit), values): (_, Vec<f64>)| {
        let value = median_interval(&values)?.median;
        Some(Measurement { subject, measure, unit, repetition: 1, value })
    };
    found.into_iter().filter_map(average).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use results::{NewRun, measures};
    use serde_json::{Value, json};

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
        // What is told comes first.
        let [cost, files] = &comparison.measures[..] else { panic!("{comparison:?}") };
        assert_eq!(files.verdict.as_ref().unwrap().told, Told::CannotBeTold);
        assert!(cost.verdict.as_ref().unwrap().text.starts_with("2.9× slower ["), "{cost:?}");
        assert!(cost.verdict.as_ref().unwrap().text.ends_with("6 repetitions"), "{cost:?}");
        assert_eq!((cost.subject.as_str(), comparison.alone), ("aged", [0, 1]));
        let differing: Vec<_> = comparison
            .conditions
            .iter()
            .map(|(name, [a, b])| (name.as_str(), a.as_str(), b.as_str()))
            .collect();
        assert_eq!(differing, [("made.fs", "ext4", "xfs"), ("repeat", "–", "6")]);
    }

    #[test]
    fn experiments_are_compared_checkpoint_by_checkpoint_over_seeds() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store")).unwrap();
        for value in [1.0, 2.0] {
            let mut at = Vec::new();
            for seed in [1, 2] {
                let checkpoint = begun(&store, json!({}));
                // Repetitions on one file system are averaged.
                for repetition in [1, 2] {
                    let number =
                        measures::SCAN_S_PER_GIB.measurement("aged", repetition, value * seed as f64);
                    store.record(checkpoint, &number).unwrap();
                }
                let run = store.uid(checkpoint).unwrap();
                at.push(CheckpointRun { at: "ext4, round 1".to_owned(), seed: Some(seed), run });
            }
            let experiment = begun(&store, json!({}));
            store.record_document(experiment, "", CHECKPOINTS, &at).unwrap();
        }
        let runs = store.runs().unwrap();
        let comparison = compare_runs((&store, &runs[2]), (&store, &runs[5])).unwrap();
        let [cost] = &comparison.measures[..] else { panic!("{comparison:?}") };
        assert_eq!((cost.subject.as_str(), cost.means[0].n), ("ext4, round 1, aged", 2));
        assert_eq!(cost.verdict.as_ref().unwrap().text, "2.0× slower [2.0× – 2.0×], 2 agings");
        // Merging stores renumbers the runs.
        let both = Store::open(&dir.path().join("both")).unwrap();
        let first = begun(&both, json!({}));
        runs.iter().for_each(|run| store.end(run.id, "done", None).unwrap());
        both.merge(&store).unwrap();
        let merged = both.runs().unwrap();
        assert_eq!(merged[0].id, first);
        assert_eq!(compare_runs((&both, &merged[3]), (&both, &merged[6])).unwrap(), comparison);
    }
}
