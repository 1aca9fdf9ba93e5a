//! What a file system held at a moment: snapshots as Smith and Seltzer took them every night of the file systems of their
//! department (File System Aging, SIGMETRICS 1997, §3.1), from which a workload can be made that ages another the same way.

mod entry;
mod snapshot;

pub use entry::{Entry, Extent, Fact, Kind};
pub use snapshot::{Info, ROOT, Snapshot, SnapshotBuilder};
