//! The job of the machine's first process: a file in the initramfs.

use crate::guest_environment::GuestEnvironment;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The job file.
pub const FILE: &str = "/job.json";
/// The directory of the modules.
pub const MODULES: &str = "/modules";
/// This program.
pub const PROGRAM: &str = "/senesce-init";
/// The 9p tag of the host's root.
pub const ROOT_TAG: &str = "root";

/// The virtio ports between the machine and the process outside.
pub mod port {
    /// Messages about the run, in both directions.
    pub const TALK: &str = "senesce.talk";
    /// Requests for persistent memory.
    pub const MEMORY: &str = "senesce.memory";
    /// Standard output.
    pub const OUT: &str = "senesce.out";
    /// Standard error.
    pub const ERR: &str = "senesce.err";
}

/// The job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Modules to load, in this order; their files are numbered.
    pub modules: Vec<String>,
    /// Writable directories and their 9p tags.
    pub writable: Vec<(String, PathBuf)>,
    /// The program, by its path on the host.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub dir: PathBuf,
    /// The number of the process outside, which the process inside also gets: names that it derives from its
    /// number in host directories cannot collide with those of other host processes.
    pub pid: u32,
    /// Information about the machine for the program.
    #[serde(rename = "inside")]
    pub guest: GuestEnvironment,
}

/// The file of the module `name`, the `index`th one to load.
pub fn module_file(index: usize, name: &str) -> String {
    format!("{MODULES}/{index:03}-{name}.ko")
}
