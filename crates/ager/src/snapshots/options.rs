//! How what snapshots do not tell is filled in.

use activity::ActivitySet;
use serde::{Deserialize, Serialize};

/// Where files go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// As published: a directory for each cylinder group, and a file goes into that of its inode's group. Directories
    /// and names of the snapshots are not used, and of the names of a file only the first.
    CylinderGroups {
        /// How many inodes a group has; as the kind of file system has it by default if not given.
        inodes_per_group: Option<u64>,
    },
    /// The directories and names of the snapshots, or the keyed hashes that stand for names.
    Paths,
}

/// When what is gone was deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deletions {
    /// As published: at a random time between the snapshots, any as likely as any other.
    Uniform,
    /// At a time drawn from [`Lifetimes`](super::Lifetimes) fitted to the snapshots, and not after the last change of
    /// its directory.
    Lifetimes,
}

/// What was done to a file that was modified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Updates {
    /// As published: a file with another change time was cut to nothing and written anew.
    Rewrite,
    /// What sizes, modification times and extents tell. With the same size and modification time, nothing was written.
    /// Where all that it had lies where it lay, it was appended to, cut, or overwritten in place; where some does, the rest was
    /// written; else it was cut to nothing and written anew. Without extents, a file that grew was appended to.
    Told,
}

/// Files that are created and deleted between two snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortLived {
    /// The profiles of activity that are drawn from.
    pub set: ActivitySet,
    /// So many bytes of the size of the file system have one profile a day.
    pub bytes_per_profile: u64,
}

impl ShortLived {
    /// One profile for each 40 MiB, as published.
    pub fn published(set: ActivitySet) -> ShortLived {
        ShortLived { set, bytes_per_profile: 40 << 20 }
    }
}

/// What has waited for half a minute is written back, by the kernel's default (`vm.dirty_expire_centisecs`).
const WRITE_BACK_NS: i64 = 30_000_000_000;

/// How a workload is made of snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// What all that is random is drawn from.
    pub seed: u64,
    /// Where files go.
    pub place: Place,
    /// When what is gone was deleted.
    pub deletions: Deletions,
    /// What was done to a file that was modified.
    pub updates: Updates,
    /// Whether a file that has another path was renamed; else it was deleted and created. Without effect on
    /// [`Place::CylinderGroups`], where no file has a path.
    pub renames: bool,
    /// Whether a file has all its names; else only the first. Without effect on [`Place::CylinderGroups`].
    pub links: bool,
    /// Whether there are symbolic links.
    pub symlinks: bool,
    /// Whether files have holes where they had; else they are full.
    pub holes: bool,
    /// After so many nanoseconds the real file system wrote back what waited in memory. A file that was written for longer than
    /// that, from its birth or the earlier snapshot to its last modification, grew in pieces, one for each such time and all
    /// as long; without it files are written at once, as published.
    pub write_back_ns: Option<i64>,
    /// Files that no snapshot has, if any are to be put in.
    pub short_lived: Option<ShortLived>,
}

impl Options {
    /// As published, but for the short-lived files, which need a set of profiles.
    pub fn published(seed: u64) -> Options {
        Options {
            seed,
            place: Place::CylinderGroups { inodes_per_group: None },
            deletions: Deletions::Uniform,
            updates: Updates::Rewrite,
            renames: false,
            links: false,
            symlinks: false,
            holes: false,
            write_back_ns: None,
            short_lived: None,
        }
    }

    /// All that the snapshots tell, but for the short-lived files, which need a set of profiles.
    pub fn told(seed: u64) -> Options {
        Options {
            seed,
            place: Place::Paths,
            deletions: Deletions::Lifetimes,
            updates: Updates::Told,
            renames: true,
            links: true,
            symlinks: true,
            holes: true,
            write_back_ns: Some(WRITE_BACK_NS),
            short_lived: None,
        }
    }
}
