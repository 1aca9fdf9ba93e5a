//! Means over independent agings, with their confidence intervals.

use super::CONFIDENCE;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The values of one measure over independent agings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The values.
    pub values: Vec<f64>,
    /// The seeds of the agings, in the same order; empty if the values cannot be paired.
    pub seeds: Vec<u64>,
}

impl Sample {
    /// The ratio of the means, paired if both samples have the same seeds. `None` without values, or if one is not positive.
    pub fn ratio_to(&self, other: &Sample) -> Option<Estimate> {
        self.test_against(other).map(|tested| tested.ratio)
    }

    /// The same ratio with the probability that chance makes it.
    pub fn test_against(&self, other: &Sample) -> Option<TestedRatio> {
        if !self.seeds.is_empty() && self.seeds == other.seeds {
            let ratios = self.values.iter().zip(&other.values).map(|(of, to)| of / to);
            return TestedRatio::geometric(&ratios.collect::<Vec<_>>());
        }
        Some(Moments::of_ratio(&self.values, &other.values)?.tested())
    }
}

/// A ratio of costs, and how likely chance alone makes one as far from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestedRatio {
    /// The ratio.
    pub ratio: Estimate,
    /// The probability of a ratio as far from 1 in either direction if nothing differs, by Student's t distribution; `None` for a single aging.
    pub p_value: Option<f64>,
}

impl TestedRatio {
    /// The geometric mean of ratios of independent agings. `None` without values, or if one is not positive.
    pub fn geometric(ratios: &[f64]) -> Option<TestedRatio> {
        let tested = Moments::of(&logarithms(ratios)?)?.tested();
        Some(TestedRatio { ratio: Estimate::geometric(ratios)?, ..tested })
    }
}

/// A mean over independent agings with its 95 % confidence interval. Repetitions of one measurement on one aged file system are not
/// independent: their average is one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean: geometric for ratios and costs, otherwise arithmetic.
    pub mean: f64,
    /// Lower end of the interval; `None` for a single aging.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Number of agings.
    pub n: u64,
}

impl Estimate {
    /// The arithmetic mean with the interval of Student's t distribution. `None` without values, or if one is not finite.
    pub fn arithmetic(values: &[f64]) -> Option<Estimate> {
        Some(Moments::of(values)?.estimate(|end| end))
    }

    /// The geometric mean with the interval of Student's t distribution for the logarithms. `None` without values, or if one is not positive.
    pub fn geometric(values: &[f64]) -> Option<Estimate> {
        let estimate = Moments::of(&logarithms(values)?)?.estimate(f64::exp);
        // The logarithm would round a single value.
        Some(if let [one] = values { Estimate { mean: *one, ..estimate } } else { estimate })
    }

    /// The ratio of two geometric means of independent samples with the interval of Welch (1947), which lets their variances differ.
    /// [`Estimate::n`] is the size of the smaller sample.
    pub fn ratio(of: &[f64], to: &[f64]) -> Option<Estimate> {
        Some(Moments::of_ratio(of, to)?.estimate(f64::exp))
    }

    /// Both ends, if there is an interval.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().all(|value| *value > 0.0).then(|| values.iter().map(|value| value.ln()).collect())
}

