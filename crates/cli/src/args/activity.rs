//! What `senesce activity` takes.

use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args)]
pub struct Activity {
    #[command(subcommand)]
    pub action: ActivityAction,
}

#[derive(Subcommand)]
pub enum ActivityAction {
    /// Watch a live tree, and keep which files came and went: times and sizes only, no name leaves the machine
    Record {
        /// The tree; other file systems below it are not watched
        tree: PathBuf,
        /// The set of profiles to write
        output: PathBuf,
        /// How long; Ctrl-C ends it earlier and keeps what was seen
        #[arg(long = "for", value_name = "TIME", default_value = "24h", value_parser = units::time)]
        time: Duration,
        /// What watches [default: fanotify where it can be had, or else inotify]
        #[arg(long, value_enum)]
        by: Option<WatchBy>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make profiles of logs of other programs; times are taken to local time (TZ)
    Import {
        /// What wrote the logs
        #[arg(long, value_enum)]
        from: LogFormat,
        /// The logs, in order of time
        #[arg(required = true)]
        logs: Vec<PathBuf>,
        /// The set of profiles to write
        output: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print the script for bpftrace whose output `import` reads
    Script,
    /// Show figures of a set of profiles
    Show {
        /// A file, or `builtin`
        set: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum WatchBy {
    /// Sees all of the file system at once; needs root and Linux 5.17
    Fanotify,
    /// Needs one watch for each directory
    Inotify,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// strace -f -ttt -y
    Strace,
    /// The script that `senesce activity script` prints
    Bpftrace,
    /// NFS requests as nfsdump prints them
    Nfsdump,
}
