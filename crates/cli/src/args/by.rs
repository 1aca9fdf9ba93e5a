//! What `senesce age` takes where a workload ages a file system instead of a profile.

use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
    /// The repository to pull from, or whose tree --interfile and --filesize make
    #[arg(long, value_name = "REPO", requires = "by")]
    pub repo: Option<PathBuf>,
    /// How many commits are pulled
    #[arg(long, value_name = "N", default_value_t = 400, requires = "git")]
    pub pulls: u64,
    /// Which commits are pulled
    #[arg(long, value_enum, default_value_t = Commits::FirstParent, requires = "git")]
    pub order: Commits,
    /// When git cleans up: off, auto (its own rule), or after every so many pulls
    #[arg(long, value_name = "WHEN", default_value = "off", value_parser = units::gc, requires = "git")]
    pub gc: ager::git::Gc,
    /// Replay what git writes below .git too
    #[arg(long, requires = "git", conflicts_with = "live")]
    pub objects: bool,
    /// How many days of mail follow the filling
    #[arg(long, value_name = "N", default_value_t = 100, requires = "mail")]
    pub days: u64,
    /// How many users have mail
    #[arg(long, value_name = "N", requires = "mail")]
    pub users: Option<u32>,
    /// How many mailboxes each user has
    #[arg(long, value_name = "N", requires = "mail")]
    pub mailboxes: Option<u32>,
    /// How many messages each mailbox is filled with
    #[arg(long, value_name = "N", requires = "mail")]
    pub messages: Option<u32>,
    /// How many messages come or go on a day
    #[arg(long, value_name = "N", requires = "mail")]
    pub operations: Option<u32>,
    /// The port of Dovecot on the loopback [default: a free one]
    #[arg(long, value_name = "PORT", requires = "live")]
    pub port: Option<u16>,
    /// How many files grow, or the tree has
    #[arg(long, value_name = "N", requires = "by")]
    pub files: Option<u64>,
    /// Have the real git or the real Dovecot do it
    #[arg(long, requires = "by", conflicts_with = "extracted")]
    pub live: bool,
    /// Replay what git or Dovecot would do; the default
    #[arg(long, requires = "by")]
    pub extracted: bool,
    /// Measure after every so many pulls or days, aged and unaged
    #[arg(long, value_name = "N", requires = "by", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
}

/// Which commits of a history are pulled.
#[derive(Clone, Copy, ValueEnum)]
pub enum Commits {
    /// The main line
    FirstParent,
    /// All, each behind its parents
    Full,
}
