//! Tests new agings against a baseline.

use super::Baseline;
use super::baseline::{Learnt, by_seed, side_of};
use crate::Error;
use crate::compare::fact::{KERNEL, VERSION};
use crate::compare::{Condition, Differing, Pair, names};
use results::measures::{Better, Measure};
use results::{NEGLIGIBLE, Scale, bound_of_chance, median_interval};
use serde::Serialize;

/// The rules of a gate.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The probability that anything is called a regression if nothing changed, over all measures together.
    pub false_alarms: f64,
    /// The facts that may differ from the baseline: what is tested.
    pub changed: Vec<String>,
    /// The measures to test; all of the baseline if empty.
    pub measures: Vec<String>,
}

/// What a gate found.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// Whether a measure regressed.
    pub regressed: bool,
    /// What differs from the baseline.
    pub changed: Vec<Differing>,
    /// The seeds of the new agings, which the baseline has too.
    pub seeds: Vec<u64>,
    /// Pairs of equal agings in the baseline.
    pub baseline_pairs: usize,
    /// The probability of a false alarm over all measures together.
    pub false_alarms: f64,
    /// The tested measures, in the order of the table of measures, aged before unaged.
    pub measures: Vec<Moved>,
}

/// A measure of one side against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The measure.
    pub measure: String,
    /// Its unit.
    pub unit: String,
    /// `aged` or `unaged`.
    pub side: String,
    /// The mean of the baseline over the tested seeds: geometric on the scale of ratios.
    pub baseline: f64,
    /// The mean of the new agings.
    pub now: f64,
    /// How both are compared.
    pub scale: Scale,
    /// The change: of ratios the share by which the value changed, otherwise the difference.
    pub change: f64,
    /// The largest change for the worse, in the same unit and without a sign, that counts as chance.
    pub bound: f64,
    /// What the change is.
    pub movement: Movement,
}

/// What a gate can see of a measure of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Visible {
    /// The measure.
    pub measure: String,
    /// `aged` or `unaged`.
    pub side: String,
    /// How values are compared.
    pub scale: Scale,
    /// The mean of the baseline: geometric on the scale of ratios.
    pub baseline: f64,
    /// As [`Moved::bound`].
    pub bound: f64,
}

/// The movement of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Movement {
    /// Worse by more than chance.
    Regressed,
    /// Better by more than chance.
    Improved,
    /// As the baseline.
    Unchanged,
}

/// Tests new agings against a baseline: for each measure and side a one-sided test, whose level is such that all together raise a false alarm with
/// the stated probability (Bonferroni). A regression is also at least 2 % in the mean and in the median of the agings, so that a jump in a single
/// one, which a baseline may not have seen, raises none.
///
/// # Errors
/// If something differs that is not what is tested, no seed is in both, or a measure is not in the baseline.
pub fn judge(baseline: &Baseline, new: &[Pair], rules: &Rules) -> Result<Judgement, Error> {
    let new = by_seed(new);
    let common = baseline.seeds.iter().enumerate().filter(|(_, seed)| new.contains_key(seed));
    let (at, seeds): (Vec<usize>, Vec<u64>) = common.unzip();
    let pairs: Vec<&Pair> = seeds.iter().map(|seed| new[seed]).collect();
    let Some(first) = pairs.first() else {
        let seeds: Vec<String> = baseline.seeds.iter().map(u64::to_string).collect();
        let seeds = seeds.join(", ");
        return Err(Error::Refused(format!("no aging has a seed of the baseline, which has {seeds}")));
    };
    let changed = permitted(&baseline.condition, &first.condition, &rules.changed)?;
    if let Some(other) = pairs.iter().find(|pair| pair.condition != first.condition) {
        let facts = names(&other.condition.differing(&first.condition));
        return Err(Error::Refused(format!("the new agings differ among each other in {facts}")));
    }
    let tested = tested(baseline, &rules.measures)?;
    let alarm = rules.false_alarms / tested.len() as f64;
    let mut measures = Vec::new();
    for (learnt, measure) in tested {
        let values = pairs.iter().map(|pair| side_of(pair, &learnt.side).value(measure));
        let values: Option<Vec<f64>> = values.collect();
        let values = values.ok_or_else(|| {
            let Learnt { measure, side, .. } = learnt;
            Error::Refused(format!(
                "the new agings have no {measure} on the {side} side; name the measures to test with --measures"
            ))
        })?;
        measures.push(moved(learnt, measure, &at, &values, alarm));
    }
    Ok(Judgement {
        regressed: measures.iter().any(|moved| moved.movement == Movement::Regressed),
        changed,
        seeds,
        baseline_pairs: baseline.seeds.len(),
        false_alarms: rules.false_alarms,
        measures,
    })
}

