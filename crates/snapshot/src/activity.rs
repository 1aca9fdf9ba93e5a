//! Profiles of short-lived files: files created and deleted between two snapshots, so that no snapshot
//! contains them. Smith and Seltzer extracted them from traces of an NFS server (File System Aging,
//! SIGMETRICS 1997, §3.2): the short-lived files of one directory on one day form a profile, and profiles are
//! added to the workload derived from snapshots.
//!
//! A recorder or a log parser reports creations and deletions to a [`Collector`], which makes the profiles.

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
