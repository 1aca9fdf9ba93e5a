//! Goodness of fit of live files to a target histogram: root-mean-square error and chi-square test.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF as _};

/// A target histogram and the actual number of files in each bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Labels of the bins.
    pub label: Vec<String>,
    /// Target share of each bin; sums to 1.
    pub target: Vec<f64>,
    /// Files in each bin.
    pub count: Vec<u64>,
}

impl Fit {
    /// Share of the files in bin `i`; 0 without files.
    pub fn actual_share(&self, i: usize) -> f64 {
        let files = self.files();
        if files == 0 { 0.0 } else { self.count[i] as f64 / files as f64 }
    }

    /// Root mean square over the bins of the difference between actual and target share, as Geriatrix
    /// reports it (geriatrix17, §4).
    pub fn rms_error(&self) -> f64 {
        let squares: f64 =
            self.target.iter().enumerate().map(|(i, g)| (self.actual_share(i) - g).powi(2)).sum();
        (squares / self.target.len() as f64).sqrt()
    }

    /// The p-value of Pearson's chi-square test that the files were drawn from the target: near 1 for a good
    /// fit, near 0 for a bad one. Neighbouring bins are merged until each expects at least five files, the
    /// usual condition of the test (Cochran 1954). Files in a bin with an expected count of 0 give a p-value
    /// of 0.
    pub fn p_value(&self) -> f64 {
        let files = self.files() as f64;
        if self.target.iter().zip(&self.count).any(|(&g, &n)| g == 0.0 && n > 0) || files == 0.0 {
            return 0.0;
        }
        let mut merged: Vec<(f64, f64)> = Vec::new();
        let mut open = (0.0, 0.0);
        for (g, &n) in self.target.iter().zip(&self.count) {
            open = (open.0 + g * files, open.1 + n as f64);
            if open.0 >= 5.0 {
                merged.push(open);
                open = (0.0, 0.0);
            }
        }
        match merged.last_mut() {
            Some(last) => *last = (last.0 + open.0, last.1 + open.1),
            None => merged.push(open),
        }
        if merged.len() < 2 {
            return 1.0;
        }
        let statistic: f64 = merged.iter().map(|(expected, n)| (n - expected).powi(2) / expected).sum();
        let law =
            ChiSquared::new((merged.len() - 1) as f64).expect("the test has at least one degree of freedom");
        law.sf(statistic)
    }

    fn files(&self) -> u64 {
        self.count.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(target: &[f64], count: &[u64]) -> Fit {
        Fit { label: vec![String::new(); target.len()], target: target.to_vec(), count: count.to_vec() }
    }

    #[test]
    fn rms_error_matches_known_values() {
        assert_eq!(fit(&[0.5, 0.5], &[50, 50]).rms_error(), 0.0);
        assert!((fit(&[0.5, 0.5], &[60, 40]).rms_error() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn p_value_matches_published_tables() {
        // (60-50)²/50 twice is 4.0 with one degree of freedom: p = 0.0455.
        assert!((fit(&[0.5, 0.5], &[60, 40]).p_value() - 0.0455).abs() < 1e-4);
        assert_eq!(fit(&[0.5, 0.5], &[50, 50]).p_value(), 1.0);
        assert_eq!(fit(&[1.0, 0.0], &[99, 1]).p_value(), 0.0);
        assert_eq!(fit(&[0.5, 0.5], &[0, 0]).p_value(), 0.0);
        // Bins with an expected count below five are merged.
        assert_eq!(fit(&[0.98, 0.01, 0.01], &[98, 2, 0]).p_value(), 1.0);
    }
}
