//! The baseline of a gate: the values of pairs of equal agings, in a file.

use super::Recipe;
use crate::Error;
use crate::compare::{Condition, Pair, SUBJECTS, Side, names};
use crate::scanned::HDD_MODEL;
use results::Scale;
use results::measures::{self, Better, MODELLED_S_PER_GIB, Measure, Topic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// The format version that this program writes and reads.
const FORMAT: u32 = 1;

/// The fewest pairs that bounds can be learnt from.
pub const LEAST_PAIRS: usize = 5;

/// What a gate compares with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Format version of this file.
    pub format: u32,
    /// What was aged, and how it was measured.
    pub recipe: Recipe,
    /// What the results depend on.
    pub condition: Condition,
    /// The seeds of the pairs.
    pub seeds: Vec<u64>,
    /// The measures that the gate can test.
    pub measures: Vec<Learnt>,
}

/// A measure of one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learnt {
    /// The measure.
    pub measure: String,
    /// `aged` or `unaged`.
    pub side: String,
    /// How its values are compared.
    pub scale: Scale,
    /// Its values in both agings with each seed, in the order of the seeds.
    pub pairs: Vec<[f64; 2]>,
}

impl Baseline {
    /// The baseline of two series of equal agings, which have the same seeds.
    ///
    /// # Errors
    /// If there are too few, or if they were not made under the same conditions.
    pub fn learn(recipe: Recipe, series: [&[Pair]; 2]) -> Result<Baseline, Error> {
        let [first, second] = series.map(by_seed);
        let seeds: Vec<u64> = first.keys().filter(|seed| second.contains_key(seed)).copied().collect();
        let Some(one) = first.values().next() else {
            return Err(Error::Refused("a baseline needs agings".to_owned()));
        };
        let condition = one.condition.clone();
        let of_seeds = || seeds.iter().map(|seed| [first[seed], second[seed]]);
        if let Some(other) = of_seeds().flatten().find(|pair| pair.condition != condition) {
            let facts = names(&other.condition.differing(&condition));
            return Err(Error::Refused(format!("agings of one baseline differ in {facts}: learn it again")));
        }
        let mut learnt = Vec::new();
        for measure in tested(&one.modelled_disk) {
            for side in SUBJECTS {
                let value = |pair: &Pair| side_of(pair, side).value(measure);
                let both = |[a, b]: [&Pair; 2]| Some([value(a)?, value(b)?]);
                let pairs: Option<Vec<[f64; 2]>> = of_seeds().map(both).collect();
                learnt.extend(pairs.and_then(|pairs| Learnt::of(measure, side, pairs)));
            }
        }
        let baseline = Baseline { format: FORMAT, recipe, condition, seeds, measures: learnt };
        baseline.check().map_err(Error::Refused)?;
        Ok(baseline)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is no baseline.
    pub fn load(path: &Path) -> Result<Baseline, Error> {
        let text = input::read(path).map_err(Error::io("reading", path))?;
        Baseline::parse(&text).map_err(|why| {
            let path = path.display();
            Error::Refused(format!("{path} is no baseline: {why}; learn one with `senesce gate --learn 20`"))
        })
    }

    fn parse(text: &[u8]) -> Result<Baseline, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if format != FORMAT {
            return Err(format!("format {format} is not supported; this program reads {FORMAT}"));
        }
        let baseline: Baseline = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        baseline.check()?;
        Ok(baseline)
    }

    fn check(&self) -> Result<(), String> {
        let pairs = self.seeds.len();
        if pairs < LEAST_PAIRS {
            return Err(format!("{pairs} pairs of agings; it needs at least {LEAST_PAIRS}"));
        }
        if self.measures.is_empty() {
            return Err("no measures".to_owned());
        }
        self.recipe.aging.profile.check().map_err(|error| error.to_string())?;
        for learnt in &self.measures {
            let name = &learnt.measure;
            let known = learnt.known().ok_or_else(|| format!("no measure is named {name:?}"))?;
            let is_tested = known.better != Better::Neither && SUBJECTS.contains(&&*learnt.side);
            if !is_tested || learnt.pairs.len() != pairs || !learnt.is_on_scale() {
                return Err(format!("{name} of side {:?} cannot be tested", learnt.side));
            }
        }
        Ok(())
    }

    /// Writes a new file, whole or not at all.
    ///
    /// # Errors
    /// If the file exists, or cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        let mut file = File::create_new(path).map_err(Error::io("creating", path))?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        written.map_err(|error| {
            let _ = std::fs::remove_file(path);
            Error::io("writing", path)(error)
        })
    }
}

