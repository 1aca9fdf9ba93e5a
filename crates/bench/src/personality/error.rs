//! What keeps a personality from being run, or ends its run.

use std::path::{Path, PathBuf};

/// An error that leaves nothing to go on with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unknown personality.
    #[error("no personality {name:?}; built in: {known}; or name a TOML file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that are built in.
        known: String,
    },
    /// Invalid personality.
    #[error("{place} is not a personality: {why}")]
    Unsound {
        /// Where it came from.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// What it needs around it cannot be had.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("starting thread {number} of {of}: {source}; use fewer threads")]
    Thread {
        /// Which.
        number: u32,
        /// How many there were to be.
        of: u32,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An operation failed, which ended the run.
    #[error("{kind} of {path} failed and ended the run: {source}")]
    Operation {
        /// The kind of operation.
        kind: &'static str,
        /// The file, below the directory of the run.
        path: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Whole loops passed without an operation.
    #[error(
        "no work left: no file of its sets can be chosen any more; a loop must create as many files as it \
         deletes"
    )]
    Idle,
    /// A signal asked the run to end.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err` on operations on one file.
    pub(super) fn io<E: Into<std::io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source: source.into() }
    }
}
