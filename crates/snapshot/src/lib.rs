//! What a file system held at a moment: snapshots as Smith and Seltzer took them every night of the file systems of their
//! department (File System Aging, SIGMETRICS 1997, §3.1), from which a workload can be made that ages another the same way.

mod diff;
mod encoded;
mod entry;
mod error;
mod form;
pub mod import;
mod key;
pub mod layout;
mod lists;
mod pair;
mod read;
mod snapshot;
mod stat;
pub mod time;
mod write;

pub use diff::{Change, What, diff};
pub use entry::{Entry, Extent, Fact, Kind};
pub use error::Error;
pub use key::Key;
pub use pair::{Doubt, Mismatch, check, check_pair};
pub use snapshot::{Info, ROOT, Snapshot, SnapshotBuilder};
pub use stat::Stat;
pub use write::refuse_existing;