impl Learnt {
    /// `None` if values cannot be compared on the scale of the measure.
    fn of(measure: &Measure, side: &str, pairs: Vec<[f64; 2]>) -> Option<Learnt> {
        let scale = if measure.unit == "share" { Scale::Difference } else { Scale::Ratio };
        let learnt = Learnt { measure: measure.name.to_owned(), side: side.to_owned(), scale, pairs };
        learnt.is_on_scale().then_some(learnt)
    }

    /// The measure, if this program has it.
    pub fn known(&self) -> Option<&'static Measure> {
        measures::find(&self.measure)
    }

    fn is_on_scale(&self) -> bool {
        let fits = |value: &f64| value.is_finite() && (self.scale == Scale::Difference || *value > 0.0);
        self.pairs.iter().flatten().all(fits)
    }

    /// The shifts within the pairs.
    pub fn differences(&self) -> Vec<f64> {
        self.pairs.iter().map(|[a, b]| self.scale.shift(*a, *b)).collect()
    }

    /// What an aging with the seed at this position is compared with: the mean of the pair on the scale.
    pub fn expected(&self, at: usize) -> f64 {
        let [a, b] = self.pairs[at];
        match self.scale {
            Scale::Ratio => (a * b).sqrt(),
            Scale::Difference => (a + b) / 2.0,
        }
    }
}

/// The measures of a side of which one direction is worse. Times of this machine are left out: its load would raise alarms; and so are the costs
/// with a cause taken away, which tell why and not whether.
fn tested(disk: &str) -> impl Iterator<Item = &'static Measure> {
    let is_twice = move |measure: &Measure| *measure == MODELLED_S_PER_GIB && disk == HDD_MODEL;
    measures::compared().filter(move |measure| {
        let by_clock = [measures::SCAN_S_PER_GIB, measures::SCAN_CPU_S].contains(measure);
        let of_causes = measure.topic == Some(Topic::Causes);
        measure.better != Better::Neither && !by_clock && !of_causes && !is_twice(measure)
    })
}

/// One comparison for each seed.
pub(super) fn by_seed(pairs: &[Pair]) -> BTreeMap<u64, &Pair> {
    pairs.iter().map(|pair| (pair.seed, pair)).collect()
}

/// A side of a comparison.
pub(super) fn side_of<'a>(pair: &'a Pair, side: &str) -> &'a Side {
    if side == SUBJECTS[0] { &pair.aged } else { &pair.unaged }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{baseline, pair};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_file_holds_the_baseline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("baseline.json");
        let written = baseline();
        written.save(&path).unwrap();
        let read = Baseline::load(&path).unwrap();
        assert_eq!((&read.measures, &read.seeds), (&written.measures, &written.seeds));
        assert_eq!(read.recipe.aging, written.recipe.aging);
        // A baseline is not replaced by accident.
        assert!(written.save(&path).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn measures_with_a_worse_direction_are_learnt() {
        let learnt = baseline();
        let found: Vec<_> = learnt.measures.iter().map(|of| (&*of.measure, of.scale)).collect();
        let cost = ("modelled_hdd_s_per_gib", Scale::Ratio);
        let score = ("layout_score", Scale::Difference);
        let extents = ("free_extents", Scale::Ratio);
        assert_eq!(found, [cost, cost, score, score, extents, extents]);
    }

    #[test]
    fn pairs_under_different_conditions_are_refused() {
        let some: Vec<Pair> = (1..=6).map(|seed| pair(seed, [1.0, 1.0, 1.0])).collect();
        let mut other = some.clone();
        other[3].condition = Condition(vec![("kernel".to_owned(), "7".to_owned())]);
        let refused = Baseline::learn(baseline().recipe, [&some, &other]).unwrap_err().to_string();
        assert!(refused.contains("differ in kernel"), "{refused}");
        let refused = Baseline::learn(baseline().recipe, [&some[..4], &some]).unwrap_err().to_string();
        assert!(refused.contains("4 pairs of agings"), "{refused}");
    }

    proptest! {
        #[test]
        fn broken_files_are_refused(at in 0.0..1.0, byte: u8, cut in 0.0..1.0) {
            let text = serde_json::to_vec(&baseline()).unwrap();
            let position = |share: f64| (share * text.len() as f64) as usize;
            prop_assert!(Baseline::parse(&text[..position(cut)]).is_err());
            let mut changed = text.clone();
            changed[position(at)] = byte;
            // What is accepted can be tested with.
            if let Ok(read) = Baseline::parse(&changed) {
                let bounds = crate::gate::visible(&read, 3, 0.01);
                prop_assert!(bounds.iter().all(|of| of.bound > 0.0), "{bounds:?}");
            }
        }
    }
}
