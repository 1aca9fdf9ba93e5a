//! The data of an experiment that reproduces a published figure: claims with verdicts, curves, block maps.

use super::{FileRow, TreeAt};
pub use ::experiment::{Difference, FigureVerdict, LineVerdict, Verdict as ClaimVerdict};
use serde::{Deserialize, Serialize};

/// One reproduced figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Name of the experiment, unique on the page: `fast17-fig5`.
    pub figure: String,
    /// A short title.
    pub title: String,
    /// The publication and its figure.
    pub source: String,
    /// The scale of the run: `small`, `paper`.
    pub scale: String,
    /// The differences from the published experiment.
    #[serde(default)]
    pub differs: Vec<Difference>,
    /// The published claims, each compared with the measurements.
    pub claims: Vec<Claim>,
    /// The verdict on the figure; `None` if it has no claims.
    #[serde(default)]
    pub verdict: Option<FigureVerdict>,
    /// The curves, in display order.
    pub plots: Vec<Plot>,
    /// The meaning of a round.
    #[serde(default)]
    pub round: Axis,
    /// The layouts of file systems that are trees, by file system, setting, side and round.
    #[serde(default)]
    pub trees: Vec<TreeAt>,
    /// Block maps, by file system and round.
    pub pictures: Vec<Picture>,
    /// The cells of the experiment's matrix without results.
    pub failed: Vec<FailedCell>,
    /// The method, as (name, value): parameters, repetitions, disk models.
    pub method: Vec<(String, String)>,
}

/// A published claim and the measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Where it was published: `§6, Figure 5a`.
    pub section: String,
    /// The statement.
    pub states: String,
    /// The published value or order; empty for a direction alone.
    pub published: String,
    /// What was measured of each line of the figure.
    pub lines: Vec<LineVerdict>,
    /// The verdict over all lines.
    pub verdict: ClaimVerdict,
    /// Why the claim does not hold here, if known; may be empty.
    pub why: String,
}

/// One figure: lines over common axes. Lines of several disks or several file systems are shown in separate
/// panels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// The title of the figure.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// A note for reading the figure; may be empty.
    pub note: String,
    /// The dimension with separate panels.
    #[serde(default)]
    pub panels: Panels,
    /// Published values of what the vertical axis shows.
    #[serde(default)]
    pub published: Vec<Published>,
}

/// A published value or range, drawn across the panels of the lines that it is of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The file systems of these lines; all if empty.
    pub fs: Vec<String>,
    /// Their disks; all if empty.
    pub disks: Vec<String>,
    /// Their settings; all if empty.
    pub options: Vec<String>,
    /// The position on the horizontal axis; `None` if the publication has another axis, as with fewer rounds.
    #[serde(default)]
    pub x: Option<f64>,
    /// The value, or the lower end of a range.
    pub low: f64,
    /// The upper end; equal to `low` for a value.
    pub high: f64,
    /// What was measured, and where it was published.
    pub text: String,
}

/// The dimension of a figure with separate panels. The other one of disk and file system is shown by colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Panels {
    /// A panel for each disk.
    #[default]
    Disk,
    /// A panel for each file system.
    Fs,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The quantity, without its unit.
    pub label: String,
    /// The unit, empty for a pure number. `bytes`, `B` and `B/s` are shown as KiB, MiB …, `share` as a percentage, `×` as a ratio, with a
    /// line at 1, and `µs` as µs, ms or s.
    pub unit: String,
    /// Whether the axis is logarithmic; it then cannot show values that are not above 0.
    pub log: bool,
}

/// One line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Kind of file system: `ext4`, `xfs` …; empty if there is none, as on a bare disk. Shown by colour. In a
    /// figure of a benchmark, its phase or operation.
    pub fs: String,
    /// The disk: `hdd-7200`, `ssd-sata` …; empty if there is only one. Each disk has a separate panel. In a
    /// figure of a benchmark, the phase.
    pub disk: String,
    /// `aged`, `unaged`, or empty; for latencies `mean` or `longest`. Shown as a solid or a dashed line.
    pub side: String,
    /// Other settings that identify the line: `gc on`, `node 16 KiB`; may be empty. Shown by the symbol of
    /// the points, or in the title of a panel if all its lines have the same.
    pub option: String,
    /// The points, in ascending order of `x`.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Horizontal position, in the unit of its axis.
    pub x: f64,
    /// Mean over the agings, in the unit of its axis.
    pub y: f64,
    /// Lower end of its 95 % confidence interval; `None` for a single aging.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
}

/// A block map: the extents of the files of one file system after one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// A title, if file system and round do not suffice; may be empty.
    pub title: String,
    /// Kind of file system.
    pub fs: String,
    /// The round of aging.
    pub round: u64,
    /// The number of files that the rows are a sample of; `None` if unknown.
    #[serde(default)]
    pub files: Option<u64>,
    /// One row per file, in scan order.
    pub rows: Vec<FileRow>,
}

/// A cell of the experiment's matrix (file system, disk, option, seed) that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    /// The name of the cell.
    pub cell: String,
    /// The error, in one line.
    pub why: String,
}
