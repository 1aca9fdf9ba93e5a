//! The difference of two samples: the rank-sum test of Wilcoxon (1945), and of Mann and Whitney (1947), which assumes no distribution, and
//! the matching ratio.

use super::CONFIDENCE;
use serde::Serialize;

/// Above this total number of values the rank sum is approximated by a normal distribution.
const EXACT: usize = 60;

/// The 97.5 % quantile of the standard normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

/// The difference of two samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The ratio of the second to the first sample: the geometric median of all ratios between the samples, after Hodges and Lehmann
    /// (1963). `None` if a value is not positive.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval (Conover, Practical Nonparametric Statistics, §5.4); `None` for too few values.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// The probability of a difference at least as large if both samples come from one distribution, two-sided; exact for up to 60 values,
    /// also with ties.
    pub p: f64,
    /// The minimum p of samples of these sizes: above 0.05 they are too small to detect a difference.
    pub least_p: f64,
}

impl Difference {
    /// Whether the samples are large enough to detect a difference with 95 % confidence.
    pub fn can_detect(&self) -> bool {
        self.least_p <= 1.0 - CONFIDENCE
    }

    /// Whether the difference is significant.
    pub fn is_significant(&self) -> bool {
        self.p <= 1.0 - CONFIDENCE
    }
}

/// Compares two samples of independent values; `None` if a sample is empty or a value is not finite.
pub fn difference(first: &[f64], second: &[f64]) -> Option<Difference> {
    let finite = |values: &[f64]| !values.is_empty() && values.iter().all(|value| value.is_finite());
    if !finite(first) || !finite(second) {
        return None;
    }
    let ranks = doubled_ranks(first, second);
    let observed: usize = ranks[first.len()..].iter().sum();
    let of_distinct: Vec<usize> = (1..=ranks.len()).map(|rank| 2 * rank).collect();
    let k = second.len();
    let top: usize = of_distinct[first.len()..].iter().sum();
    let (ratio, low, high) = match ratios(first, second) {
        Some(ratios) => {
            let ends = end(first.len(), second.len(), &of_distinct)
                .map(|at| (ratios[at], ratios[ratios.len() - 1 - at]));
            (Some(middle(&ratios)), ends.map(|ends| ends.0), ends.map(|ends| ends.1))
        }
        None => (None, None, None),
    };
    Some(Difference {
        ratio,
        low,
        high,
        p: two_sided(&ranks, k, observed),
        least_p: two_sided(&of_distinct, k, top),
    })
}

/// Twice the rank of every value among all values, the first sample first; equal values have their mean rank.
fn doubled_ranks(first: &[f64], second: &[f64]) -> Vec<usize> {
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let rank = |value: &f64| {
        let below = all.iter().filter(|other| *other < value).count();
        let equal = all.iter().filter(|other| *other == value).count();
        2 * below + equal + 1
    };
    all.iter().map(rank).collect()
}

/// The probability that the sum of `k` of these ranks, drawn without replacement, is at least as far from its mean as `sum`.
fn two_sided(ranks: &[usize], k: usize, sum: usize) -> f64 {
    let n = ranks.len();
    // The mean of a sum of k is k/n of the sum of all; scaled by n to stay in integers.
    let total: usize = ranks.iter().sum();
    let far = |sum: usize| (sum * n).abs_diff(total * k);
    if n > EXACT {
        let (n, k) = (n as f64, k as f64);
        let mean = total as f64 / n;
        let variance = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>() / n;
        let deviation = (k * (n - k) / (n - 1.0) * variance).sqrt();
        // Continuity correction of half a rank; ranks are doubled.
        let z = (far(sum) as f64 / n - 1.0).max(0.0) / deviation;
        return if z.is_finite() { statrs::function::erf::erfc(z / std::f64::consts::SQRT_2) } else { 1.0 };
    }
    let ways = ways(ranks, k);
    let all: f64 = ways.iter().sum();
    let as_far = ways.iter().enumerate().filter(|(other, _)| far(*other) >= far(sum));
    (as_far.map(|(_, ways)| ways).sum::<f64>() / all).min(1.0)
}

/// The number of ways in which `k` of the ranks have each sum.
fn ways(ranks: &[usize], k: usize) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; k + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for taken in (1..=k).rev() {
            for sum in (rank..=total).rev() {
                ways[taken][sum] += ways[taken - 1][sum - rank];
            }
        }
    }
    ways.swap_remove(k)
}

/// All ratios of a second to a first value, ascending; `None` if a value is not positive.
fn ratios(first: &[f64], second: &[f64]) -> Option<Vec<f64>> {
    if first.iter().chain(second).any(|value| *value <= 0.0) {
        return None;
    }
    let mut ratios: Vec<f64> = second.iter().flat_map(|b| first.iter().map(move |a| b / a)).collect();
    ratios.sort_by(f64::total_cmp);
    Some(ratios)
}

