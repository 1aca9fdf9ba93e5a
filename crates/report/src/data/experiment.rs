//! What the page shows of an experiment that repeats a published figure: its claims judged, its curves, its pictures.

use super::{FileRow, TreeAt};
use serde::{Deserialize, Serialize};

/// One published figure, measured again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Name of the experiment, unique on the page: `fast17-fig5`.
    pub figure: String,
    /// What it shows, in few words.
    pub title: String,
    /// The publication and its figure.
    pub source: String,
    /// How large it was run: `small`, `paper`.
    pub scale: String,
    /// The published claims, each judged against what was measured.
    pub checks: Vec<Check>,
    /// Whether it holds in its trend; `None` if that could not be judged.
    #[serde(default)]
    pub trend: Option<bool>,
    /// The curves, in the order to show them.
    pub plots: Vec<Plot>,
    /// What a round is.
    #[serde(default)]
    pub round: Axis,
    /// How the trees lay of file systems that are one, by file system, setting, side and round.
    #[serde(default)]
    pub trees: Vec<TreeAt>,
    /// Where files lie, by file system and round.
    pub pictures: Vec<Picture>,
    /// The cells of the experiment's matrix that gave no numbers.
    pub failed: Vec<FailedCell>,
    /// How it was measured, as (name, value): parameters, repetitions, disk models.
    pub method: Vec<(String, String)>,
}

/// A published claim beside what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The claim, in words: a trend or an order.
    pub claim: String,
    /// What the publication found, with its unit.
    pub published: String,
    /// What was measured here, with its unit.
    pub measured: String,
    /// Whether the claim holds here; `None` if that could not be judged.
    pub holds: Option<bool>,
    /// Why it was judged so.
    pub why: String,
    /// Why it does not hold here, where that is known; may be empty.
    #[serde(default)]
    pub reason: String,
}

/// One figure: lines over common axes. Lines of several disks, or of several file systems, are shown side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What the figure shows.
    pub title: String,
    /// The axis across.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// What a reader must know to read the figure; may be empty.
    pub note: String,
    /// What has a panel of its own.
    #[serde(default)]
    pub panels: Panels,
}

/// What has a panel of its own in a figure. Of disk and file system the other is shown as colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Panels {
    /// Each disk.
    #[default]
    Disk,
    /// Each file system.
    Fs,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is counted, without its unit.
    pub label: String,
    /// Its unit, empty for a pure number. `bytes` are shown as KiB, MiB …
    pub unit: String,
    /// Whether the axis is logarithmic; values that are not above 0 cannot be shown on one.
    pub log: bool,
}

/// One line of a figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Kind of file system: `ext4`, `xfs` …; empty where there is none, as on a bare disk. Shown as colour. Of a benchmark
    /// alone, its phase or operation.
    pub fs: String,
    /// The disk: `hdd-7200`, `ssd-sata` …; empty where there is only one. Each disk has its own panel. Of a benchmark alone,
    /// the phase.
    pub disk: String,
    /// `aged`, `unaged`, or empty; of latencies `mean` or `longest`. Shown as a whole or a dashed line.
    pub side: String,
    /// What else tells the line from others: `gc on`, `node 16 KiB`; may be empty. Shown as the symbol of its
    /// points, or in the title of a panel where all lines have it.
    pub option: String,
    /// The points, in ascending order of `x`.
    pub points: Vec<Point>,
}

/// One point of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Position across, in the unit of its axis.
    pub x: f64,
    /// Median, in the unit of its axis.
    pub y: f64,
    /// Lower end of the 95 % confidence interval of the median; `None` where repetitions are too few for one.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
}

/// A block picture: where the files of one file system lie after one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What is shown, where file system and round do not say it; may be empty.
    pub title: String,
    /// Kind of file system.
    pub fs: String,
    /// Round of aging after which the files lay so.
    pub round: u64,
    /// One row a file, in the order in which the scan visits them.
    pub rows: Vec<FileRow>,
}

/// A cell of the experiment's matrix (file system, disk, option, seed) that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    /// Which one.
    pub cell: String,
    /// Why, in one line.
    pub why: String,
}
