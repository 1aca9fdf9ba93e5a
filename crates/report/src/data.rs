//! The data of a report page. It contains every number of the page; the page adds only text and figures.
//!
//! A missing measure is `None`, and the page says that it was not measured. Shares are between 0 and 1.

mod experiment;
mod tree;

pub use experiment::{Axis, Check, Experiment, FailedCell, Line, Panels, Picture, Plot, Point};
pub use tree::{Tree, TreeAt, TreeLevel};

use serde::{Deserialize, Serialize};

/// One report page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Title of the page.
    pub title: String,
    /// The time of the measurements, as RFC 3339.
    pub made: String,
    /// The tool and its version.
    pub tool: String,
    /// The commands that took the measurements, in order.
    pub measured_by: Vec<String>,
    /// The command that renders this page again from the stored results.
    pub drawn_by: String,
    /// The machine, as (name, value): processor, memory, kernel, device.
    pub machine: Vec<(String, String)>,
    /// The method, as (name, value): repetitions, cache state, disk model.
    pub method: Vec<(String, String)>,
    /// The comparisons of aged and unaged, in display order.
    pub comparisons: Vec<Comparison>,
    /// The published figures that were reproduced, in display order.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Caveats that a reader must know.
    pub notes: Vec<String>,
}

/// An aged file system and its unaged copy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name, unique on the page; short, because it labels figures.
    pub name: String,
    /// Kind of file system: `ext4`, `xfs` …
    pub fs: String,
    /// Version of the file system's tools and driver.
    pub fs_version: String,
    /// The command that created the file system.
    pub mkfs: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Profile the file system was aged to.
    pub profile: String,
    /// Share of the capacity in use; `None` if neither a profile nor the file system provides it.
    pub fullness: Option<f64>,
    /// Seed of all random choices. Text in JSON, because numbers in browsers are exact only up to 2⁵³.
    #[serde(with = "text")]
    pub seed: u64,
    /// The aged file system.
    pub aged: Side,
    /// The unaged copy.
    pub unaged: Side,
    /// Measured scan cost, aged over unaged.
    pub aging_ratio: Option<Interval>,
    /// Scan cost on the modelled disk, aged over unaged.
    pub modelled_ratio: Option<Interval>,
    /// The aging.
    pub aging: Aging,
}

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Median of the repetitions.
    pub median: f64,
    /// Lower end; `None` if there are too few repetitions for an interval.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Repetitions.
    pub n: u64,
}

/// The measurements of one side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Measured scan cost on this machine's disk, seconds per GiB.
    pub scan_s_per_gib: Option<Interval>,
    /// Scan cost on the modelled disk, seconds per GiB.
    pub modelled_hdd_s_per_gib: Option<Interval>,
    /// Dynamic layout score of the scan.
    pub dynamic_layout_score: Option<Interval>,
    /// Layout score over all files.
    pub layout_score: Option<f64>,
    /// Scan layout score.
    pub scan_layout_score: Option<f64>,
    /// Degree of fragmentation over all files.
    pub degree_of_fragmentation: Option<f64>,
    /// Free extents.
    pub free_extents: u64,
    /// Mean length of a free extent.
    pub free_mean_bytes: f64,
    /// Length of the longest free extent.
    pub free_largest_bytes: u64,
    /// Free extents by length, in powers of two.
    pub free_histogram: Vec<ExtentBin>,
    /// Scores by size of file, in ascending order.
    pub by_size: Vec<SizeClass>,
    /// Extents of a new file of `new_file_bytes`.
    pub new_file_fragments: Option<u64>,
    /// Size of that new file.
    pub new_file_bytes: Option<u64>,
    /// The layout of the tree, if the file system is one.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// The extents of files, in scan order.
    pub block_map: Vec<FileRow>,
    /// All individual measurements.
    pub raw: Vec<Measurement>,
}

/// Free extents of one power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtentBin {
    /// Least length in this bin, a power of two; the bin ends below its double.
    pub lower_bytes: u64,
    /// Free extents in this bin.
    pub extents: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Scores of the files of one size class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Greatest size in this class.
    pub upper_bytes: u64,
    /// Files in this class.
    pub files: u64,
    /// Their layout score; `None` if no file has two blocks.
    pub layout_score: Option<f64>,
    /// Their degree of fragmentation.
    pub degree_of_fragmentation: Option<f64>,
}

/// One file of the block map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileRow {
    /// Size of the file.
    pub size_bytes: u64,
    /// The extents as (offset in the file, address on disk, length), in bytes.
    pub extents: Vec<(u64, u64, u64)>,
}

/// One individual measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The measure.
    pub measure: String,
    /// Unit of the value.
    pub unit: String,
    /// The repetition, from 1.
    pub repetition: u64,
    /// The value.
    pub value: f64,
}

/// The aging and its fit to the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aging {
    /// Operations applied.
    pub operations: u64,
    /// Files created.
    pub creations: u64,
    /// Files deleted.
    pub deletions: u64,
    /// Bytes created over the capacity.
    pub overwrites: f64,
    /// The least number of operations that can reach the profile.
    pub bound_operations: u64,
    /// The overwrites of those operations.
    pub bound_overwrites: f64,
    /// Operations applied per second.
    pub operations_per_s: f64,
    /// Files alive at the end.
    pub live_files: u64,
    /// The reason why the aging stopped.
    pub stopped_by: String,
    /// Root-mean-square error of the ages.
    pub age_rms_error: f64,
    /// Root-mean-square error of the sizes.
    pub size_rms_error: f64,
    /// Root-mean-square error of the depths.
    pub depth_rms_error: f64,
    /// p-value of the chi-square test of fit: near 1 for a good fit.
    pub fit_p_value: f64,
    /// Relative ages: target and reached.
    pub age: Vec<FitBin>,
    /// Sizes: target and reached.
    pub size: Vec<FitBin>,
    /// Depths in the tree: target and reached.
    pub depth: Vec<FitBin>,
}

/// One bin of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitBin {
    /// A short label of the bin.
    pub label: String,
    /// Target share of the files.
    pub target: f64,
    /// Reached share of the files.
    pub reached: f64,
}

/// Serializes a number as text.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom(format_args!("{text:?} is not a whole number below 2⁶⁴")))
    }
}