/// The largest change of each measure and side for the worse that a gate with this many agings takes for chance. What is larger is seen.
pub fn visible(baseline: &Baseline, agings: u64, false_alarms: f64) -> Vec<Visible> {
    let alarm = false_alarms / baseline.measures.len() as f64;
    let of = |learnt: &Learnt| {
        let measure = learnt.known()?;
        let all: Vec<f64> = (0..baseline.seeds.len()).map(|at| learnt.expected(at)).collect();
        Some(Visible {
            measure: learnt.measure.clone(),
            side: learnt.side.clone(),
            scale: learnt.scale,
            baseline: on_scale(learnt.scale, &all),
            bound: largest_by_chance(
                learnt.scale,
                measure,
                bound_of_chance(&learnt.differences(), agings, alarm),
            ),
        })
    };
    baseline.measures.iter().filter_map(of).collect()
}

/// What differs between the conditions, if all of it may.
fn permitted(baseline: &Condition, new: &Condition, may_change: &[String]) -> Result<Vec<Differing>, Error> {
    let mut differing = new.differing(baseline);
    if follows_from_kernel(&differing) {
        differing.retain(|of| of.fact != VERSION);
    }
    let is_permitted = |of: &&Differing| may_change.iter().any(|fact| spelled(fact) == spelled(&of.fact));
    let other: Vec<_> = differing.iter().filter(|of| !is_permitted(of)).collect();
    if other.is_empty() {
        return Ok(differing);
    }
    let value = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
    let told =
        |of: &&Differing| format!("{} {} (was {})", of.fact, value(&of.values[0]), value(&of.values[1]));
    let told = other.iter().map(told).collect::<Vec<_>>().join("; ");
    let facts = other.iter().map(|of| spelled(&of.fact)).collect::<Vec<_>>().join(",");
    Err(Error::Refused(format!(
        "not comparable with the baseline: {told}; if this is what you test, give --changed {facts}"
    )))
}

/// Whether the versions of the file system differ in the kernel release alone, which is a fact of its own.
fn follows_from_kernel(differing: &[Differing]) -> bool {
    let values = |fact: &str| differing.iter().find(|of| of.fact == fact).map(|of| &of.values);
    let (Some(kernels), Some(versions)) = (values(KERNEL), values(VERSION)) else { return false };
    let [new, old] = [0, 1].map(|at| versions[at].replace(&kernels[at], ""));
    new == old
}

/// A fact as an option spells it.
fn spelled(fact: &str) -> String {
    fact.replace(' ', "-")
}

/// The measures to test.
fn tested<'b>(
    baseline: &'b Baseline,
    wanted: &[String],
) -> Result<Vec<(&'b Learnt, &'static Measure)>, Error> {
    if let Some(missing) = wanted.iter().find(|name| baseline.measures.iter().all(|of| of.measure != **name))
    {
        let mut names: Vec<&str> = baseline.measures.iter().map(|of| &*of.measure).collect();
        names.dedup();
        let names = names.join(", ");
        return Err(Error::Refused(format!("the baseline has no measure {missing:?}; it has {names}")));
    }
    let is_wanted = |of: &&Learnt| wanted.is_empty() || wanted.contains(&of.measure);
    Ok(baseline.measures.iter().filter(is_wanted).filter_map(|of| Some((of, of.known()?))).collect())
}

fn moved(learnt: &Learnt, measure: &Measure, at: &[usize], values: &[f64], alarm: f64) -> Moved {
    let scale = learnt.scale;
    let expected: Vec<f64> = at.iter().map(|at| learnt.expected(*at)).collect();
    let shifts: Vec<f64> = expected.iter().zip(values).map(|(from, to)| scale.shift(*from, *to)).collect();
    let (mean, middle) = (mean(&shifts), median_interval(&shifts).expect("there are agings").median);
    let by_chance = bound_of_chance(&learnt.differences(), values.len() as u64, alarm);
    let worse = worse(measure);
    // The floor is that of the change which people read.
    let is_large = |shift: f64| scale.change(shift).abs() >= NEGLIGIBLE;
    let moves =
        |sign: f64| sign * mean > by_chance && is_large(mean) && sign * middle > 0.0 && is_large(middle);
    let movement = if moves(worse) {
        Movement::Regressed
    } else if moves(-worse) {
        Movement::Improved
    } else {
        Movement::Unchanged
    };
    Moved {
        measure: learnt.measure.clone(),
        unit: measure.unit.to_owned(),
        side: learnt.side.clone(),
        baseline: on_scale(scale, &expected),
        now: on_scale(scale, values),
        scale,
        change: scale.change(mean),
        bound: largest_by_chance(scale, measure, by_chance),
        movement,
    }
}

/// The sign of a shift for the worse.
fn worse(measure: &Measure) -> f64 {
    if measure.better == Better::Lower { 1.0 } else { -1.0 }
}

/// The largest change for the worse that counts as chance, which explains shifts of this size.
fn largest_by_chance(scale: Scale, measure: &Measure, by_chance: f64) -> f64 {
    scale.change(worse(measure) * by_chance).abs().max(NEGLIGIBLE)
}

