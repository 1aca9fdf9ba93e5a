//! Errors of virtual machines. Each message says what failed, on what, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a virtual machine; errors of the command inside are reported by the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// The action.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The processor does not match the kernels.
    #[error("virtual machines need an x86-64 processor, but this one is {}", std::env::consts::ARCH)]
    Architecture,
    /// A program is missing.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// No kernel was found.
    #[error(
        "no kernel to boot in a virtual machine{}: `scripts/setup {}` unpacks that of Debian below {}, or \
         name one with --kernel VMLINUZ --modules DIR", wanting(wanted), setup_part(wanted), dir.display()
    )]
    NoKernel {
        /// The required modules.
        wanted: Vec<String>,
        /// The first directory that is searched for kernels.
        dir: PathBuf,
    },
    /// The file is not a kernel, or the modules belong to another kernel.
    #[error("kernel {}: {why}", image.display())]
    Kernel {
        /// The kernel image.
        image: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// The machine ended or was stopped before its command ended.
    #[error("virtual machine ({what}) {why}{}", console_excerpt(console))]
    Machine {
        /// The hypervisor.
        what: String,
        /// What happened.
        why: String,
        /// The relevant console output.
        console: Option<String>,
    },
    /// The file cannot be used as memory of the machine.
    #[error("using {} as persistent memory of the virtual machine: {why}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// Ctrl-C before the command started, or in a machine with a virtual clock.
    #[error("interrupted; the virtual machine was stopped")]
    Interrupted,
}

impl Error {
    /// Converts errors of operations on one path, for `map_err`.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source: source.into() }
    }
}

/// The part of `scripts/setup` that gets a kernel with these modules.
pub fn setup_part(wanted: &[String]) -> &'static str {
    if wanted.iter().any(|module| module == "zfs") { "zfs" } else { "vm" }
}

fn wanting(wanted: &[String]) -> String {
    if wanted.is_empty() { String::new() } else { format!(" with {}", wanted.join(", ")) }
}

fn console_excerpt(console: &Option<String>) -> String {
    console.as_ref().map_or_else(String::new, |line| format!("; last line of its console: {line}"))
}
