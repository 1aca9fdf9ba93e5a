//! The one table of arguments: help, man pages and completions are made from it.

mod activity;
mod age;
mod bench;
mod betreefs;
mod by;
mod disk;
mod experiment;
mod extract;
mod ffs;
mod files;
mod from_snapshots;
mod image;
mod mail;
mod measure;
mod personality;
mod profile;
mod resemble;
mod results;
mod served;
mod snapshot;
mod verify;

pub use self::activity::*;
pub use self::bench::*;
pub use self::betreefs::*;
pub use self::ffs::*;
pub use self::image::*;
pub use self::snapshot::*;
pub use age::*;
pub use by::*;
pub use disk::*;
pub use experiment::*;
pub use extract::*;
pub use files::*;
pub use from_snapshots::*;
pub use mail::*;
pub use measure::*;
pub use personality::*;
pub use profile::*;
pub use resemble::*;
pub use results::*;
pub use served::*;
pub use verify::*;

use clap::{Args, Parser, Subcommand};
use lab::StoreAt;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Ages a file system the way years of use would, measures what that did to it, and shows it.
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
}

#[derive(Subcommand)]
pub enum Command {
    /// Say what works on this machine, and how to get the rest
    Doctor(Json),
    /// Age and compare ext4, XFS and Btrfs, small, and write the report
    Demo(Demo),
    /// Age a file system
    Age(Box<Age>),
    /// Measure a directory, an image or a device
    Probe(Probe),
    /// Run a benchmark
    Bench(Bench),
    /// Compare aged file systems with their unaged copies
    Compare(Compare),
    /// Save, restore, verify and share aged images
    Image(Image),
    /// Put two file systems side by side: free space, extents, layout scores, a new file on a copy
    Resemble(Resemble),
    /// Compare a real file system day by day with one on which the workload of its snapshots was replayed
    Verify(Box<Verify>),
    /// Run an experiment: file systems aged in rounds and measured after each
    Run(Run),
    /// Run a built-in experiment that reproduces a figure of the literature
    Reproduce(Reproduce),
    /// Make, serve and break modelled disks; list device models, and price logs of requests on them
    Disk(Disk),
    /// Make, mount, check or sum up a file system that does not age
    Betreefs(Betreefs),
    /// Simulate how a trace is allocated, by policies of the fast file system or of extents
    Ffs(Ffs),
    /// List, show, check or capture profiles
    Profile(Profile),
    /// Record, import or show short-lived files: those that no snapshot has
    Activity(Activity),
    /// Take, compare, sum up or import snapshots of file systems
    Snapshot(Snapshot),
    /// Show, convert or sum up traces of operations
    Trace(Trace),
    /// Bring stores of results together
    Store(Store),
    /// Write one page with everything that was compared
    Report(Report),
    /// Show running and finished runs in a browser: progress, figures as they come, any two of them side by side
    Serve(Serve),
    /// Write all measurements as one table
    Export(Export),
    /// Take down what a killed run has left: mounts, loop devices, control groups, trace buffers
    Cleanup(Json),
    /// Write the man pages into a directory
    Man {
        /// The directory
        dir: PathBuf,
    },
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args)]
pub struct Json {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The arguments; called as `mount` calls those that mount, they are of `betreefs mount`, and a personality behind `bench` is one
/// of `bench personality`.
pub fn words() -> Vec<OsString> {
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

/// Where results are.
#[derive(Args, Clone)]
pub struct Work {
    /// Work directory: images, their descriptions, and the store of results
    #[arg(long, value_name = "DIR", default_value = "senesce-work")]
    pub work: PathBuf,
}

/// Where the store of results is.
#[derive(Args, Clone)]
pub struct StoreArg {
    /// The store of results: a file, a work directory, or postgres://HOST/DATABASE [default: that of the work directory]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

impl StoreArg {
    /// That store, if it is named.
    pub fn named(&self) -> Option<StoreAt> {
        self.store.as_deref().map(StoreAt::named)
    }

    /// That store, or that of the work directory.
    pub fn or_of(&self, work: &Work) -> StoreAt {
        self.named().unwrap_or_else(|| StoreAt::of_work(&work.work))
    }
}

#[cfg(test)]
mod tests;
