//! What was counted while a workload was made.

use serde::Serialize;

/// What leads from one snapshot to the next. A file with several names counts once but for its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    /// Files created.
    pub creates: u64,
    /// Files deleted.
    pub deletes: u64,
    /// Files whose contents were modified …
    pub modifies: u64,
    /// … and those among them that were appended to.
    pub appends: u64,
    /// Files deleted whose inode another file got.
    pub replaces: u64,
    /// Names that were moved.
    pub renames: u64,
    /// Names that files got in addition.
    pub links: u64,
    /// Names that files lost that have others.
    pub unlinks: u64,
    /// Directories made.
    pub mkdirs: u64,
    /// Directories removed.
    pub rmdirs: u64,
    /// Short-lived files put in.
    pub short_lived: u64,
    /// Files whose change time lies before the earlier snapshot or after the later one although they were created or modified
    /// in between: a clock was set, or something set the time. The operations come at the nearest time in between.
    pub out_of_time: u64,
    /// Files with an inode number of before, of which neither generation nor birth tells whether they are the same. Those with a
    /// name of before, or with the size and modification time of before, are taken for the same.
    pub by_inode_alone: u64,
    /// Devices, pipes, sockets, symbolic links of a length that none can have, and what lies in `lost+found`, which are left out.
    pub left_out: u64,
}

/// What was counted in all.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Summary {
    /// The filling to the first snapshot.
    pub fill: Counts,
    /// Each pair of snapshots.
    pub pairs: Vec<Counts>,
    /// What the snapshots cannot tell, or only with doubt, each with the name of the snapshot.
    pub doubts: Vec<String>,
}
