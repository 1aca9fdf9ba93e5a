//! Statistics of a workload derived from snapshots.

use serde::Serialize;

/// Changes between two snapshots. A file with several names counts once, except for its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ChangeCounts {
    /// Files created.
    pub creates: u64,
    /// Files deleted.
    pub deletes: u64,
    /// Files whose contents were modified.
    pub modifies: u64,
    /// Modified files that were appended to.
    pub appends: u64,
    /// Deleted files whose inode number was reused.
    pub replaces: u64,
    /// Renamed names.
    pub renames: u64,
    /// Names added to existing files.
    pub links: u64,
    /// Names removed from files that keep others.
    pub unlinks: u64,
    /// Directories created.
    pub mkdirs: u64,
    /// Directories removed.
    pub rmdirs: u64,
    /// Short-lived files added.
    pub short_lived: u64,
    /// Files that were created or modified between the snapshots, although their change time lies before the
    /// earlier or after the later snapshot: a clock or a timestamp was set. Their operations get the nearest
    /// time between the snapshots.
    pub out_of_time: u64,
    /// Files with an inode number of the earlier snapshot for which neither generation nor birth time decides
    /// whether they are the same file. A file with an earlier name, or with the earlier size and modification
    /// time, counts as the same.
    pub by_inode_alone: u64,
    /// Entries left out: devices, pipes, sockets, symbolic links of an impossible length, and the contents of
    /// `lost+found`.
    pub left_out: u64,
}

/// Statistics of the whole workload.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// The filling up to the first snapshot.
    pub fill: ChangeCounts,
    /// The changes of each pair of snapshots.
    pub pairs: Vec<ChangeCounts>,
    /// Missing or doubtful information in the snapshots, each with the name of the snapshot.
    #[serde(rename = "doubts")]
    pub warnings: Vec<String>,
}
