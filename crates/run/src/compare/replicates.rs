//! The result under one condition: the comparisons of several agings, which differ in their seeds alone.

use super::condition::{Condition, Differing};
use super::{Pair, Side};
use crate::scanned::HDD_MODEL;
use results::measures::{self, Measure};
use results::{Estimate, Sample, Verdict, Words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Comparisons under one condition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replicates {
    /// The common name of the agings: their names without the seed.
    pub name: String,
    /// What all depend on.
    pub condition: Condition,
    /// The seeds of the agings, ascending.
    pub seeds: Vec<u64>,
    /// The measures, in the order of their table.
    pub measures: Vec<Means>,
    /// The ratio that sums up the modelled times; `None` if there is none.
    pub modelled: Option<Headline>,
    /// The ratio that sums up the times measured here, likewise.
    pub measured: Option<Headline>,
    /// The comparisons by seed.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
}

/// A measure over all agings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Means {
    /// The measure.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// The aged sides.
    pub aged: Option<Estimate>,
    /// The unaged sides.
    pub unaged: Option<Estimate>,
    /// Aged over unaged: the geometric mean over the agings of [`Pair::ratio`].
    pub ratio: Option<Estimate>,
}

/// A ratio of scan costs with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The measure.
    pub measure: String,
    /// How the cost was found, to follow the verdict: `on a modelled 7200 rpm disk`.
    pub how: String,
    /// The ratio.
    pub ratio: Estimate,
    /// The verdict.
    pub verdict: Verdict,
}

/// The scan costs under one condition over those under another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contrast {
    /// Name of the first.
    pub name: String,
    /// Name of the second, which the first is compared with.
    pub against: String,
    /// What differs, apart from the seeds.
    pub differing: Vec<Differing>,
    /// The ratio of the aged sides.
    pub aged: Headline,
    /// The ratio of the unaged sides.
    pub unaged: Headline,
}

impl Replicates {
    /// Groups comparisons by condition and by their names without the seed, in the order of first occurrence. Of several with one seed the
    /// last counts.
    pub fn group(pairs: &[Pair]) -> Vec<Replicates> {
        let mut groups: Vec<(String, BTreeMap<u64, Pair>)> = Vec::new();
        for pair in pairs {
            let name = pair.name_without_seed();
            let same = |(other, of): &&mut (String, BTreeMap<u64, Pair>)| {
                *other == name && of.values().all(|other| other.condition == pair.condition)
            };
            match groups.iter_mut().find(same) {
                Some((_, of)) => drop(of.insert(pair.seed, pair.clone())),
                None => groups.push((name, BTreeMap::from([(pair.seed, pair.clone())]))),
            }
        }
        groups.into_iter().map(|(name, pairs)| Replicates::of(name, pairs.into_values().collect())).collect()
    }

    fn of(name: String, pairs: Vec<Pair>) -> Replicates {
        let means = |measure: &Measure| {
            let side =
                |side: fn(&Pair) -> &Side| measure.mean(&values(&pairs, |pair| side(pair).value(measure)));
            let (aged, unaged) = (side(|pair| &pair.aged), side(|pair| &pair.unaged));
            let ratio = Estimate::geometric(&values(&pairs, |pair| pair.ratio(measure)));
            let (name, unit) = (measure.name.to_owned(), measure.unit.to_owned());
            (aged.is_some() || unaged.is_some()).then_some(Means { measure: name, unit, aged, unaged, ratio })
        };
        let measures: Vec<Means> = measures::compared().filter_map(means).collect();
        let sums_up = |is_modelled| {
            let costs = costs(&pairs).into_iter().filter(|cost| cost.is_modelled == is_modelled);
            let mut found = costs.filter_map(|cost| {
                let means = measures.iter().find(|means| means.measure == cost.measure.name)?;
                Some(Headline::new(&cost, means.ratio?))
            });
            found.next()
        };
        Replicates {
            condition: pairs.first().map(|pair| pair.condition.clone()).unwrap_or_default(),
            seeds: pairs.iter().map(|pair| pair.seed).collect(),
            modelled: sums_up(true),
            measured: sums_up(false),
            measures,
            name,
            pairs,
        }
    }

    /// A measure over all agings, if it was taken.
    pub fn means(&self, measure: &Measure) -> Option<&Means> {
        self.measures.iter().find(|means| means.measure == measure.name)
    }

