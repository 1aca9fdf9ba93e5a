//! Short-lived files: those that are created and deleted between two snapshots, so that no snapshot has them. Smith and
//! Seltzer took them from traces of an NFS server (File System Aging, SIGMETRICS 1997, §3.2): all of one directory on one day
//! is a profile, and profiles are put into the workload that the snapshots give.

mod error;
mod profile;
mod set;

pub use error::ActivityError;
pub use profile::{Action, ActivityProfile, DAY_MS, Event};
pub use set::ActivitySet;
