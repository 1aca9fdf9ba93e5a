//! Command-line arguments. Help, man pages and completions are generated from these types.

mod activity;
mod age;
mod bench;
mod betreefs;
mod compare;
mod compare_layout;
mod disk;
pub mod examples;
mod experiment;
mod extract;
mod ffs;
mod files;
mod from_snapshots;
mod gate;
mod help;
mod image;
mod mail;
mod matrix;
mod measure;
mod personality;
mod profile;
mod results;
mod served;
mod snapshot;
mod verify;
mod workload;

pub use self::activity::*;
pub use self::bench::*;
pub use self::betreefs::*;
pub use self::ffs::*;
pub use self::image::*;
pub use self::snapshot::*;
pub use age::*;
pub use compare::*;
pub use compare_layout::*;
pub use disk::*;
pub use experiment::*;
pub use extract::*;
pub use files::*;
pub use from_snapshots::*;
pub use gate::*;
pub use mail::*;
pub use matrix::*;
pub use measure::*;
pub use personality::*;
pub use profile::*;
pub use results::*;
pub use served::*;
pub use verify::*;
pub use workload::*;

use crate::config::{self, WORK};
use crate::messages::Level;
use ::results::StoreLocation;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Ages file systems the way years of use would, measures the effect, and reports it.
#[derive(Parser)]
#[command(
    name = "senesce",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Senesce {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub level: LevelArgs,
}

/// How much is printed beside the results.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct LevelArgs {
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print the commands that are run, with their times
    #[arg(short, long, global = true)]
    verbose: bool,
}

impl LevelArgs {
    pub fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            _ => Level::Normal,
        }
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Check what works on this machine, and how to get the rest
    Doctor(Json),
    /// Age and compare small file systems, and write the report
    Demo(Demo),
    /// Age a file system
    Age(Box<Age>),
    /// Measure a directory, an image or a device
    Probe(Probe),
    /// Run a benchmark
    Bench(Bench),
    /// Compare aged file systems with their unaged copies
    Compare(Compare),
    /// Test whether a change makes aged file systems worse
    Gate(Box<Gate>),
    /// Save, restore, verify and share aged images
    Image(Image),
    /// Compare the layout and free space of two file systems
    #[command(alias = "resemble")]
    CompareLayout(CompareLayout),
    /// Validate snapshot replay against a real file system
    Verify(Box<Verify>),
    /// Run an experiment from a TOML file
    Run(Run),
    /// Reproduce published figures and tables
    Reproduce(Reproduce),
    /// Compare modelled disks with real ones
    Referee(Referee),
    /// Manage modelled disks and device models
    Disk(Disk),
    /// Manage betreefs, a Bε-tree file system that does not age
    Betreefs(Betreefs),
    /// Simulate block allocation policies on a trace
    Ffs(Ffs),
    /// List, show, check and capture profiles
    Profile(Profile),
    /// Record, import and show short-lived files
    Activity(Activity),
    /// Take, compare, summarize and import snapshots
    Snapshot(Snapshot),
    /// Make, show, convert and summarize operation traces
    Trace(Trace),
    /// Merge result stores, list measures
    Store(Store),
    /// Write the report, one self-contained HTML page
    Report(Report),
    /// Show running and finished runs in a browser
    Serve(Serve),
    /// Export all measurements as one table
    Export(Export),
    /// Remove mounts, loop devices and images of killed runs
    Cleanup(Json),
    /// Write the man pages
    Man {
        /// Directory to write to
        dir: PathBuf,
    },
    /// Print shell completions
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args)]
pub struct Json {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Returns the command line, with shorthands expanded: `betreefs` and `mount.fuse.betreefs`, as called by mount(8), to `senesce betreefs mount`,
/// and `bench NAME` to `bench personality NAME`.
pub fn argv() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_personality = |word: &OsString| {
        let word = word.to_string_lossy();
        word.ends_with(".toml") || ::bench::personality::builtin().any(|name| word == name)
    };
    if words.get(1).is_some_and(|word| word == "bench") && words.get(2).is_some_and(is_personality) {
        words.insert(2, "personality".into());
    }
    let name = words.first().and_then(|name| Path::new(name).file_name()).unwrap_or_default();
    if ["betreefs", "mount.fuse.betreefs"].iter().any(|helper| name == *helper) {
        words.splice(..1, ["senesce", "betreefs", "mount"].map(OsString::from));
    }
    words
}

/// The command line, with its help in order and with examples.
pub fn command() -> clap::Command {
    examples::add(help::arrange(Senesce::command()))
}

/// Whether the command line asks for more messages, also if it is not parsed.
pub fn wants_verbose(argv: &[OsString]) -> bool {
    let is_verbose = |word: &OsString| {
        let word = word.to_string_lossy();
        word == "--verbose" || (word.starts_with('-') && !word.starts_with("--") && word.contains('v'))
    };
    argv.iter().any(is_verbose)
}

/// Whether the command prints JSON, also if it cannot be parsed.
pub fn wants_json(argv: &[OsString]) -> bool {
    argv.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Where results are.
#[derive(Args, Clone)]
pub struct Work {
    /// Work directory: images, manifests and the result store
    #[arg(long, value_name = "DIR", default_value = WORK)]
    pub work: PathBuf,
}

impl Work {
    /// The option as the next command needs it; empty for the default.
    pub fn option(&self) -> String {
        let work = self.work.display();
        if self.work == config::work_dir() { String::new() } else { format!(" --work {work}") }
    }
}

/// Where the store of results is.
#[derive(Args, Clone)]
pub struct StoreArg {
    /// Result store: a file, a work directory, or postgres://HOST/DATABASE [default: the store of the work directory]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

impl StoreArg {
    /// The store given by --store.
    pub fn named(&self) -> Option<StoreLocation> {
        self.store.as_deref().map(StoreLocation::parse)
    }

    /// The store given by --store, or else the store of the work directory.
    pub fn or_of(&self, work: &Work) -> StoreLocation {
        self.named().unwrap_or_else(|| StoreLocation::of_work_dir(&work.work))
    }
}

#[cfg(test)]
mod tests;
