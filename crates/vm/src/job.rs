//! What the first process of the machine is to do: a file in its first root.

use crate::inside::Inside;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The file.
pub const FILE: &str = "/job.json";
/// The directory of the modules there.
pub const MODULES: &str = "/modules";
/// This program there.
pub const PROGRAM: &str = "/senesce-init";
/// The 9p tag of the host's root.
pub const ROOT_TAG: &str = "root";

/// The ports between the machine and the process outside.
pub mod port {
    /// What both say of the run.
    pub const TALK: &str = "senesce.talk";
    /// What is asked of the monitor of QEMU.
    pub const MEMORY: &str = "senesce.memory";
    /// Standard output.
    pub const OUT: &str = "senesce.out";
    /// Standard error.
    pub const ERR: &str = "senesce.err";
}

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Modules to load, in this order; their files are numbered.
    pub modules: Vec<String>,
    /// Directories to be written to, with their 9p tags.
    pub writable: Vec<(String, PathBuf)>,
    /// The program, its path on the host.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its directory.
    pub dir: PathBuf,
    /// The number of the process outside, which the one inside gets as well: what it names by its number in directories of the
    /// host is then named by one that is taken there.
    pub pid: u32,
    /// What the program is told of where it runs.
    pub inside: Inside,
}

/// A file of the module `name`, the `index`th to be loaded.
pub fn module_file(index: usize, name: &str) -> String {
    format!("{MODULES}/{index:03}-{name}.ko")
}