    /// Model of the disk for modelled time.
    pub fn modelled_disk(&self) -> &str {
        modelled_disk(&self.pairs)
    }

    /// Compares the scan costs with those under another condition. `None` if no cost was found for both.
    pub fn against(&self, other: &Replicates) -> Option<Contrast> {
        let headline = |cost: &Cost, side: fn(&Pair) -> &Side| {
            let value = |pair: &Pair| side(pair).value(&cost.measure);
            Some(Headline::new(cost, self.ratio_to(other, value)?))
        };
        costs(&self.pairs).iter().find_map(|cost| {
            Some(Contrast {
                name: self.name.clone(),
                against: other.name.clone(),
                differing: self.condition.differing(&other.condition),
                aged: headline(cost, |pair| &pair.aged)?,
                unaged: headline(cost, |pair| &pair.unaged)?,
            })
        })
    }

    /// A value of all comparisons; empty if one has none.
    pub(crate) fn sample(&self, value: impl Fn(&Pair) -> Option<f64>) -> Sample {
        let values = values(&self.pairs, value);
        let seeds = if values.is_empty() { Vec::new() } else { self.seeds.clone() };
        Sample { values, seeds }
    }

    /// The ratio of a value under both conditions: paired if both have the same seeds.
    fn ratio_to(&self, other: &Replicates, value: impl Fn(&Pair) -> Option<f64>) -> Option<Estimate> {
        let [of, to] = [self, other].map(|one| one.sample(&value));
        of.ratio_to(&to)
    }
}

/// The values of all comparisons; empty if one has none.
fn values(pairs: &[Pair], value: impl Fn(&Pair) -> Option<f64>) -> Vec<f64> {
    pairs.iter().map(value).collect::<Option<_>>().unwrap_or_default()
}

fn modelled_disk(pairs: &[Pair]) -> &str {
    pairs.first().map_or(HDD_MODEL, |pair| &pair.modelled_disk)
}

/// A scan cost that can sum up a comparison.
pub(super) struct Cost {
    pub measure: Measure,
    /// How it was found, as in [`Headline::how`].
    pub how: String,
    is_modelled: bool,
}

/// The scan costs that can sum up these comparisons, the best first. A scan without reads is modelled from extent maps.
pub(super) fn costs(pairs: &[Pair]) -> Vec<Cost> {
    let disk = modelled_disk(pairs);
    let hdd = "on a modelled 7200 rpm disk";
    let mut costs = vec![
        (measures::MODELLED_HDD_S_PER_GIB, hdd.to_owned(), true),
        (measures::EXTENT_MAP_HDD_S_PER_GIB, format!("{hdd}, from extent maps alone"), true),
        (measures::SCAN_S_PER_GIB, "here".to_owned(), false),
    ];
    if disk != HDD_MODEL {
        costs.insert(0, (measures::MODELLED_S_PER_GIB, format!("on a modelled {disk}"), true));
    }
    costs.into_iter().map(|(measure, how, is_modelled)| Cost { measure, how, is_modelled }).collect()
}

impl Headline {
    fn new(cost: &Cost, ratio: Estimate) -> Headline {
        let (measure, how) = (cost.measure.name.to_owned(), cost.how.clone());
        Headline { measure, how, ratio, verdict: Verdict::on(&ratio, Words::COST) }
    }
}

impl Contrast {
    /// Compares each condition with the earlier one that differs from it in the fewest facts.
    pub fn of_all(conditions: &[Replicates]) -> Vec<Contrast> {
        let nearest = |(at, one): (usize, &Replicates)| {
            let differing = |other: &&Replicates| one.condition.differing(&other.condition).len();
            conditions[..at].iter().min_by_key(differing).and_then(|other| one.against(other))
        };
        conditions.iter().enumerate().filter_map(nearest).collect()
    }

    /// What differs, in a few words.
    pub fn differing_in_words(&self) -> String {
        match &self.differing[..] {
            [] => "the same recorded conditions".to_owned(),
            [one] => format!("{}; all else equal", one.in_words()),
            several => several.iter().map(Differing::in_words).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The name of an aging without the part that is its seed.
pub(super) fn without_seed(name: &str, seed: u64) -> String {
    let seed = seed.to_string();
    let parts: Vec<&str> = name.split('-').filter(|part| *part != seed).collect();
    if parts.is_empty() { name.to_owned() } else { parts.join("-") }
}
