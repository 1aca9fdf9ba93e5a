//! Everything that ages a file system, behind one trait: [`Workload`].
//!
//! [`profile`] follows a profile, with a [`Planner`]; [`git`], [`mail`] and [`snapshots`] derive operations from histories, [`micro`] has the
//! published micro-benchmarks, [`synthetic`] works with real programs, and a [`TraceFile`] repeats what was recorded.

mod cloned;
mod error;
pub mod git;
mod interface;
mod live_names;
pub mod mail;
pub mod micro;
mod parse;
mod planner;
pub mod profile;
mod punched;
mod random;
pub mod snapshots;
pub mod synthetic;
#[cfg(test)]
mod test_site;
mod trace_file;
mod traced;

pub use cloned::Cloned;
pub use error::Error;
pub use interface::{Driver, Observer, Pinned, ResumePoint, Site, Start, Terms, Workload};
pub use parse::{from_table, parse};
pub use planner::{
    AgingState, AgingStats, BLOCK_BYTES, Churn, ChurnStats, Conditions, Fit, LiveFile, MAX_OVERWRITES,
    Method, OmittedBin, Plan, Planner, Segment, begin, resume,
};
pub use punched::Punched;
pub use trace_file::TraceFile;
pub use traced::Traced;
