//! Many conditions side by side: how each compares with the first, and what each value of a fact does over all combinations of the others.

use super::condition::fact::{DIGEST, FILE_SYSTEM, FULLNESS, KERNEL, PROFILE, VERSION};
use super::replicates::{Cost, costs};
use super::{Replicates, SUBJECTS};
use results::{Estimate, NEGLIGIBLE, Sample, TestedRatio, Verdict, Words, holm};
use serde::{Deserialize, Serialize};

/// A difference is significant if chance makes one as large in fewer than 5 of 100 tables.
const SIGNIFICANT: f64 = 0.05;

/// Conditions that differ in one or several facts, by the scan costs that all have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The measure of the costs.
    pub measure: String,
    /// How they were found, to follow a verdict: `on a modelled 7200 rpm disk`.
    pub how: String,
    /// Names of the facts that differ.
    pub facts: Vec<String>,
    /// The conditions.
    pub cells: Vec<Cell>,
    /// What each value does against the first of its fact.
    pub effects: Vec<Effect>,
}

/// A condition of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The common name of its agings.
    pub name: String,
    /// Its value of each fact; empty if it has none.
    pub values: Vec<String>,
    /// Aged over unaged.
    pub ratio: Option<Estimate>,
    /// Its aged and its unaged side over those of the first condition; `None` for the first.
    pub against_first: Option<[Shift; 2]>,
}

/// What one value of a fact does against another, all else equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The fact.
    pub fact: String,
    /// Its value.
    pub value: String,
    /// The value that it is compared with.
    pub against: String,
    /// Combinations of the other facts that have both.
    pub combinations: usize,
    /// Those in which the value costs more, for the aged and the unaged sides. All or none: the effect does not depend on the other facts.
    pub slower_in: [usize; 2],
    /// The ratio for the aged and the unaged sides: the geometric mean over the combinations, with each aging as one value.
    pub sides: [Shift; 2],
}

/// A ratio of costs among several that are read together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The ratio.
    pub ratio: Estimate,
    /// What it tells by itself.
    pub verdict: Verdict,
    /// The probability that chance makes such a ratio, adjusted for all ratios of the table (Holm); `None` for a single aging.
    pub p_value: Option<f64>,
    /// Whether that is below 5 % and the difference at least 2 %.
    pub is_significant: bool,
}

impl Matrix {
    /// Compares conditions. `None` if there are fewer than two, if they differ in nothing, or if there is no cost that all have.
    pub fn of(conditions: &[Replicates]) -> Option<Matrix> {
        let facts = varying(conditions);
        if facts.is_empty() {
            return None;
        }
        let (cost, samples) = costs(&conditions[0].pairs).into_iter().find_map(|cost| {
            let samples = conditions.iter().map(|one| samples(one, &cost)).collect::<Option<Vec<_>>>()?;
            Some((cost, samples))
        })?;
        let values: Vec<Vec<String>> = conditions
            .iter()
            .map(|one| facts.iter().map(|fact| one.condition.value(fact).to_owned()).collect())
            .collect();
        let ratio = |one: &Replicates| one.means(&cost.measure).and_then(|means| means.ratio);
        let against_first = against_first(&samples).into_iter();
        let cells = conditions.iter().zip(&values).zip(std::iter::once(None).chain(against_first));
        Some(Matrix {
            measure: cost.measure.name.to_owned(),
            how: cost.how.clone(),
            cells: cells
                .map(|((one, values), against_first)| Cell {
                    name: one.name.clone(),
                    values: values.clone(),
                    ratio: ratio(one),
                    against_first,
                })
                .collect(),
            effects: effects(&facts, &values, &samples),
            facts,
        })
    }

    /// Whether the effect of a value is known from several combinations of other facts.
    pub fn is_crossed(&self) -> bool {
        self.effects.iter().any(|effect| effect.combinations > 1)
    }
}

/// The costs of both sides; `None` if one has none.
fn samples(of: &Replicates, cost: &Cost) -> Option<[Sample; 2]> {
    let sides = [
        of.sample(|pair| pair.aged.value(&cost.measure)),
        of.sample(|pair| pair.unaged.value(&cost.measure)),
    ];
    let is_cost =
        |sample: &Sample| !sample.values.is_empty() && sample.values.iter().all(|value| *value > 0.0);
    sides.iter().all(is_cost).then_some(sides)
}