/// The mean of a sample and its standard error.
struct Moments {
    mean: f64,
    error: f64,
    n: f64,
    /// Degrees of freedom of the error.
    degrees: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Moments> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Moments { mean, error: (squares / (n - 1.0).max(1.0) / n).sqrt(), n, degrees: n - 1.0 })
    }

    /// The difference of the logarithms of two independent samples, by Welch (1947).
    fn of_ratio(of: &[f64], to: &[f64]) -> Option<Moments> {
        let (a, b) = (Moments::of(&logarithms(of)?)?, Moments::of(&logarithms(to)?)?);
        let [va, vb] = [&a, &b].map(|sample| sample.error.powi(2));
        let degrees = (va + vb).powi(2) / (va.powi(2) / a.degrees + vb.powi(2) / b.degrees);
        // Two constant samples: the interval is a point, whatever the degrees of freedom.
        let degrees = if va + vb == 0.0 { a.degrees.min(b.degrees) } else { degrees };
        Some(Moments { mean: a.mean - b.mean, error: (va + vb).sqrt(), n: a.n.min(b.n), degrees })
    }

    /// Student's t distribution; `None` for a single value.
    fn students(&self) -> Option<StudentsT> {
        let is_known = self.n > 1.0 && self.degrees > 0.0;
        is_known.then(|| StudentsT::new(0.0, 1.0, self.degrees).expect("there are degrees of freedom"))
    }

    fn estimate(&self, scale: impl Fn(f64) -> f64) -> Estimate {
        let margin =
            self.students().map(|students| students.inverse_cdf(1.0 - (1.0 - CONFIDENCE) / 2.0) * self.error);
        let end = |sign: f64| margin.map(|margin| scale(self.mean + sign * margin));
        Estimate { mean: scale(self.mean), low: end(-1.0), high: end(1.0), n: self.n as u64 }
    }

    /// The ratio of which these are the moments of the logarithm.
    fn tested(&self) -> TestedRatio {
        let p_value = |students: StudentsT| match self.error {
            0.0 if self.mean == 0.0 => 1.0,
            0.0 => 0.0,
            error => 2.0 * students.cdf(-(self.mean / error).abs()),
        };
        TestedRatio { ratio: self.estimate(f64::exp), p_value: self.students().map(p_value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-3, "{found:?} is not {expected}");
    }

    #[test]
    fn interval_matches_published_quantiles() {
        // Student's t, 97.5 %: 4.3027 for 2 degrees of freedom, 12.706 for 1. The standard error of 1, 2, 3 is 1/√3.
        let three = Estimate::arithmetic(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((three.mean, three.n), (2.0, 3));
        close(three.low, 2.0 - 4.3027 / 3f64.sqrt());
        close(three.high, 2.0 + 4.3027 / 3f64.sqrt());
        let two = Estimate::arithmetic(&[1.0, 3.0]).unwrap();
        close(two.high, 2.0 + 12.706);
    }

    #[test]
    fn geometric_mean_is_that_of_logarithms() {
        let found = Estimate::geometric(&[1.0, 2.0, 4.0]).unwrap();
        assert!((found.mean - 2.0).abs() < 1e-12);
        close(found.high, 2.0 * (4.3027 * 2f64.ln() / 3f64.sqrt()).exp());
        assert_eq!(Estimate::geometric(&[1.0, 0.0]), None);
    }

    #[test]
    fn ratio_of_independent_samples_has_the_interval_of_welch() {
        // Equal variances and sizes: 2 (n − 1) = 4 degrees of freedom, t = 2.7764; the standard error is √(2/3)·ln 2.
        let found = Estimate::ratio(&[4.0, 8.0, 16.0], &[1.0, 2.0, 4.0]).unwrap();
        assert!((found.mean - 4.0).abs() < 1e-12);
        close(found.high, 4.0 * (2.7764 * 2f64.ln() * (2f64 / 3.0).sqrt()).exp());
        let constant = Estimate::ratio(&[3.0, 3.0], &[1.0, 1.0]).unwrap();
        assert_eq!(constant.low.map(|low| (low * 1e9).round()), Some(3e9));
    }

    #[test]
    fn equal_seeds_are_paired() {
        let sample =
            |values: [f64; 3], seeds: [u64; 3]| Sample { values: values.into(), seeds: seeds.into() };
        let (of, to) = (sample([2.0, 4.0, 8.0], [1, 2, 3]), sample([1.0, 2.0, 4.0], [1, 2, 3]));
        let paired = of.ratio_to(&to).unwrap();
        assert!((paired.low.unwrap() - 2.0).abs() < 1e-9, "{paired:?}");
        let unpaired = of.ratio_to(&sample(to.values.as_slice().try_into().unwrap(), [4, 5, 6])).unwrap();
        assert!(unpaired.low.unwrap() < 0.6 && (unpaired.mean - 2.0).abs() < 1e-9, "{unpaired:?}");
    }

    #[test]
    fn p_values_match_published_quantiles() {
        let p_value = |ratios: &[f64]| TestedRatio::geometric(ratios).unwrap().p_value;
        // The mean of the logarithms is 4.3027 standard errors from 0: 5 % for 2 degrees of freedom.
        let (mean, spread) = (4.3027 / 3f64.sqrt(), 1.0);
        let at = [mean - spread, mean, mean + spread].map(f64::exp);
        close(p_value(&at), 0.05);
        close(p_value(&at.map(f64::recip)), 0.05);
        assert_eq!(
            (p_value(&[1.0, 1.0]), p_value(&[2.0, 2.0]), p_value(&[2.0])),
            (Some(1.0), Some(0.0), None)
        );
        // Welch, equal variances and sizes: t = 2.7764 for 4 degrees of freedom.
        let shift = 2.7764 * (2f64 / 3.0).sqrt();
        let sample =
            |by: f64| Sample { values: [-1.0, 0.0, 1.0].map(|v| f64::exp(v + by)).into(), seeds: vec![] };
        close(sample(shift).test_against(&sample(0.0)).unwrap().p_value, 0.05);
    }

    #[test]
    fn one_aging_has_no_interval() {
        assert_eq!(Estimate::arithmetic(&[7.0]), Some(Estimate { mean: 7.0, low: None, high: None, n: 1 }));
        assert_eq!(Estimate::ratio(&[2.0, 3.0], &[1.0]).unwrap().ends(), None);
        for none in [&[][..], &[f64::NAN]] {
            assert_eq!((Estimate::arithmetic(none), Estimate::geometric(none)), (None, None));
        }
    }

    proptest! {
        #[test]
        fn mean_lies_in_the_interval(values in prop::collection::vec(0.01f64..100.0, 2..9)) {
            for estimate in [Estimate::arithmetic(&values), Estimate::geometric(&values), Estimate::ratio(&values, &[1.0, 2.0])] {
                let estimate = estimate.unwrap();
                let (low, high) = estimate.ends().unwrap();
                prop_assert!(low <= estimate.mean && estimate.mean <= high, "{:?}", estimate);
            }
        }
    }
}
