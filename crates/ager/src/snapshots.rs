//! Aging the way a particular file system aged: a workload made of snapshots that were taken of it (Smith and Seltzer,
//! "File System Aging: Increasing the Relevance of File System Benchmarks", SIGMETRICS 1997, §3).
//!
//! The workload fills an empty file system to the first snapshot, and then does, for each pair of successive
//! snapshots, what leads from the one to the other, in order of time, as far as two snapshots can tell. [`Options`]
//! says how what they do not tell is filled in: [`Options::published`] as Smith and Seltzer did, the default better.
//! Short-lived files, which no snapshot has, are put in from profiles of activity.
//!
//! Behind each snapshot's operations is a checkpoint with its number, 0 for the first: there the live files are those
//! of the snapshot, names and sizes.

mod compare;
mod counts;
mod data;
mod day;
mod growth;
mod lifetimes;
mod matching;
mod options;
mod order;
mod series;
mod tree;
mod view;
mod workload;

pub use counts::{Counts, Summary};
pub use lifetimes::Lifetimes;
pub use options::{Deletions, Options, Place, ShortLived, Updates};
pub use series::{FREE_SPACE, Series, check_series, snapshot_files};
pub use workload::Workload;
