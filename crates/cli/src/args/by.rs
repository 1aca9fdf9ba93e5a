//! What `senesce age` takes where a workload ages a file system instead of a profile.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What is no history, no mail, no trace or snapshots. A `requires` is not enough: it is waived by what conflicts with its object.
const NOT_GIT: [&str; 6] = ["mail", "intrafile", "interfile", "filesize", "trace", "snapshots"];
const NOT_MAIL: [&str; 6] = ["git", "intrafile", "interfile", "filesize", "trace", "snapshots"];
const NOT_KEPT: [&str; 5] = ["git", "mail", "intrafile", "interfile", "filesize"];
const NOT_SNAPSHOTS: [&str; 6] = ["git", "mail", "intrafile", "interfile", "filesize", "trace"];
const NOT_LIVE: [&str; 5] = ["intrafile", "interfile", "filesize", "trace", "snapshots"];

/// Which workload, and how.
#[derive(Args)]
pub struct By {
    /// Age by pulling the history of this git repository; of a made-up one if none is named
    #[arg(long, value_name = "REPO", num_args = 0..=1, group = "by")]
    pub git: Option<Option<PathBuf>>,
    /// Age by a mail server, Dovecot
    #[arg(long, group = "by")]
    pub mail: bool,
    /// Age by files that grow at the same time, so many percent of each in turn
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100", group = "by")]
    pub intrafile: Option<u64>,
    /// Age by a tree that is made out of order, so many percent of it
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "100", group = "by")]
    pub interfile: Option<u64>,
    /// Age by a tree that is made out of order, its files of this size
    #[arg(long, value_name = "SIZE", value_parser = units::size, group = "by")]
    pub filesize: Option<u64>,
    /// Age by this trace, with the names and contents that lie beside it
    #[arg(long, value_name = "FILE", group = "by")]
    pub trace: Option<PathBuf>,
    /// Age by what leads through these snapshots of a real file system, in order of time; a directory stands for all in it
    #[arg(long, value_name = "SNAPSHOT", num_args = 1.., group = "by")]
    pub snapshots: Vec<PathBuf>,
    /// Make the workload of snapshots as published, and no more
    #[arg(long, requires = "snapshots", conflicts_with_all = NOT_SNAPSHOTS)]
    pub published: bool,
    /// Put in short-lived files after this set of profiles of activity: a file, or `builtin`
    #[arg(long, value_name = "SET", requires = "snapshots", conflicts_with_all = NOT_SNAPSHOTS)]
    pub short_lived: Option<PathBuf>,
    /// The repository to pull from, or whose tree --interfile and --filesize make
    #[arg(long, value_name = "REPO", requires = "by", conflicts_with_all = ["mail", "intrafile", "trace", "snapshots"])]
    pub repo: Option<PathBuf>,
    /// How many commits are pulled
    #[arg(long, value_name = "N", default_value_t = 400, requires = "git", conflicts_with_all = NOT_GIT)]
    pub pulls: u64,
    /// Which commits are pulled
    #[arg(long, value_enum, default_value_t = Commits::FirstParent, requires = "git", conflicts_with_all = NOT_GIT)]
    pub order: Commits,
    /// When the real git cleans up: off, auto (its own rule), or after every so many pulls
    #[arg(long, value_name = "WHEN", default_value = "off", value_parser = units::gc, requires_all = ["git", "live"], conflicts_with_all = NOT_GIT)]
    pub gc: ager::git::Gc,
    /// Do not replay what git writes below .git, but the working tree alone
    #[arg(long, requires = "git", conflicts_with = "live", conflicts_with_all = NOT_GIT)]
    pub no_objects: bool,
    /// How many days of mail follow the filling
    #[arg(long, value_name = "N", default_value_t = 100, requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub days: u64,
    /// How many users have mail
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub users: Option<u32>,
    /// How many mailboxes each user has
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub mailboxes: Option<u32>,
    /// How many messages each mailbox is filled with
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub messages: Option<u32>,
    /// How many messages come or go on a day
    #[arg(long, value_name = "N", requires = "mail", conflicts_with_all = NOT_MAIL)]
    pub operations: Option<u32>,
    /// The port of Dovecot on the loopback [default: a free one]
    #[arg(long, value_name = "PORT", requires_all = ["mail", "live"],
        conflicts_with_all = NOT_MAIL, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// How many files grow, or the tree has
    #[arg(long, value_name = "N", requires = "by", conflicts_with_all = ["git", "mail", "trace", "snapshots"])]
    pub files: Option<u64>,
    /// Up to which checkpoint of the trace, or which snapshot, the first being 0 [default: the last]
    #[arg(long, value_name = "N", requires = "by", conflicts_with_all = NOT_KEPT)]
    pub rounds: Option<u64>,
    /// Have the real git or the real Dovecot do it
    #[arg(long, requires = "by", conflicts_with = "extracted", conflicts_with_all = NOT_LIVE)]
    pub live: bool,
    /// Replay what git or Dovecot would do; the default
    #[arg(long, requires = "by", conflicts_with_all = NOT_LIVE)]
    pub extracted: bool,
    /// Measure after every so many pulls, days or rounds, aged and unaged
    #[arg(long, value_name = "N", requires = "by", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Cold scans of each side where --every measures; an interval needs 6 [default: 1]
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: Option<u64>,
}

/// Which commits of a history are pulled.
#[derive(Clone, Copy, ValueEnum)]
pub enum Commits {
    /// The main line
    FirstParent,
    /// All, each behind its parents
    Full,
}
