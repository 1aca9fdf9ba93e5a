//! Validates profiles, and calculates the cost of aging with them.

use crate::{Error, Profile};

/// Maximum number of bins of a histogram; more bins indicate a mistake.
const MAX_BINS: usize = 4096;

/// Maximum directory depth of a profile: the path must fit the kernel's limit.
const DEEPEST: u32 = 256;

/// Maximum weight. Weights are counts of files or shares; with larger ones, sums lose the precision of small ones.
const MAX_WEIGHT: f64 = 1e15;

/// Maximum operations per live file of a profile; the published profiles need at most a few thousand. With more, an age bin
/// is too narrow for its weight.
const MAX_OPERATIONS_PER_FILE: f64 = 1e9;

/// Weights as shares of their sum.
pub fn shares(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

impl Profile {
    /// Checks that every histogram has ascending edges and valid weights, and that `fullness` is valid.
    pub fn check(&self) -> Result<(), Error> {
        self.check_age().map_err(|why| self.wrong("age", why))?;
        self.check_size().map_err(|why| self.wrong("size", why))?;
        self.check_depth().map_err(|why| self.wrong("depth", why))?;
        if let Some(fullness) = self.fullness.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            return Err(self.wrong("fullness", format!("{fullness} must be above 0 and at most 1")));
        }
        Ok(())
    }

    fn wrong(&self, section: &'static str, why: String) -> Error {
        Error::Histogram { profile: self.name.clone(), section, why }
    }

    fn check_age(&self) -> Result<(), String> {
        let upper = &self.age.upper;
        if upper.iter().any(|e| !e.is_finite() || *e <= 0.0) || !rises(upper) {
            return Err("upper edges must be ascending numbers above 0".to_owned());
        }
        check_weights("upper", upper.len(), &self.age.weight)?;
        let bound = self.bound_operations_per_file();
        if bound.is_nan() || bound > MAX_OPERATIONS_PER_FILE {
            return Err(format!(
                "these ages need {bound:.0e} operations per live file, but at most \
                 {MAX_OPERATIONS_PER_FILE:.0e} can be planned; widen the bins"
            ));
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), String> {
        let upper = &self.size.upper_bytes;
        if !rises(upper) {
            return Err("upper_bytes must be ascending".to_owned());
        }
        if upper.last().is_some_and(|&last| last > i64::MAX as u64) {
            return Err("upper_bytes must be below 2^63, the maximum file size".to_owned());
        }
        check_weights("upper_bytes", upper.len(), &self.size.weight)
    }

    fn check_depth(&self) -> Result<(), String> {
        let depth = &self.depth.depth;
        if !rises(depth) || depth.last().is_some_and(|&d| d > DEEPEST) {
            return Err(format!("depths must be ascending and at most {DEEPEST}"));
        }
        if self.depth.subdirectories.len() != depth.len() {
            let (n, m) = (self.depth.subdirectories.len(), depth.len());
            return Err(format!("{n} numbers of subdirectories for {m} depths; give one for each"));
        }
        if self.depth.subdirectories.iter().any(|&n| n > u64::from(u32::MAX)) {
            return Err("subdirectories must be below 2^32".to_owned());
        }
        check_weights("depth", depth.len(), &self.depth.weight)
    }

    /// T/K: the minimum number of operations (creations and deletions) per live file that can meet the age
    /// histogram, max(2·max_{b<B} g_b/s_b, 1/s_B) (DESIGN §4).
    pub fn bound_operations_per_file(&self) -> f64 {
        let oldest = self.age.upper[self.age.upper.len() - 1];
        let mut lower = 0.0;
        let mut bound: f64 = 0.0;
        for (b, (upper, share)) in self.age.upper.iter().zip(shares(&self.age.weight)).enumerate() {
            let span = (upper - lower) / oldest;
            let last = b + 1 == self.age.upper.len();
            bound = bound.max(if last { 1.0 / span } else { 2.0 * share / span });
            lower = *upper;
        }
        bound
    }

    /// The bytes created over capacity that correspond to the bound at the given fullness, if churn keeps the
    /// size distribution: half of the operations after the fill are creations.
    pub fn bound_overwrites(&self, fullness: f64) -> f64 {
        fullness * (self.bound_operations_per_file() + 1.0) / 2.0
    }
}

fn rises<T: PartialOrd>(values: &[T]) -> bool {
    values.windows(2).all(|pair| pair[0] < pair[1])
}

fn check_weights(edges_name: &str, edges: usize, weights: &[f64]) -> Result<(), String> {
    if edges == 0 || edges > MAX_BINS {
        return Err(format!("a histogram must have 1 to {MAX_BINS} bins, but this one has {edges}"));
    }
    if weights.len() != edges {
        return Err(format!("{} weights for {edges} bins of {edges_name}; give one for each", weights.len()));
    }
    if let Some(bad) = weights.iter().find(|w| !w.is_finite() || **w < 0.0) {
        return Err(format!("weight {bad} must be a number of at least 0"));
    }
    if let Some(bad) = weights.iter().find(|w| **w > MAX_WEIGHT) {
        return Err(format!("weight {bad:e} exceeds {MAX_WEIGHT:e}; give counts of files, or shares"));
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Err("all weights are 0; at least one must be above 0".to_owned());
    }
    Ok(())
}
