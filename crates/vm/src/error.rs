//! What can go wrong with a virtual machine. Each message says what was tried, on what, why it failed and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a virtual machine; not one of the command inside, which speaks for itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The processor does not match the kernels.
    #[error("virtual machines need an x86-64 processor, but this one is {}", std::env::consts::ARCH)]
    Architecture,
    /// A program is missing.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// No kernel to boot.
    #[error(
        "no kernel to boot in a virtual machine{}: `scripts/setup vm` unpacks that of Debian below {}, or \
         name one with --kernel VMLINUZ --modules DIR", wanting(wanted), dir.display()
    )]
    NoKernel {
        /// The modules that it must have.
        wanted: Vec<String>,
        /// Where kernels are looked for first.
        dir: PathBuf,
    },
    /// A file that is not a kernel, or modules of another kernel.
    #[error("kernel {}: {why}", image.display())]
    Kernel {
        /// Its file.
        image: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The machine ended, or was stopped, before its command.
    #[error("virtual machine ({what}) {why}{}", said(console))]
    Machine {
        /// What ran it.
        what: String,
        /// What happened.
        why: String,
        /// What its console said of it.
        console: Option<String>,
    },
    /// A file that cannot be used as memory of the machine.
    #[error("using {} as persistent memory of the virtual machine: {why}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// Ctrl-C before the command had begun.
    #[error("interrupted while the virtual machine booted")]
    Interrupted,
}

impl Error {
    /// For `map_err` on operations on one path.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source: source.into() }
    }
}

fn wanting(wanted: &[String]) -> String {
    if wanted.is_empty() { String::new() } else { format!(" with {}", wanted.join(", ")) }
}

fn said(console: &Option<String>) -> String {
    console.as_ref().map_or_else(String::new, |line| format!("; last line of its console: {line}"))
}
