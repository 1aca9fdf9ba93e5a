//! Errors of measurements. Each message says what failed, on what, why, and if possible what to do.

use std::path::{Path, PathBuf};

/// An error from a probe.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call on a file failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An error of the underlying disk.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The measurement is impossible, or its result would be wrong.
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
    /// For `map_err` of an operation on a path.
    pub(crate) fn io<E: Into<std::io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        move |source| Error::Io { doing, path: path.to_path_buf(), source: source.into() }
    }

    /// The error of an impossible measurement.
    pub(crate) fn cannot(what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Cannot { what: what.into(), why: why.into() }
    }
}
