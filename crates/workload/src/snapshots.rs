//! Replays the aging of a particular file system: a workload derived from snapshots of it (Smith and Seltzer,
//! "File System Aging: Increasing the Relevance of File System Benchmarks", SIGMETRICS 1997, §3).
//!
//! The workload fills an empty file system to the first snapshot. Then, for each pair of successive
//! snapshots, it executes the changes between them, in order of time as far as two snapshots reveal it.
//! [`Options`] determines how missing information is filled in: [`Options::published`] as Smith and Seltzer
//! did, the default more accurately. Short-lived files, which are in no snapshot, come from activity
//! profiles.
//!
//! A checkpoint with the number of the snapshot, 0 for the first, follows the operations of each snapshot:
//! there the live files have the names and sizes of the snapshot.

mod compare;
mod counts;
mod data;
mod day;
mod extracted;
mod growth;
mod lifetimes;
mod matching;
mod options;
mod order;
mod series;
mod tree;
mod view;
mod workload;

pub use counts::{ChangeCounts, Summary};
pub use extracted::Extracted;
pub use lifetimes::LifetimeModel;
pub use options::{Deletions, Options, Placement, ShortLived, Updates};
pub use series::{FREE_SPACE_SUFFIX, Series, check_series, snapshot_files};
pub use workload::Snapshots;
