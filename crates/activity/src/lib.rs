//! Short-lived files: those that are created and deleted between two snapshots, so that no snapshot has them. Smith and
//! Seltzer took them from traces of an NFS server (File System Aging, SIGMETRICS 1997, §3.2): all of one directory on one day
//! is a profile, and profiles are put into the workload that the snapshots give.
//!
//! Whoever sees files come and go, a recorder or the reader of a log, tells a [`Collector`], which makes the profiles.

mod collect;
mod error;
mod file;
mod import;
mod model;
mod profile;
mod set;
mod stat;

pub use collect::{Collected, Collector, FileNo};
pub use error::ActivityError;
pub use import::{BPFTRACE_SCRIPT, Format, Imported, import};
pub use profile::{Action, ActivityProfile, DAY_MS, Event};
pub use set::ActivitySet;
pub use stat::{ActivityStat, LifetimeShare, SizeShare};
