//! What a report page shows. Every number of the page is here; the page adds only words and pictures.
//!
//! A measure that was not taken is `None`: the page then says that it was not measured. Shares are between 0 and 1.

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
    /// When the numbers were taken, as RFC 3339.
    pub made: String,
    /// The tool and its version.
    pub tool: String,
    /// The commands that took the numbers, in their order.
    pub measured_by: Vec<String>,
    /// The command that draws this page again from the numbers that are stored.
    pub drawn_by: String,
    /// The machine, as (name, value): processor, memory, kernel, device.
    pub machine: Vec<(String, String)>,
    /// How it was measured, as (name, value): repetitions, what cold means, the disk model.
    pub method: Vec<(String, String)>,
    /// The comparisons of aged with unaged, in the order to show them.
    pub comparisons: Vec<Comparison>,
    /// The published figures that were measured again, in the order to show them.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Remarks a reader must know to trust the numbers.
    pub notes: Vec<String>,
}

/// One file system, aged, beside the same files copied to a fresh one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name that tells this comparison from the others of the page; short, for it labels figures.
    pub name: String,
    /// Kind of file system: `ext4`, `xfs` …
    pub fs: String,
    /// Version of the file system's tools and driver.
    pub fs_version: String,
    /// Command that made the file system.
    pub mkfs: String,
    /// Capacity.
    pub size_bytes: u64,
    /// Profile the file system was aged to.
    pub profile: String,
    /// Share of the capacity in use; `None` where neither a profile nor the file system tells it.
    pub fullness: Option<f64>,
    /// Seed of everything random. Text in JSON, for a browser's numbers end at 2⁵³.
    #[serde(with = "text")]
    pub seed: u64,
    /// The aged file system.
    pub aged: Side,
    /// The same files on a fresh file system.
    pub unaged: Side,
    /// Measured scan cost, aged over unaged.
    pub aging_ratio: Option<Interval>,
    /// Scan cost on the modelled disk, aged over unaged.
    pub modelled_ratio: Option<Interval>,
    /// How the aging went.
    pub aging: Aging,
}

/// A median with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Median of the repetitions.
    pub median: f64,
    /// Lower end; `None` where the repetitions are too few for an interval.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
    /// Repetitions.
    pub n: u64,
}

/// What was measured on one of the two file systems of a comparison.
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
    /// How its tree lies on the disk, of a file system that is one.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// Where files lie, in the order in which the scan visits them.
    pub block_map: Vec<FileRow>,
    /// Every single measurement.
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

/// One file of the block picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileRow {
    /// Size of the file.
    pub size_bytes: u64,
    /// Its extents as (offset in the file, address on disk, length), all in bytes.
    pub extents: Vec<(u64, u64, u64)>,
}

/// One measurement, as it was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// What was measured.
    pub measure: String,
    /// Unit of the value.
    pub unit: String,
    /// Which repetition, from 1.
    pub repetition: u64,
    /// The value.
    pub value: f64,
}

/// How the aging went, and how near it came to the profile.
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
    /// Fewest operations that can reach the profile.
    pub bound_operations: u64,
    /// Overwrites that those operations make.
    pub bound_overwrites: f64,
    /// Operations applied per second.
    pub operations_per_s: f64,
    /// Files alive at the end.
    pub live_files: u64,
    /// Why the aging stopped, in words.
    pub stopped_by: String,
    /// Root-mean-square error of the ages.
    pub age_rms_error: f64,
    /// Root-mean-square error of the sizes.
    pub size_rms_error: f64,
    /// Root-mean-square error of the depths.
    pub depth_rms_error: f64,
    /// p-value of the chi-square test of fit: near 1 for a good fit.
    pub fit_p_value: f64,
    /// Relative ages, aimed at and reached.
    pub age: Vec<FitBin>,
    /// Sizes, aimed at and reached.
    pub size: Vec<FitBin>,
    /// Depths in the tree, aimed at and reached.
    pub depth: Vec<FitBin>,
}

/// One bin of a histogram, aimed at and reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FitBin {
    /// What the bin holds, in few words.
    pub label: String,
    /// Share of the files it should hold.
    pub target: f64,
    /// Share of the files it holds.
    pub reached: f64,
}

/// A number written as text.
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
