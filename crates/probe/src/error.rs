//! What can go wrong with a measurement. Each message says what was tried, on what, why it failed and what
//! to do where there is something to do.

use std::path::{Path, PathBuf};

/// An error of a probe.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused a call on a file.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The disk below refused something.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The measurement is impossible here, or its result would be wrong.
    #[error("{what}: {why}")]
    Cannot {
        /// What was tried, on what.
        what: String,
        /// Why it failed and what to do.
        why: String,
    },
}

impl From<tree::Error> for Error {
    fn from(error: tree::Error) -> Error {
        Error::Io { doing: error.doing, path: error.path, source: error.source }
    }
}

impl Error {
    /// Turns a system error into one that says what was tried on which path; for `map_err`.
    pub(crate) fn io<E: Into<std::io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        move |source| Error::Io { doing, path: path.to_path_buf(), source: source.into() }
    }

    /// A measurement that is impossible, and why.
    pub(crate) fn cannot(what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Cannot { what: what.into(), why: why.into() }
    }
}
