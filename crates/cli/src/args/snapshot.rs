//! Arguments of `senesce snapshot`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct Snapshot {
    #[command(subcommand)]
    pub action: SnapshotAction,
}

#[derive(Subcommand)]
pub enum SnapshotAction {
    /// Take a snapshot of a live tree
    Take(SnapshotTake),
    /// Show the changes between two snapshots
    Diff {
        /// Older snapshot
        older: PathBuf,
        /// Newer snapshot
        newer: PathBuf,
        /// List every change with its path
        #[arg(long)]
        list: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Summarize a snapshot
    Stat {
        /// Snapshot
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Convert a listing of another program to a snapshot
    Import(SnapshotImport),
}

#[derive(Args)]
pub struct SnapshotTake {
    /// Directory tree; file systems mounted below it are not entered
    pub path: PathBuf,
    /// Snapshot to write
    pub out: PathBuf,
    /// Replace names by keyed hashes; needs --key or --make-key
    #[arg(long, requires = "secret")]
    pub anonymous: bool,
    /// Key file; only snapshots of the same key can be compared
    #[arg(long, value_name = "FILE", group = "secret", requires = "anonymous")]
    pub key: Option<PathBuf>,
    /// New key file to create, readable by its owner alone
    #[arg(long, value_name = "FILE", group = "secret", requires = "anonymous")]
    pub make_key: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
    /// Threads of the directory walk [default: two per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct SnapshotImport {
    /// Program that made the listing
    #[arg(long, value_enum)]
    pub from: ListedBy,
    /// Listing
    pub file: PathBuf,
    /// Snapshot to write
    pub out: PathBuf,
    /// Base snapshot of the changes: for zfs-diff, and for increments of btrfs
    #[arg(long, value_name = "FILE")]
    pub base: Option<PathBuf>,
    /// Path prefix of the listing, which becomes the root: for zfs-diff
    #[arg(long, value_name = "DIR")]
    pub below: Option<PathBuf>,
    /// Time of the listing, in seconds since 1970 [default: modification time of its file]
    #[arg(long, value_name = "SECONDS")]
    pub at: Option<i64>,
    /// Replace an existing file
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
