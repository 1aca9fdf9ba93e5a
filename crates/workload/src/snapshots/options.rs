//! Options that fill in information missing from snapshots.

use serde::{Deserialize, Serialize};
use snapshot::activity::ActivitySet;

/// The directories of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// As published: a directory for each cylinder group; a file goes into the directory of its inode's
    /// group. Directories and names of the snapshots are ignored, and only the first name of a file is used.
    CylinderGroups {
        /// Inodes per group; by default the default of the kind of file system.
        inodes_per_group: Option<u64>,
    },
    /// The directories and names of the snapshots, or the keyed hashes that replace names.
    Paths,
}

/// The time of deletions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deletions {
    /// As published: uniformly random between the snapshots.
    Uniform,
    /// Drawn from a [`LifetimeModel`](super::LifetimeModel) fitted to the snapshots, and not after the last
    /// change of the directory.
    Lifetimes,
}

/// The updates of modified files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Updates {
    /// As published: a file with a new change time is truncated to 0 and rewritten.
    Rewrite,
    /// Inferred from sizes, modification times and extents. With equal size and modification time, the file
    /// was not written. If all earlier data keeps its place on disk, the file was appended to, truncated, or
    /// overwritten in place; if some does, the rest was written; otherwise the file was truncated to 0 and
    /// rewritten. Without extents, a file that grew was appended to.
    #[serde(rename = "told")]
    Inferred,
}

/// Files that are created and deleted between two snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShortLived {
    /// The activity profiles to draw from.
    pub set: ActivitySet,
    /// Bytes of file system size per profile and day.
    pub bytes_per_profile: u64,
}

impl ShortLived {
    /// One profile for each 40 MiB, as published.
    pub fn published(set: ActivitySet) -> ShortLived {
        ShortLived { set, bytes_per_profile: 40 << 20 }
    }
}

/// The age at which the kernel writes back dirty data by default (`vm.dirty_expire_centisecs`): half a minute.
const WRITE_BACK_NS: i64 = 30_000_000_000;

/// Options of a workload derived from snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Seed of all random choices.
    pub seed: u64,
    /// The directories of files.
    pub placement: Placement,
    /// The time of deletions.
    pub deletions: Deletions,
    /// The updates of modified files.
    pub updates: Updates,
    /// Whether a file with a new path was renamed; otherwise it was deleted and created. No effect with
    /// [`Placement::CylinderGroups`], which has no paths.
    pub renames: bool,
    /// Whether a file has all its names, or only the first. No effect with [`Placement::CylinderGroups`].
    pub links: bool,
    /// Whether to create symbolic links.
    pub symlinks: bool,
    /// Whether files keep their holes; otherwise they are written completely.
    pub holes: bool,
    /// Write-back interval of the real file system, in nanoseconds. A file written over a longer time (from
    /// its birth or the earlier snapshot to its last modification) grows in equal pieces, one per interval.
    /// `None` writes files at once, as published.
    pub write_back_ns: Option<i64>,
    /// Files that are in no snapshot, if requested.
    pub short_lived: Option<ShortLived>,
}

impl Options {
    /// The published method, without short-lived files, which need a set of profiles.
    pub fn published(seed: u64) -> Options {
        Options {
            seed,
            placement: Placement::CylinderGroups { inodes_per_group: None },
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

    /// The most accurate options, without short-lived files, which need a set of profiles.
    pub fn full_metadata(seed: u64) -> Options {
        Options {
            seed,
            placement: Placement::Paths,
            deletions: Deletions::Lifetimes,
            updates: Updates::Inferred,
            renames: true,
            links: true,
            symlinks: true,
            holes: true,
            write_back_ns: Some(WRITE_BACK_NS),
            short_lived: None,
        }
    }
}
