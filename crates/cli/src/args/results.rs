//! Arguments of `senesce trace`, `senesce report`, `senesce serve` and `senesce export`.

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
    /// Make a trace from the history of a git repository
    Extract(Extract),
    /// Show the origin and first operations of a trace
    Show {
        /// Trace
        file: PathBuf,
        /// Operations to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        first: u64,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Convert between Parquet and JSON lines (.jsonl)
    Convert {
        /// Trace to read
        from: PathBuf,
        /// The trace to write
        to: PathBuf,
    },
    /// Make a trace of a mail server (Dovecot)
    ExtractMail(ExtractMail),
    /// Make a trace of the changes between snapshots
    FromSnapshots(Box<FromSnapshots>),
    /// Summarize a trace
    Stat {
        /// Trace
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
    /// Merge stores of shards, machines or work directories
    Merge {
        /// Source stores: files, work directories, or postgres://…
        #[arg(required = true, value_name = "STORE")]
        from: Vec<String>,
        /// Target store; created if missing
        #[arg(long, value_name = "STORE")]
        into: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// List all measures with units and definitions
    Measures {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Print a Markdown table
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
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
    /// Page to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Serve {
    /// Work directory to show; may be repeated [default: that of `senesce age`]
    #[arg(long, value_name = "DIR")]
    pub work: Vec<PathBuf>,
    /// Result store to show: file, or postgres://HOST/DATABASE; may be repeated
    #[arg(long, value_name = "STORE")]
    pub store: Vec<String>,
    /// Listen address; port 0 picks a free port. Addresses other than loopback require a token
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// File with the access token [default: a random token]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    pub work: Work,
    #[command(flatten)]
    pub store: StoreArg,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
    /// File to write [default: standard output]
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
