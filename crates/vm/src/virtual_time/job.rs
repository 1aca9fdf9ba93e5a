//! What the first process of the machine does, and what it reports.

use crate::guest_environment::GuestEnvironment;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// The job file.
pub const FILE: &str = "/virtual-time.json";
/// The standard input of the command.
pub const INPUT: &str = "/input";
/// The directory of the programs.
pub const PROGRAMS: &str = "/bin";
/// The serial line for the result; the kernel's messages have the first one.
pub const RESULT: &str = "/dev/ttyS1";

/// The job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    /// Modules to load, in this order.
    pub modules: Vec<String>,
    /// The paths of the disks and their sizes in bytes, in the order of the devices.
    pub disks: Vec<(PathBuf, u64)>,
    /// The arguments of this program.
    pub args: Vec<OsString>,
    /// Its working directory.
    pub dir: PathBuf,
    /// Information about the machine for the program.
    pub guest: GuestEnvironment,
}

/// The end of the job.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The command ended.
    Exit { status: i32, output: String, errors: String },
    /// It could not be started, or was killed.
    Failed { why: String },
}

/// The device of a disk.
pub fn device(index: usize) -> PathBuf {
    format!("/dev/pmem{index}").into()
}
