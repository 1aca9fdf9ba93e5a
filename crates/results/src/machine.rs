//! The machine of a measurement.

use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The properties of the machine that are needed to compare results. Contains no host names, user names or paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Logical processors that this process may use.
    pub cpus: usize,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system.
    pub system: String,
    /// Architecture.
    pub architecture: String,
    /// The virtual machine that this program started for the run, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
}

impl Machine {
    /// The properties of this machine, as far as they are known.
    pub fn this() -> Machine {
        let unknown = || "unknown".to_owned();
        let field = |path: &str, key: &str, separator: char| {
            let text = read_to_string(path).unwrap_or_default();
            let line = text.lines().find(|l| l.split(separator).next().is_some_and(|k| k.trim() == key));
            line.and_then(|l| l.split_once(separator)).map(|(_, v)| v.trim().trim_matches('"').to_owned())
        };
        let uname = rustix::system::uname();
        Machine {
            cpu: field("/proc/cpuinfo", "model name", ':').unwrap_or_else(unknown),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal", ':')
                .and_then(|v| v.trim_end_matches(" kB").parse::<u64>().ok())
                .map_or(0, |kib| kib * 1024),
            kernel: uname.release().to_string_lossy().into_owned(),
            system: field("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(unknown),
            architecture: uname.machine().to_string_lossy().into_owned(),
            vm: vm::guest_environment().map(|guest| guest.description()),
        }
    }
}
