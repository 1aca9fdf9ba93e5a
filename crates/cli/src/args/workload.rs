//! Arguments of `senesce age` for workloads other than profiles.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

// Workloads that an option of another workload conflicts with. `requires` alone is not enough: clap waives it if the required argument conflicts
// with a given one.
const NOT_GIT: [&str; 7] =
    ["workload_kind", "mail", "intrafile", "interfile", "filesize", "trace", "snapshots"];
const NOT_MAIL: [&str; 7] =
    ["workload_kind", "git", "intrafile", "interfile", "filesize", "trace", "snapshots"];
const NOT_RECORDED: [&str; 5] = ["git", "mail", "intrafile", "interfile", "filesize"];
const NOT_SNAPSHOTS: [&str; 7] =
    ["workload_kind", "git", "mail", "intrafile", "interfile", "filesize", "trace"];
const NOT_LIVE: [&str; 6] = ["workload_kind", "intrafile", "interfile", "filesize", "trace", "snapshots"];

/// A workload instead of a profile.
#[derive(Args)]
pub struct WorkloadArgs {
    /// Workload: a kind, as in experiment files (an unknown kind prints all), or a TOML file
    #[arg(id = "workload_kind", long = "workload", value_name = "KIND", group = "workload")]
    pub kind: Option<String>,
    /// Parameter of --workload, as in an experiment file; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "workload_kind", value_parser = units::assignment)]
    pub set: Vec<(String, String)>,
    /// Workload: pull the history of this git repository, a path or URL [default: a synthetic one]
    #[arg(long, value_name = "REPO", num_args = 0..=1, group = "workload")]
    pub git: Option<Option<PathBuf>>,
    /// Workload: a mail server (Dovecot)
    #[arg(long, group = "workload")]
    pub mail: bool,
    /// Workload: files that grow at the same time, PERCENT of each file in turn
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100", group = "workload")]
    pub intrafile: Option<u64>,
    /// Workload: a directory tree created out of order, PERCENT of it
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100", group = "workload")]
    pub interfile: Option<u64>,
    /// Workload: a directory tree created out of order, with files of SIZE
    #[arg(long, value_name = "SIZE", value_parser = units::size, group = "workload")]
    pub filesize: Option<u64>,
    /// Workload: this operation trace, with the names and contents beside it
    #[arg(long, value_name = "FILE", group = "workload")]
    pub trace: Option<PathBuf>,
    /// Workload: the changes between these snapshots, in chronological order; a directory stands for all snapshots in it
    #[arg(long, value_name = "SNAPSHOT", num_args = 1.., group = "workload")]
    pub snapshots: Vec<PathBuf>,
    /// Derive the workload of --snapshots as published (Smith & Seltzer 1997), without extensions
    #[arg(long, requires = "snapshots", conflicts_with_all = NOT_SNAPSHOTS)]
    pub published: bool,
    /// Add short-lived files from this activity profile set: file, or `builtin`
    #[arg(long, value_name = "SET", requires = "snapshots", conflicts_with_all = NOT_SNAPSHOTS)]
    pub short_lived: Option<PathBuf>,
    /// Repository (a path or URL) to pull from, or whose tree --interfile and --filesize create
    #[arg(long, value_name = "REPO", requires = "workload", conflicts_with_all = ["workload_kind", "mail", "intrafile", "trace", "snapshots"])]
    pub repo: Option<PathBuf>,
    /// Commits to pull
    #[arg(long, value_name = "N", default_value_t = 400, requires = "git", conflicts_with_all = NOT_GIT)]
    pub pulls: u64,
    /// Order of the commits
    #[arg(long, value_enum, default_value_t = Commits::FirstParent, requires = "git", conflicts_with_all = NOT_GIT)]
    pub order: Commits,
    /// Garbage collection of the real git: off, auto (git's own rule), or a number of pulls
    #[arg(long, value_name = "WHEN", default_value = "off", value_parser = units::gc, requires_all = ["git", "live"], conflicts_with_all = NOT_GIT)]
    pub gc: workload::git::Gc,
    /// Replay the working tree alone, without the files below .git
    #[arg(long, requires = "git", conflicts_with = "live", conflicts_with_all = NOT_GIT)]
    pub no_objects: bool,
    /// Days of mail after the initial filling
    #[arg(long, value_name = "N", default_value_t = 100, requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub days: u64,
    /// Number of mail users
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub users: Option<u32>,
    /// Mailboxes per user
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub mailboxes: Option<u32>,
    /// Initial messages per mailbox
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub messages: Option<u32>,
    /// Messages inserted or deleted per day
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub operations: Option<u32>,
    /// Loopback port of Dovecot [default: a free port]
    #[arg(long, value_name = "PORT", requires_all = ["mail", "live"],
        conflicts_with_all = NOT_MAIL, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Number of files
    #[arg(long, value_name = "N", requires = "workload", conflicts_with_all = ["workload_kind", "git", "mail", "trace", "snapshots"])]
    pub files: Option<u64>,
    /// Last round of --workload, last checkpoint of the trace, or last snapshot, counted from 0 [default: all]
    #[arg(long, value_name = "N", requires = "workload", conflicts_with_all = NOT_RECORDED)]
    pub rounds: Option<u64>,
    /// Run the real git or Dovecot
    #[arg(long, requires = "workload", conflicts_with = "extracted", conflicts_with_all = NOT_LIVE)]
    pub live: bool,
    /// Replay the file operations of git or Dovecot (default)
    #[arg(long, requires = "workload", conflicts_with_all = NOT_LIVE)]
    pub extracted: bool,
    /// Measure aged and unaged after every N pulls, days, rounds, or percent of the operations of a profile
    #[arg(long, value_name = "N", conflicts_with_all = ["time", "fit", "no_fill", "plan_only"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Cold scans of each side per measurement, which are averaged [default: 1]
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: Option<u64>,
}

/// Commits of a history to pull.
#[derive(Clone, Copy, ValueEnum)]
pub enum Commits {
    /// First parents only: the main line
    FirstParent,
    /// All commits, parents first
    Full,
}
