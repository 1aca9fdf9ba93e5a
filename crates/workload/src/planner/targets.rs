//! The three target histograms of an aging, and the comparison of live files with them.

use crate::Error;
use crate::planner::apportion::largest_remainder;
use crate::planner::calendar::Calendar;
use crate::planner::sizes::{BLOCK_BYTES, Sizes};
use crate::planner::{AgingStats, ChurnStats, Conditions, Counters, Fit, LiveFile, MAX_OVERWRITES, Plan};
use profile::{AgeHistogram, DepthHistogram};

/// Targets of an aging.
pub(crate) struct Targets {
    capacity_bytes: u64,
    pub age: AgeHistogram,
    /// Share of the files in each age bin, youngest first.
    pub age_share: Vec<f64>,
    /// Number and sizes of the files.
    pub sizes: Sizes,
    size_label: Vec<String>,
    pub depth: DepthHistogram,
    /// Share of the files at each depth of the histogram.
    pub depth_share: Vec<f64>,
    /// Least number of operations per live file.
    bound_per_file: f64,
    /// Overwrites at the bound.
    bound_overwrites: f64,
}

fn shares(weight: &[f64]) -> Vec<f64> {
    let total: f64 = weight.iter().sum();
    weight.iter().map(|w| w / total).collect()
}

impl Targets {
    /// Checks the conditions and derives the targets.
    pub fn new(conditions: &Conditions) -> Result<Targets, Error> {
        let Conditions { profile, capacity_bytes, fullness, .. } = conditions;
        profile.check()?;
        check_fullness(*fullness)?;
        if let Some(overwrites) = conditions.overwrites.filter(|n| !(*n > 0.0 && *n <= MAX_OVERWRITES)) {
            return Err(Error::Conditions(format!(
                "overwrites {overwrites} must be above 0 and at most {MAX_OVERWRITES}"
            )));
        }
        let live_bytes = (*capacity_bytes as f64 * fullness) as u64;
        if live_bytes < BLOCK_BYTES {
            return Err(Error::Conditions(format!(
                "{capacity_bytes} bytes are too small for a file of {BLOCK_BYTES} bytes at fullness \
                 {fullness}; use a larger --size"
            )));
        }
        let sizes = Sizes::fit(&profile.size, live_bytes)?;
        Ok(Targets {
            capacity_bytes: *capacity_bytes,
            age: profile.age.clone(),
            age_share: shares(&profile.age.weight),
            size_label: profile.size.upper_bytes.iter().map(u64::to_string).collect(),
            sizes,
            depth: profile.depth.clone(),
            depth_share: shares(&profile.depth.weight),
            bound_per_file: profile.bound_operations_per_file(),
            bound_overwrites: profile.bound_overwrites(*fullness),
        })
    }

    /// Live files at the end.
    pub fn files(&self) -> u64 {
        self.sizes.files()
    }

    /// Files at each depth of the histogram.
    pub fn depth_count(&self) -> Vec<u64> {
        largest_remainder(&self.depth_share, self.files())
    }

    /// The bound in operations.
    pub fn bound_operations(&self) -> u64 {
        (self.files() as f64 * self.bound_per_file).ceil() as u64
    }

    /// Blocks created in total for the given overwrites.
    pub fn overwritten_blocks(&self, overwrites: f64) -> f64 {
        overwrites * self.capacity_bytes as f64 / BLOCK_BYTES as f64
    }

    /// The part of the plan that is common to all methods.
    pub fn plan(&self, live_blocks: u64, directories: u64, operations: u64, age_error: Option<f64>) -> Plan {
        Plan {
            live_files: self.files(),
            live_bytes: live_blocks * BLOCK_BYTES,
            directories,
            operations,
            bound_operations: self.bound_operations(),
            bound_overwrites: self.bound_overwrites,
            age_rms_error: age_error,
            omitted_bins: self.sizes.omitted_bins.clone(),
        }
    }

    /// The age histogram with `count` files in its bins.
    pub fn age_fit(&self, count: Vec<u64>) -> Fit {
        let oldest = self.age.upper.last().expect("a checked histogram has bins");
        let label = self.age.upper.iter().map(|e| format!("{:.4}", e / oldest)).collect();
        Fit { label, target: self.age_share.clone(), count }
    }

    /// Compares live files with the targets, as if the aging ended now.
    pub fn stats<'a>(
        &self,
        live: impl Iterator<Item = &'a LiveFile>,
        depths: &[u16],
        counters: &Counters,
    ) -> AgingStats {
        let calendar = Calendar::new(&self.age, counters.operations());
        let depth_bin = self.depth_bins();
        let mut age = vec![0; self.age_share.len()];
        let mut size = vec![0; self.size_label.len()];
        let mut depth = vec![0; self.depth_share.len()];
        let mut live_files = 0;
        for file in live {
            live_files += 1;
            age[calendar.bin_of(file.born)] += 1;
            size[self.sizes.bin_of(file.size)] += 1;
            if let Some(bin) = depth_bin.get(depths[file.dir.0 as usize] as usize).copied().flatten() {
                depth[bin] += 1;
            }
        }
        let over_capacity = |blocks: u64| (blocks * BLOCK_BYTES) as f64 / self.capacity_bytes as f64;
        AgingStats {
            operations: counters.operations(),
            creations: counters.creations,
            deletions: counters.deletions,
            overwrites: over_capacity(counters.created_blocks),
            created_bytes: counters.created_bytes,
            fullness: over_capacity(counters.live_blocks),
            live_files,
            churn: (counters.churn != ChurnStats::default()).then_some(counters.churn),
            age: self.age_fit(age),
            size: Fit { label: self.size_label.clone(), target: self.sizes.share.clone(), count: size },
            depth: Fit {
                label: self.depth.depth.iter().map(u32::to_string).collect(),
                target: self.depth_share.clone(),
                count: depth,
            },
        }
    }

    /// The histogram bin of each depth.
    pub fn depth_bins(&self) -> Vec<Option<usize>> {
        let deepest = self.depth.depth.last().copied().unwrap_or(0) as usize;
        let mut bins = vec![None; deepest + 1];
        for (i, &d) in self.depth.depth.iter().enumerate() {
            bins[d as usize] = Some(i);
        }
        bins
    }
}

/// The largest fullness that is accepted.
const MAX_FULLNESS: f64 = 0.98;

/// Refuses a fullness that no file system reaches.
pub(crate) fn check_fullness(fullness: f64) -> Result<(), Error> {
    if fullness > 0.0 && fullness <= MAX_FULLNESS {
        return Ok(());
    }
    Err(Error::Conditions(format!(
        "fullness {fullness} must be above 0 and at most {MAX_FULLNESS}; fuller file systems stop working"
    )))
}
