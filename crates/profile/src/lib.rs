//! Profiles of file systems: histograms of relative age, file size and directory depth (geriatrix17).

mod capture;
mod check;
mod error;
mod load;
mod plot;

pub use capture::{AgeBy, Captured, capture};
pub use check::shares;
pub use error::Error;
pub use load::{builtin, load};
pub use plot::plot;

use serde::{Deserialize, Serialize};

/// A profile: three histograms of the files of a file system. See `docs/src/aging.md` for the TOML form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Short name, as used with `--profile`.
    pub name: String,
    /// A one-line description of the observed file systems.
    pub title: String,
    /// Publication or command that is the source of the figures.
    pub source: String,
    /// Year of the observation.
    pub year: u16,
    /// Live files of the observed file system, if known; directory counts are scaled by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Share of the capacity in use, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fullness: Option<f64>,
    /// Relative age of the live files.
    pub age: AgeHistogram,
    /// Size of the live files.
    pub size: SizeHistogram,
    /// Depth of the directories that contain the files.
    pub depth: DepthHistogram,
}

/// Histogram of relative age, youngest bin first. Ages are unitless; the last edge is the age of the file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgeHistogram {
    /// Upper edge of each bin, ascending.
    pub upper: Vec<f64>,
    /// Weight of each bin: its share of the files, up to a common factor.
    pub weight: Vec<f64>,
}

/// Histogram of file size: bin i contains sizes above the previous edge, up to and including its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeHistogram {
    /// Upper edge of each bin in bytes, inclusive, ascending. A first edge of 0 contains exactly the empty files.
    pub upper_bytes: Vec<u64>,
    /// Weight of each bin.
    pub weight: Vec<f64>,
}

/// Histogram of depth. The root of the file system has depth 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DepthHistogram {
    /// Depth of the directory that contains the files, ascending.
    pub depth: Vec<u32>,
    /// Weight of each depth: the share of the files whose directory is at this depth.
    pub weight: Vec<f64>,
    /// Number of directories in the whole tree whose parent is at this depth.
    pub subdirectories: Vec<u64>,
}
