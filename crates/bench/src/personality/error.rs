//! Errors of a personality.

use std::path::{Path, PathBuf};

/// An error that prevents or ends a run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unknown personality.
    #[error("no personality {name:?}; built in: {known}; or name a TOML file")]
    Unknown {
        /// The requested name.
        name: String,
        /// The built-in personalities.
        known: String,
    },
    /// Invalid personality.
    #[error("{place} is not a personality: {why}")]
    Invalid {
        /// The source of the text.
        place: String,
        /// The problem.
        why: String,
    },
    /// A required resource is not available.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("starting thread {number} of {threads}: {source}; use fewer threads")]
    Thread {
        /// The number of the thread.
        number: u32,
        /// Number of threads of the run.
        threads: u32,
        /// The cause.
        source: std::io::Error,
    },
    /// An operation failed and ended the run.
    #[error("{kind} of {path} failed and ended the run: {source}")]
    Operation {
        /// The kind of operation.
        kind: &'static str,
        /// The file, relative to the directory of the run.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Complete loops passed without an operation.
    #[error(
        "no work left: no file of its sets can be chosen any more; a loop must create as many files as it \
         deletes"
    )]
    NoSuitableFile,
    /// A signal requested the end of the run.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err` on operations on one file.
    pub(super) fn io<E: Into<std::io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source: source.into() }
    }
}
