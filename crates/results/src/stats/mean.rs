//! Mean and standard deviation, for benchmarks published with them.

use serde::{Deserialize, Serialize};

/// A mean with its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanAndDeviation {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample (over n − 1); `None` for a single value.
    pub deviation: Option<f64>,
    /// Number of values.
    pub n: u64,
}

/// Mean and standard deviation; `None` without values.
pub fn mean_and_deviation(values: &[f64]) -> Option<MeanAndDeviation> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
    Some(MeanAndDeviation { mean, deviation, n: n as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_is_that_of_a_sample() {
        let eight = mean_and_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((eight.mean, eight.n), (5.0, 8));
        assert!((eight.deviation.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(mean_and_deviation(&[3.0]), Some(MeanAndDeviation { mean: 3.0, deviation: None, n: 1 }));
        assert_eq!(mean_and_deviation(&[]), None);
    }
}
