//! Everything that ages a file system.
//!
//! Most workloads are sources of operations: a [`Planner`] follows a profile, [`git`], [`mail`] and [`snapshots`] derive operations from
//! histories, [`micro`] has the published micro-benchmarks. [`synthetic`] works on the file system itself.

mod error;
pub mod git;
mod live_names;
pub mod mail;
pub mod micro;
mod planner;
mod random;
pub mod snapshots;
pub mod synthetic;

pub use error::Error;
pub use planner::{
    AgingState, AgingStats, BLOCK_BYTES, Conditions, Fit, LiveFile, MAX_FULLNESS, MAX_OVERWRITES, Method,
    OmittedBin, Plan, Planner, Segment, begin, resume,
};
