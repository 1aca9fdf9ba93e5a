//! The data of a report page. It contains every number of the page; the page adds only text and figures.
//!
//! A missing measure is `None`, and the page says that it was not measured. Shares are between 0 and 1.

mod experiment;
mod measure;
mod tree;

pub use experiment::{
    Axis, Claim, ClaimVerdict, Difference, Experiment, FailedCell, FigureVerdict, Line, LineVerdict, Panels,
    Picture, Plot, Point, Published,
};
pub use measure::MeasureInfo;
pub use tree::{Tree, TreeAt, TreeLevel};

pub use results::{Estimate, Told, Verdict, Words};
pub use run::{Cell, Effect, Headline, Matrix, Shift};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// The measures that have values below, in display order.
    #[serde(default)]
    pub measures: Vec<MeasureInfo>,
    /// The verdicts of all comparisons in one sentence; empty without comparisons.
    #[serde(default)]
    pub answer: String,
    /// The comparisons of aged and unaged, in display order.
    pub comparisons: Vec<Comparison>,
    /// The comparisons compared with each other.
    #[serde(default)]
    pub contrasts: Vec<Contrast>,
    /// What the comparisons differ in, if it is several facts.
    #[serde(default)]
    pub matrix: Option<Matrix>,
    /// The published figures that were reproduced, in display order.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Caveats that a reader must know.
    pub notes: Vec<String>,
}

/// Aged file systems and their unaged copies under one condition: the agings differ in their seeds alone.
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
    /// The agings by seed. Histograms, block positions and the fit are those of the first.
    pub agings: Vec<OneAging>,
    /// The aged file system.
    pub aged: Side,
    /// The unaged copy.
    pub unaged: Side,
    /// Scan costs, aged over unaged, by measure.
    pub ratios: BTreeMap<String, Estimate>,
    /// The ratio that sums up the modelled time; `None` if there is none.
    pub modelled: Option<Headline>,
    /// The ratio that sums up the measured time, likewise.
    pub measured: Option<Headline>,
    /// Name of the model of measures that depend on the disk.
    pub modelled_disk: String,
    /// The aging.
    pub aging: Aging,
}

/// What one aging of a comparison gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OneAging {
    /// The seed, as text.
    #[serde(with = "text")]
    pub seed: u64,
    /// The measures of the aged side.
    pub aged: BTreeMap<String, f64>,
    /// The measures of the unaged side.
    pub unaged: BTreeMap<String, f64>,
    /// Scan costs, aged over unaged, by measure.
    pub ratios: BTreeMap<String, f64>,
}

/// The scan costs of a comparison over those of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Name of the first comparison.
    pub name: String,
    /// Name of the second.
    pub against: String,
    /// What differs, in a few words.
    pub differing: String,
    /// The ratio of the aged sides.
    pub aged: Headline,
    /// The ratio of the unaged sides.
    pub unaged: Headline,
}

/// The measurements of one side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The values, by measure: means over the agings.
    pub values: BTreeMap<String, Estimate>,
    /// Free extents by length, in powers of two.
    pub free_histogram: Vec<ExtentBin>,
    /// Scores by size of file, in ascending order.
    pub by_size: Vec<SizeClass>,
    /// The layout of the tree, if the file system is one.
    #[serde(default)]
    pub tree: Option<Tree>,
    /// The extents of files, in scan order.
    pub block_map: Vec<FileRow>,
    /// The number of files that the block map is a sample of.
    #[serde(default)]
    pub mapped_files: Option<u64>,
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

/// The layout of the files of one size class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// Greatest size in this class.
    pub upper_bytes: u64,
    /// Files in this class.
    pub files: u64,
    /// The values, by measure; `None` for a score if no file has two blocks.
    #[serde(flatten)]
    pub values: BTreeMap<String, Option<f64>>,
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
    /// The seed of the aging, as text: numbers in browsers are exact only up to 2⁵³.
    #[serde(with = "text")]
    pub seed: u64,
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
    /// The values, by measure; empty for an aging without a profile.
    pub values: BTreeMap<String, f64>,
    /// The reason why the aging stopped.
    pub stopped_by: String,
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
