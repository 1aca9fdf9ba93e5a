//! The results of all runs: the [`Store`] that holds them, their progress, statistics, and export.

mod error;
mod export;
mod heartbeat;
mod machine;
pub mod measures;
mod pace;
mod partial_results;
mod progress;
mod stats;
mod store;
mod watch;

pub use error::{Error, RunError};
pub use export::{Format, export};
pub use heartbeat::RecordedProgress;
pub use machine::Machine;
pub use measures::Measure;
pub use pace::Pace;
pub use partial_results::PartialResults;
pub use progress::{Liveness, Progress, liveness};
pub use stats::{
    Correlation, Estimate, Interval, MeanAndDeviation, NEGLIGIBLE, Sample, Scale, TestedRatio, Told, Verdict,
    Words, bound_of_chance, correlation, holm, mean_and_deviation, median_interval, spearman,
};
pub use store::{Measurement, MergeCounts, NewRun, Run, RunId, STORE_FILE, Store, StoreLocation};
pub use watch::{IgnoreProgress, Watch};

/// The program and its version, as recorded with results.
pub const TOOL: &str = concat!("senesce ", env!("CARGO_PKG_VERSION"));
