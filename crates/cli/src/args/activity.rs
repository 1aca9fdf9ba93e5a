//! Arguments of `senesce activity`.

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
    /// Record short-lived files of a live tree
    Record {
        /// Directory tree; file systems mounted below it are not watched
        tree: PathBuf,
        /// Activity profile set to write
        output: PathBuf,
        /// Recording time; Ctrl-C stops earlier and keeps the recording
        #[arg(long = "for", value_name = "TIME", default_value = "24h", value_parser = units::time)]
        time: Duration,
        /// Notification interface [default: fanotify if available, else inotify]
        #[arg(long, value_enum)]
        by: Option<WatchBy>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Convert logs of other programs to activity profiles
    Import {
        /// Log format
        #[arg(long, value_enum)]
        from: LogFormat,
        /// Logs in chronological order; timestamps are converted to local time (TZ)
        #[arg(required = true)]
        logs: Vec<PathBuf>,
        /// Activity profile set to write
        output: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print the bpftrace script for `activity import`
    Script,
    /// Summarize an activity profile set
    Show {
        /// File, or `builtin`
        set: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum WatchBy {
    /// One mark for the whole file system; needs root and Linux 5.17
    Fanotify,
    /// One watch for each directory
    Inotify,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// Output of `strace -f -ttt -y`
    Strace,
    /// Output of the script of `senesce activity script`
    Bpftrace,
    /// NFS requests printed by nfsdump
    Nfsdump,
}