fn middle(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n % 2 == 1 { sorted[n / 2] } else { (sorted[n / 2 - 1] * sorted[n / 2]).sqrt() }
}

/// The number of ordered ratios outside of the interval at each end.
fn end(m: usize, n: usize, of_distinct: &[usize]) -> Option<usize> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    if m + n > EXACT {
        let (m, n) = (m as f64, n as f64);
        let k = m * n / 2.0 - Z_95 * (m * n * (m + n + 1.0) / 12.0).sqrt();
        return Some((k.max(1.0) as usize) - 1);
    }
    let ways = ways(of_distinct, n);
    let all: f64 = ways.iter().sum();
    let least: usize = of_distinct[..n].iter().sum();
    // P(U < k) ≤ 2.5 % for the largest such k; sums of doubled ranks increase in steps of two.
    let mut below = 0.0;
    let k = ways[least..].iter().step_by(2).take_while(|ways| {
        below += **ways / all;
        below <= tail
    });
    k.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    #[test]
    fn probabilities_match_published_tables() {
        // Completely separated samples: 2 of the ways to choose n of m + n, 1/10 for 3 and 3, 1/462 for 6 and 6.
        let apart =
            |n: u32| difference(&to(n), &to(n).iter().map(|x| x + 100.0).collect::<Vec<_>>()).unwrap();
        for (n, ways) in [(3, 20.0), (4, 70.0), (6, 924.0), (10, 184_756.0)] {
            assert!((apart(n).p - 2.0 / ways).abs() < 1e-12, "{n}");
            assert_eq!(apart(n).p, apart(n).least_p);
        }
        assert!(!apart(3).can_detect() && apart(4).can_detect() && apart(4).is_significant());
        // Conover, table A7: for 6 and 6 the 2.5 % quantile of U is 6, for 4 and 4 it is 1, for 10 and 10 it is 24.
        for (n, quantile) in [(4, 1), (6, 6), (10, 24)] {
            let distinct: Vec<usize> = (1..=2 * n).map(|rank| 2 * rank).collect();
            assert_eq!(end(n, n, &distinct), Some(quantile - 1), "{n}");
        }
        assert_eq!(end(3, 3, &[2, 4, 6, 8, 10, 12]), None);
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Of the 10 ways to choose 2 of the values 1, 1, 2, 2, 2, only the one with both 1 is as far below the mean.
        let tied = difference(&[2.0, 2.0, 2.0], &[1.0, 1.0]).unwrap();
        assert!((tied.p - 0.1).abs() < 1e-12, "{tied:?}");
        assert_eq!(difference(&[3.0; 6], &[3.0; 6]).unwrap().p, 1.0);
        assert_eq!(difference(&[3.0; 40], &[3.0; 40]).unwrap().p, 1.0);
    }

    #[test]
    fn ratio_has_an_interval_and_needs_positive_values() {
        let doubled: Vec<f64> = to(6).iter().map(|x| 2.0 * (x + 20.0)).collect();
        let first: Vec<f64> = to(6).iter().map(|x| x + 20.0).collect();
        let found = difference(&first, &doubled).unwrap();
        assert!((found.ratio.unwrap() - 2.0).abs() < 0.01, "{found:?}");
        assert!(
            found.low.unwrap() < 2.0 && found.low.unwrap() > 1.7 && found.high.unwrap() > 2.0,
            "{found:?}"
        );
        assert_eq!(difference(&[0.0, 1.0], &[1.0, 2.0]).unwrap().ratio, None);
        assert_eq!(difference(&[], &[1.0]), None);
        assert_eq!(difference(&[1.0], &[f64::NAN]), None);
    }

    #[test]
    fn approximation_is_close_for_many_values() {
        let (first, second): (Vec<f64>, Vec<f64>) =
            (0..30).map(|i| (f64::from(i), f64::from(i) + 7.3)).unzip();
        let exact = difference(&first, &second).unwrap();
        let ranks = doubled_ranks(&first, &second);
        let mut more = ranks.clone();
        more.push(61);
        assert!((two_sided(&more, 30, ranks[30..].iter().sum()) - exact.p).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn order_of_samples_only_inverts_the_ratio(first in prop::collection::vec(1u32..20, 1..12), second in prop::collection::vec(1u32..20, 1..12)) {
            let [first, second] = [first, second].map(|values| values.into_iter().map(f64::from).collect::<Vec<_>>());
            let (one, other) = (difference(&first, &second).unwrap(), difference(&second, &first).unwrap());
            prop_assert!((one.p - other.p).abs() < 1e-9 && (0.0..=1.0).contains(&one.p), "{one:?} {other:?}");
            prop_assert!((one.ratio.unwrap() * other.ratio.unwrap() - 1.0).abs() < 1e-9);
            if let (Some(low), Some(high)) = (one.low, one.high) {
                prop_assert!(low <= one.ratio.unwrap() && one.ratio.unwrap() <= high);
            }
        }
    }
}
