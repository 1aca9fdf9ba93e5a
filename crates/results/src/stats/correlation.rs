//! The correlation of two measures of a series, as Conway et al. 2017 report it for layout score and cost.

use serde::{Deserialize, Serialize};

/// The 97.5 % quantile of the standard normal distribution.
const Z_95: f64 = 1.959_963_984_540_054;

/// A correlation with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// Pearson's r: 1 or −1 if the pairs are on a line, 0 without any linear relation.
    pub r: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of pairs.
    pub n: u64,
}

/// Pearson's correlation of pairs, with the interval of Fisher's z transformation: artanh r is nearly normal with standard deviation 1/√(n
/// − 3) if the pairs are (Fisher, Statistical Methods for Research Workers, 1925, §35). `None` for fewer than 4 pairs, for a constant
/// measure, and for numbers that are not finite.
pub fn correlation(pairs: &[(f64, f64)]) -> Option<Correlation> {
    if pairs.len() < 4 {
        return None;
    }
    let (r, n) = (pearson(pairs)?, pairs.len() as f64);
    let (z, margin) = (r.atanh(), Z_95 / (n - 3.0).sqrt());
    Some(Correlation { r, low: (z - margin).tanh(), high: (z + margin).tanh(), n: pairs.len() as u64 })
}

/// Spearman's rank correlation of pairs: 1 or −1 if one measure rises or falls with the other. Equal values share the mean of their ranks.
/// `None` for fewer than 3 pairs, for a constant measure, and for numbers that are not finite.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let ranks = |of: fn(&(f64, f64)) -> f64| {
        let rank = |value: f64| {
            let below = pairs.iter().filter(|pair| of(pair) < value).count();
            let equal = pairs.iter().filter(|pair| of(pair) == value).count();
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        pairs.iter().map(of).map(rank).collect::<Vec<_>>()
    };
    if pairs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let ranked: Vec<(f64, f64)> = ranks(|pair| pair.0).into_iter().zip(ranks(|pair| pair.1)).collect();
    pearson(&ranked)
}

/// Pearson's r; `None` for a constant measure, and for numbers that are not finite.
fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    if pairs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    // Compares the values themselves, because rounding may give equal values a nonzero variance.
    let constant =
        |same: fn(&(f64, f64), &(f64, f64)) -> bool| pairs.iter().all(|pair| same(pair, &pairs[0]));
    if constant(|a, b| a.0 == b.0) || constant(|a, b| a.1 == b.1) {
        return None;
    }
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (mean_x, mean_y) = (sum(&|pair| pair.0) / n, sum(&|pair| pair.1) / n);
    let covariance = sum(&|(x, y)| (x - mean_x) * (y - mean_y));
    let (spread_x, spread_y) = (sum(&|(x, _)| (x - mean_x).powi(2)), sum(&|(_, y)| (y - mean_y).powi(2)));
    let r = (covariance / (spread_x.sqrt() * spread_y.sqrt())).clamp(-1.0, 1.0);
    (!r.is_nan()).then_some(r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within, "{found} is not {expected}");
    }

    #[test]
    fn correlation_matches_manual_calculation() {
        // From the means, 2.5: 2.25 − 0.25 − 0.25 + 2.25 = 4, and 2.25 + 0.25 + 0.25 + 2.25 = 5 for both: r = 4/5.
        let four = correlation(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)]).unwrap();
        close(four.r, 0.8, 1e-12);
        // artanh 0.8 = ½ ln 9 = 1.0986123; 1.0986123 ± 1.9599640 = −0.8613517 and 3.0585763.
        close(four.low, -0.6969, 1e-4);
        close(four.high, 0.9956, 1e-4);
        // The same pairs seven times: 28 pairs, a fifth of the margin.
        let pairs = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)].repeat(7);
        let many = correlation(&pairs).unwrap();
        close(many.r, 0.8, 1e-12);
        close(many.low, (9f64.ln() / 2.0 - Z_95 / 5.0).tanh(), 1e-12);
        assert_eq!(many.n, 28);
    }

    #[test]
    fn ranks_are_correlated() {
        // Rising, but not on a line.
        close(spearman(&[(1.0, 1.0), (2.0, 10.0), (3.0, 1000.0)]).unwrap(), 1.0, 1e-12);
        close(spearman(&[(1.0, 5.0), (2.0, 4.0), (30.0, 3.0)]).unwrap(), -1.0, 1e-12);
        // Ranks 0, 1½, 1½, 3 and 0, 1, 2, 3: deviations −1.5, 0, 0, 1.5 and −1.5, −0.5, 0.5, 1.5: 4.5 / √(4.5 · 5).
        close(
            spearman(&[(1.0, 1.0), (2.0, 2.0), (2.0, 3.0), (3.0, 4.0)]).unwrap(),
            4.5 / 22.5f64.sqrt(),
            1e-12,
        );
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]), None);
    }

    #[test]
    fn points_on_a_line_have_a_narrow_interval() {
        let falling = [(0.9, 1.0), (0.5, 2.0), (0.1, 3.0), (-0.3, 4.0)].map(|(x, y)| (x * 1e9, y));
        let exact = correlation(&falling).unwrap();
        close(exact.r, -1.0, 1e-12);
        assert!(exact.low <= exact.r && exact.high < -0.99, "{exact:?}");
    }

    #[test]
    fn degenerate_pairs_have_no_correlation() {
        let line = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)];
        assert_eq!(correlation(&[]), None);
        assert_eq!(correlation(&line), None);
        // A tenth has no exact binary representation.
        assert_eq!(correlation(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|x| (x, 0.1))), None);
        assert_eq!(correlation(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|y| (0.1, y))), None);
        assert_eq!(correlation(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, f64::NAN)]), None);
        assert_eq!(correlation(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (f64::INFINITY, 4.0)]), None);
    }

    proptest! {
        #[test]
        fn interval_encloses_r_and_correlation_is_symmetric(pairs in prop::collection::vec((-1e6..1e6, -1e6..1e6), 4..50)) {
            let one = correlation(&pairs).unwrap();
            prop_assert!(-1.0 <= one.low && one.low <= one.r && one.r <= one.high && one.high <= 1.0, "{one:?}");
            let other = correlation(&pairs.iter().map(|(x, y)| (*y, *x)).collect::<Vec<_>>()).unwrap();
            prop_assert!((one.r - other.r).abs() < 1e-9);
        }
    }
}
