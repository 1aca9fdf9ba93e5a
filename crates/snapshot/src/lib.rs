//! Snapshots of the metadata of a file system. Smith and Seltzer took one every night of their department's
//! file systems (File System Aging, SIGMETRICS 1997, §3.1) to derive a workload that ages another file system
//! the same way. Files that no snapshot contains are in [`activity`].

pub mod activity;
mod check;
mod diff;
mod encoded;
mod entry;
mod error;
mod file_format;
pub mod import;
mod key;
pub mod layout;
mod lists;
mod read;
mod snapshot;
mod stat;
pub mod time;
mod write;

pub use check::{Mismatch, Warning, check, check_pair};
pub use diff::{Change, ChangeKind, diff};
pub use entry::{Attribute, Entry, Extent, Kind};
pub use error::Error;
pub use key::Key;
pub use snapshot::{Info, ROOT, Snapshot, SnapshotBuilder};
pub use stat::Stat;
pub use write::refuse_existing;