/// The mean of values on a scale.
fn on_scale(scale: Scale, values: &[f64]) -> f64 {
    match scale {
        Scale::Ratio => mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp(),
        Scale::Difference => mean(values),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::tests::{baseline, pair};
    use super::*;

    fn rules() -> Rules {
        Rules { false_alarms: 0.01, changed: Vec::new(), measures: Vec::new() }
    }

    /// New agings with these costs, layout scores and free extents on the aged side.
    fn aged(values: &[[f64; 3]]) -> Vec<Pair> {
        values.iter().zip(1..).map(|(values, seed)| pair(seed, *values)).collect()
    }

    fn movement(judgement: &Judgement, measure: &str) -> Movement {
        let found = judgement.measures.iter().find(|of| of.side == "aged" && of.measure == measure);
        found.unwrap_or_else(|| panic!("{measure} in {judgement:?}")).movement
    }

    #[test]
    fn equal_agings_pass() {
        let judgement =
            judge(&baseline(), &aged(&[[10.1, 0.9, 500.0], [19.9, 0.8, 510.0]]), &rules()).unwrap();
        assert!(!judgement.regressed, "{judgement:?}");
        assert_eq!((&judgement.seeds[..], judgement.baseline_pairs), (&[1, 2][..], 6));
    }

    #[test]
    fn the_measure_that_is_worse_regresses_and_no_other() {
        let judgement =
            judge(&baseline(), &aged(&[[15.0, 0.9, 400.0], [30.0, 0.8, 400.0]]), &rules()).unwrap();
        assert!(judgement.regressed);
        assert_eq!(movement(&judgement, "modelled_hdd_s_per_gib"), Movement::Regressed);
        assert_eq!(movement(&judgement, "layout_score"), Movement::Unchanged);
        assert_eq!(movement(&judgement, "free_extents"), Movement::Improved);
        let cost = &judgement.measures[0];
        assert!((cost.change - 0.5).abs() < 0.01 && cost.bound > 0.02 && cost.bound < 0.2, "{cost:?}");
        assert!(judgement.measures.iter().all(|of| of.side == "aged" || of.movement == Movement::Unchanged));
    }

    #[test]
    fn shares_regress_when_they_fall() {
        let judgement =
            judge(&baseline(), &aged(&[[10.0, 0.5, 500.0], [20.0, 0.4, 500.0]]), &rules()).unwrap();
        assert_eq!(movement(&judgement, "layout_score"), Movement::Regressed);
    }

    #[test]
    fn a_jump_of_one_aging_is_no_regression() {
        // The layout scores of the baseline do not differ at all.
        let values = [[10.0, 0.2, 500.0], [20.0, 0.8, 500.0], [30.0, 0.7, 500.0]];
        let judgement = judge(&baseline(), &aged(&values), &rules()).unwrap();
        assert_eq!(movement(&judgement, "layout_score"), Movement::Unchanged);
    }

    #[test]
    fn what_differs_must_be_what_is_tested() {
        let mut new = aged(&[[10.0, 0.9, 500.0]]);
        new[0].condition = Condition(vec![("kernel".to_owned(), "7".to_owned())]);
        let refused = judge(&baseline(), &new, &rules()).unwrap_err().to_string();
        assert!(refused.contains("kernel 7 (was 6)") && refused.ends_with("--changed kernel"), "{refused}");
        let permitted = Rules { changed: vec!["kernel".to_owned()], ..rules() };
        assert_eq!(judge(&baseline(), &new, &permitted).unwrap().changed.len(), 1);
        new.extend(aged(&[[10.0, 0.9, 500.0], [20.0, 0.8, 500.0]])[1..].to_vec());
        let refused = judge(&baseline(), &new, &permitted).unwrap_err().to_string();
        assert!(refused.contains("among each other in kernel"), "{refused}");
    }

    #[test]
    fn the_version_of_another_kernel_follows_from_it() {
        let facts = |kernel: &str, version: &str| {
            Condition(vec![
                ("version".to_owned(), version.to_owned()),
                ("kernel".to_owned(), kernel.to_owned()),
            ])
        };
        let kernel = ["kernel".to_owned()];
        let old = facts("6.1", "mke2fs 1.47; Linux 6.1");
        assert_eq!(permitted(&old, &facts("6.2", "mke2fs 1.47; Linux 6.2"), &kernel).unwrap().len(), 1);
        let refused =
            permitted(&old, &facts("6.2", "mke2fs 1.48; Linux 6.2"), &kernel).unwrap_err().to_string();
        assert!(refused.ends_with("--changed version"), "{refused}");
    }

    #[test]
    fn other_seeds_and_unknown_measures_are_refused() {
        let mut new = aged(&[[10.0, 0.9, 500.0]]);
        let wanted = Rules { measures: vec!["speed".to_owned()], ..rules() };
        let refused = judge(&baseline(), &new, &wanted).unwrap_err().to_string();
        assert!(refused.contains("no measure \"speed\"") && refused.contains("layout_score"), "{refused}");
        let one = Rules { measures: vec!["layout_score".to_owned()], ..rules() };
        assert_eq!(judge(&baseline(), &new, &one).unwrap().measures.len(), 2);
        new[0].seed = 99;
        let refused = judge(&baseline(), &new, &rules()).unwrap_err().to_string();
        assert!(refused.contains("1, 2, 3, 4, 5, 6"), "{refused}");
    }
}
