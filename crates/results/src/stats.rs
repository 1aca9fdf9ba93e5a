//! Means over agings and what their ratios tell; medians and correlations with their confidence intervals; means with their standard deviations.

mod correlation;
mod estimate;
mod holm;
mod mean;
mod shift;
mod verdict;

pub use correlation::{Correlation, correlation, spearman};
pub use estimate::{Estimate, Sample, TestedRatio};
pub use holm::holm;
pub use mean::{MeanAndDeviation, mean_and_deviation};
pub use shift::{Scale, bound_of_chance};
pub use verdict::{Told, Verdict, Words};

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Differences below this are not called differences: the placement of single files moves a scan as much.
pub const NEGLIGIBLE: f64 = 0.02;

/// The minimum confidence of an interval.
const CONFIDENCE: f64 = 0.95;

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The median.
    pub median: f64,
    /// Lower end; `None` for fewer than 6 values, because their order statistics cannot enclose the median with 95 % confidence.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Number of values.
    pub n: u64,
}

/// The median of the values and the interval between order statistics that encloses the true median with at least 95 % confidence for any
/// distribution (Conover, Practical Nonparametric Statistics, §3.2). `None` without values.
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = match n {
        0 => return None,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    };
    let binomial = Binomial::new(0.5, n as u64).expect("0.5 is a probability");
    // The k-th smallest and the k-th largest miss the median with probability 2·P(X < k), X ~ B(n, ½).
    let k = (1..=n / 2).take_while(|&k| 2.0 * binomial.cdf(k as u64 - 1) <= 1.0 - CONFIDENCE).last();
    Some(Interval { median, low: k.map(|k| sorted[k - 1]), high: k.map(|k| sorted[n - k]), n: n as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_match_published_tables() {
        // Conover, table A3: n = 6 gives the extremes, n = 10 the 2nd and 9th, n = 20 the 6th and 15th.
        for (n, k) in [(6, 1), (7, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (30, 10)] {
            let values: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let interval = median_interval(&values).unwrap();
            assert_eq!(
                (interval.low, interval.high),
                (Some(f64::from(k)), Some(f64::from(n + 1 - k))),
                "{n}"
            );
            assert_eq!(interval.median, (f64::from(n) + 1.0) / 2.0);
        }
    }

    #[test]
    fn few_values_have_no_interval() {
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[3.0]), Some(Interval { median: 3.0, low: None, high: None, n: 1 }));
        assert_eq!(median_interval(&[5.0, 1.0, 2.0, 9.0, 4.0]).unwrap().low, None);
    }
}