/// The facts in which conditions differ, without those that only follow from others.
fn varying(conditions: &[Replicates]) -> Vec<String> {
    let mut names: Vec<&String> = Vec::new();
    for one in conditions {
        for (name, _) in &one.condition.0 {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let differs = |fact: &str| {
        conditions.iter().any(|one| one.condition.value(fact) != conditions[0].condition.value(fact))
    };
    let follows = |fact: &str| match fact {
        VERSION => differs(FILE_SYSTEM) || differs(KERNEL),
        DIGEST => differs(PROFILE),
        // Of each profile it is the same: its default.
        FULLNESS => differs(PROFILE) && is_determined(conditions, PROFILE, FULLNESS),
        _ => false,
    };
    names.into_iter().filter(|fact| differs(fact) && !follows(fact)).cloned().collect()
}

/// Whether each value of a fact goes with a single value of another.
fn is_determined(conditions: &[Replicates], by: &str, fact: &str) -> bool {
    conditions.iter().all(|one| {
        let same = |other: &&Replicates| other.condition.value(by) == one.condition.value(by);
        conditions.iter().filter(same).all(|other| other.condition.value(fact) == one.condition.value(fact))
    })
}

/// The sides of each condition but the first over those of the first.
fn against_first(samples: &[[Sample; 2]]) -> Vec<Option<[Shift; 2]>> {
    let first = &samples[0];
    let test = |sides: &[Sample; 2]| both(|side| sides[side].test_against(&first[side]));
    judged(samples[1..].iter().map(test).collect())
}

fn effects(facts: &[String], values: &[Vec<String>], samples: &[[Sample; 2]]) -> Vec<Effect> {
    let mut effects = Vec::new();
    let mut tests = Vec::new();
    for (at, fact) in facts.iter().enumerate() {
        let mut others: Vec<&String> = Vec::new();
        for value in values.iter().map(|of| &of[at]).filter(|value| **value != values[0][at]) {
            if !others.contains(&value) {
                others.push(value);
            }
        }
        for value in others {
            let against = &values[0][at];
            let matched = matched(values, at, [value, against]);
            let Some(tested) = both(|side| over_combinations(samples, &matched, side)) else { continue };
            let slower = |side: usize| {
                let costs_more = |[of, to]: &&[usize; 2]| {
                    samples[*of][side].ratio_to(&samples[*to][side]).is_some_and(|ratio| ratio.mean > 1.0)
                };
                matched.iter().filter(costs_more).count()
            };
            tests.push(Some(tested));
            effects.push((fact, value, against, matched.len(), [0, 1].map(slower)));
        }
    }
    let named = effects.into_iter().zip(judged(tests));
    named
        .filter_map(|((fact, value, against, combinations, slower_in), sides)| {
            let [fact, value, against] = [fact, value, against].map(Clone::clone);
            Some(Effect { fact, value, against, combinations, slower_in, sides: sides? })
        })
        .collect()
}

/// The conditions that have one value of a fact, each with that of the other value that is equal in all other facts.
fn matched(values: &[Vec<String>], at: usize, [value, against]: [&String; 2]) -> Vec<[usize; 2]> {
    let counterpart = |of: usize| {
        let mut wanted = values[of].clone();
        wanted[at] = against.clone();
        values.iter().position(|other| *other == wanted)
    };
    let having = (0..values.len()).filter(|of| values[*of][at] == *value);
    having.filter_map(|of| Some([of, counterpart(of)?])).collect()
}

/// The ratio of the costs of matched conditions. What one aging gives in all of them is one value, because they share its seed.
fn over_combinations(samples: &[[Sample; 2]], matched: &[[usize; 2]], side: usize) -> Option<TestedRatio> {
    if let [[of, to]] = matched {
        return samples[*of][side].test_against(&samples[*to][side]);
    }
    let value = |at: usize, seed: u64| {
        let Sample { values, seeds } = &samples[at][side];
        seeds.iter().position(|other| *other == seed).map(|position| values[position])
    };
    let of_seed = |seed: &u64| {
        let logarithms = matched.iter().map(|[of, to]| Some((value(*of, *seed)? / value(*to, *seed)?).ln()));
        let sum = logarithms.sum::<Option<f64>>()?;
        Some((sum / matched.len() as f64).exp())
    };
    let [first, _] = matched.first()?;
    TestedRatio::geometric(&samples[*first][side].seeds.iter().filter_map(of_seed).collect::<Vec<_>>())
}

fn both<T>(of: impl Fn(usize) -> Option<T>) -> Option<[T; 2]> {
    const { assert!(SUBJECTS.len() == 2) };
    Some([of(0)?, of(1)?])
}

/// Judges ratios that are read together, each for the aged and the unaged side.
fn judged(tests: Vec<Option<[TestedRatio; 2]>>) -> Vec<Option<[Shift; 2]>> {
    let known: Vec<f64> = tests.iter().flatten().flatten().filter_map(|tested| tested.p_value).collect();
    let mut adjusted = holm(&known).into_iter();
    let mut judge = |TestedRatio { ratio, p_value }: TestedRatio| {
        let p_value = p_value.and_then(|_| adjusted.next());
        let is_large = ratio.mean.max(1.0 / ratio.mean) - 1.0 >= NEGLIGIBLE;
        let is_significant = is_large && p_value.is_some_and(|p| p < SIGNIFICANT);
        Shift { ratio, verdict: Verdict::on(&ratio, Words::COST), p_value, is_significant }
    };
    tests.into_iter().map(|sides| sides.map(|sides| sides.map(&mut judge))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Pair};
    use super::*;

    /// A comparison of one seed, with the cost of the aged side; that of the unaged side is the same under all conditions.
    fn pair(facts: &[(&str, &str)], seed: u64, aged: f64) -> Pair {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let name = facts.iter().map(|(_, value)| *value).collect::<Vec<_>>().join("-");
        Pair {
            name: format!("{name}-{seed}"),
            condition: Condition(facts.iter().map(owned).collect()),
            ..crate::gate::tests::pair(seed, [aged, 1.0, 1.0])
        }
    }

    /// Two file systems with and without an option, which costs `of[0]` on one and `of[1]` on the other.
    fn with_option(of: [f64; 2]) -> Matrix {
        let mut pairs = Vec::new();
        for (fs, version, base, factor) in [("ext4", "1.47", 2.0, of[0]), ("xfs", "6.1", 1.0, of[1])] {
            for option in ["", "-O x"] {
                for seed in 1..=4 {
                    // Each aging differs by some percent, on all alike, and a little by itself.
                    let own = 1.0 + 0.001 * ((seed * 7 + u64::from(fs == "xfs") * 3) % 5) as f64;
                    let aged = base
                        * (1.0 + seed as f64 / 20.0)
                        * if option.is_empty() { 1.0 } else { factor * own };
                    let facts = [("file system", fs), ("version", version), ("mkfs options", option)];
                    pairs.push(pair(&facts, seed, aged));
                }
            }
        }
        Matrix::of(&Replicates::group(&pairs)).unwrap()
    }

    #[test]
    fn effect_of_an_option_is_found_over_both_file_systems() {
        let matrix = with_option([1.2, 1.2]);
        assert_eq!(matrix.facts, ["file system", "mkfs options"]);
        let [fs, option] = &matrix.effects[..] else { panic!("{matrix:?}") };
        assert_eq!((fs.value.as_str(), fs.against.as_str(), fs.combinations), ("xfs", "ext4", 2));
        assert_eq!((option.value.as_str(), option.against.as_str(), option.combinations), ("-O x", "", 2));
        assert!(
            (option.sides[0].ratio.mean - 1.2).abs() < 0.01 && option.sides[0].is_significant,
            "{option:?}"
        );
        assert_eq!((option.sides[0].ratio.n, option.slower_in), (4, [2, 0]));
        assert!(!option.sides[1].is_significant && option.sides[1].ratio.mean == 1.0, "{option:?}");
        let last = matrix.cells.last().unwrap();
        assert_eq!(last.values, ["xfs", "-O x"]);
        assert!((last.against_first.as_ref().unwrap()[0].ratio.mean - 0.6).abs() < 0.01, "{last:?}");
        assert_eq!(matrix.cells[0].against_first, None);
    }

    #[test]
    fn effect_that_depends_on_the_file_system_is_visible() {
        let [_, option] = &with_option([1.2, 0.8]).effects[..] else { panic!("two facts") };
        assert_eq!(option.slower_in[0], 1, "slower on one, faster on the other");
    }

    #[test]
    fn nothing_is_compared_without_a_difference() {
        let same = |seed| pair(&[("file system", "ext4")], seed, 2.0);
        assert_eq!(Matrix::of(&Replicates::group(&[same(1), same(2)])), None);
        assert_eq!(Matrix::of(&[]), None);
    }

    #[test]
    fn facts_that_follow_from_others_are_left_out() {
        let of = |profile, digest, fullness| {
            let facts = [("profile", profile), ("digest of the profile", digest), ("fullness", fullness)];
            pair(&facts, 1, 2.0)
        };
        let facts = |pairs: &[Pair]| Matrix::of(&Replicates::group(pairs)).unwrap().facts;
        assert_eq!(facts(&[of("a", "1", "0.6"), of("b", "2", "0.8")]), ["profile"]);
        let crossed = [of("a", "1", "0.6"), of("a", "1", "0.8"), of("b", "2", "0.6"), of("b", "2", "0.8")];
        assert_eq!(facts(&crossed), ["profile", "fullness"]);
    }

    #[test]
    fn single_agings_are_never_significant() {
        let matrix = Matrix::of(&Replicates::group(&[
            pair(&[("file system", "ext4")], 1, 2.0),
            pair(&[("file system", "xfs")], 1, 4.0),
        ]))
        .unwrap();
        let [aged, _] = &matrix.effects[0].sides;
        assert_eq!((aged.ratio.mean, aged.p_value, aged.is_significant), (2.0, None, false));
    }
}
