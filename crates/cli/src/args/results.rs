//! What `senesce trace`, `senesce report`, `senesce serve` and `senesce export` take.

use super::{Extract, ExtractMail, FromSnapshots, StoreArg, Work};
use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Args)]
pub struct Trace {
    #[command(subcommand)]
    pub action: TraceAction,
}

#[derive(Subcommand)]
pub enum TraceAction {
    /// Make a trace of the history of a git repository: what pulling it does to files
    Extract(Extract),
    /// Show where a trace comes from and its first operations
    Show {
        /// The trace
        file: PathBuf,
        /// How many operations to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        first: u64,
    },
    /// Convert between Parquet and JSON lines (.jsonl)
    Convert {
        /// The trace to read
        from: PathBuf,
        /// The trace to write
        to: PathBuf,
    },
    /// Write what a mail server does to its files in days of mail, as Dovecot does it
    ExtractMail(ExtractMail),
    /// Make a trace of snapshots of a file system: what leads from one to the next
    FromSnapshots(Box<FromSnapshots>),
    /// Sum up a trace
    Stat {
        /// The trace
        file: PathBuf,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct Store {
    #[command(subcommand)]
    pub action: StoreAction,
}

#[derive(Subcommand)]
pub enum StoreAction {
    /// Take over what other stores hold: of shards, of other machines, of other work directories
    Merge {
        /// The stores to take from: files, work directories, or postgres://…
        #[arg(required = true, value_name = "STORE")]
        from: Vec<String>,
        /// The store to take into, which is made if it is not there
        #[arg(long, value_name = "STORE")]
        into: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
pub struct Report {
    /// Names of compared file systems [default: all in the store]
    pub names: Vec<String>,
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub store: StoreArg,
    /// The page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
}

#[derive(Args)]
pub struct Serve {
    /// Work directories whose results are shown; may be given several times [default: senesce-work]
    #[arg(long, value_name = "DIR")]
    pub work: Vec<PathBuf>,
    /// A store that is shown: a file, or postgres://HOST/DATABASE; may be given several times
    #[arg(long, value_name = "STORE")]
    pub store: Vec<String>,
    /// Where to listen; port 0 is one that is free. Anything but loopback asks for a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Ask for the token that this file holds, instead of one made up
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub store: StoreArg,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// JSON
    Json,
}
