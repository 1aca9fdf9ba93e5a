//! Whether a measure moved: the shift of several agings against earlier ones with the same seeds, beside what equal agings differ by.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// How two values of a measure are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By the logarithm of their ratio: costs, counts and lengths, which are positive.
    Ratio,
    /// By their difference: shares, which may be zero.
    Difference,
}

impl Scale {
    /// The shift from one value to another, 0 if they are equal.
    pub fn shift(self, from: f64, to: f64) -> f64 {
        match self {
            Scale::Ratio => (to / from).ln(),
            Scale::Difference => to - from,
        }
    }

    /// A shift as people read it: by what share the value changed, or by how many hundredths for shares.
    pub fn change(self, shift: f64) -> f64 {
        match self {
            Scale::Ratio => shift.exp_m1(),
            Scale::Difference => shift,
        }
    }
}

/// By how much the mean of `n` agings may lie above its baseline by chance: more than this happens with probability `alarm` if nothing changed.
///
/// `differences` are the shifts within pairs of equal agings, whose mean is zero. The baseline of a seed is the mean of such a pair, so that a new
/// aging differs from it with three quarters of their variance. The bound is the quantile of Student's t distribution, with one degree of freedom
/// for each pair.
pub fn bound_of_chance(differences: &[f64], n: u64, alarm: f64) -> f64 {
    let pairs = differences.len() as f64;
    let variance = differences.iter().map(|difference| difference.powi(2)).sum::<f64>() / pairs;
    let students = StudentsT::new(0.0, 1.0, pairs).expect("there are pairs");
    students.inverse_cdf(1.0 - alarm) * (variance * 0.75 / n as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_matches_published_quantiles() {
        // Student's t with 20 degrees of freedom: 99 % 2.528, 99.9 % 3.552, 99.99 % 4.539.
        let differences = [[0.1, -0.1]; 10].concat();
        for (alarm, quantile) in [(0.01, 2.528), (0.001, 3.552), (0.0001, 4.539)] {
            let found = bound_of_chance(&differences, 3, alarm);
            assert!((found - quantile * 0.1 * 0.5).abs() < 1e-4, "{alarm}: {found}");
        }
        // Four times as many agings halve it.
        assert!(
            (bound_of_chance(&differences, 12, 0.01) / bound_of_chance(&differences, 3, 0.01) - 0.5).abs()
                < 1e-12
        );
    }

    #[test]
    fn shifts_are_read_as_changes() {
        let ratio = Scale::Ratio.shift(2.0, 3.0);
        assert!((Scale::Ratio.change(ratio) - 0.5).abs() < 1e-12);
        assert!((Scale::Difference.shift(0.9, 0.7) + 0.2).abs() < 1e-12);
        assert_eq!(Scale::Difference.change(-0.2), -0.2);
    }

    /// Alarms among tests of new agings that do not differ from those of the baseline.
    #[test]
    fn equal_agings_exceed_the_bound_as_seldom_as_stated() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        // The sum of twelve uniform numbers is nearly normal.
        let mut value = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let (n, alarm, trials) = (4, 0.05, 4000);
        let mut alarms = 0;
        for _ in 0..trials {
            let pairs: Vec<[f64; 2]> = (0..20).map(|_| [value(), value()]).collect();
            let differences: Vec<f64> = pairs.iter().map(|[a, b]| b - a).collect();
            let shifts = pairs[..n].iter().map(|[a, b]| value() - (a + b) / 2.0);
            alarms +=
                u32::from(shifts.sum::<f64>() / n as f64 > bound_of_chance(&differences, n as u64, alarm));
        }
        let rate = f64::from(alarms) / f64::from(trials);
        // The baseline of the tested seeds and the bound come from the same pairs, which changes little.
        assert!((0.03..0.07).contains(&rate), "{rate}");
    }
}
