//! What `senesce snapshot` takes.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Snapshot {
    #[command(subcommand)]
    pub action: SnapshotAction,
}

#[derive(Subcommand)]
pub enum SnapshotAction {
    /// Take a snapshot of a live tree: every file with its inode, times, sizes and extents
    Take(SnapshotTake),
    /// Say what happened between two snapshots
    Diff {
        /// The older one
        older: PathBuf,
        /// The newer one
        newer: PathBuf,
        /// List every change with its path
        #[arg(long)]
        list: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say what a snapshot holds: counts, sizes, ages, depths, layout score
    Stat {
        /// The snapshot
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make a snapshot of what another program has listed
    Import(SnapshotImport),
}

#[derive(Args)]
pub struct SnapshotTake {
    /// The tree; other file systems below it are not entered
    pub path: PathBuf,
    /// The snapshot to write
    pub out: PathBuf,
    /// Write hashes of names instead of names; takes --key or --make-key
    #[arg(long, requires = "secret")]
    pub anonymous: bool,
    /// Use the key in this file: snapshots under one key can be compared
    #[arg(long, value_name = "FILE", group = "secret", requires = "anonymous")]
    pub key: Option<PathBuf>,
    /// Make a key, in a new file that only its owner can read
    #[arg(long, value_name = "FILE", group = "secret", requires = "anonymous")]
    pub make_key: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Threads of the walk [default: two a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SnapshotImport {
    /// What made the listing
    #[arg(long, value_enum)]
    pub from: ListedBy,
    /// The listing
    pub file: PathBuf,
    /// The snapshot to write
    pub out: PathBuf,
    /// The snapshot that the listing is the changes since: for zfs-diff, and for increments of btrfs
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
    /// The directory that paths of the listing begin with, which is the root: for zfs-diff
    #[arg(long, value_name = "DIR")]
    pub below: Option<PathBuf>,
    /// When the listing was made, in seconds since 1970 [default: when its file was last modified]
    #[arg(long, value_name = "SECONDS")]
    pub at: Option<i64>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ListedBy {
    /// find -printf '%y\t%i\t%n\t%s\t%b\t%C@\t%T@\t%B@\t%P\n', or \0 at its end
    Find,
    /// rsync --list-only -r, run with TZ=UTC
    Rsync,
    /// zfs diff -H -F -t
    ZfsDiff,
    /// btrfs receive --dump of btrfs send --no-data
    Btrfs,
}
