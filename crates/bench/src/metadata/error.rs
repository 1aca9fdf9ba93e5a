//! Errors that end a run of the benchmark. Failures of single operations are counted instead.

use std::path::PathBuf;

/// An error that ends the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid settings.
    #[error("{0}")]
    Settings(String),
    /// The group of ranks has failed.
    #[error(transparent)]
    Group(#[from] ranks::Error),
    /// A file of the benchmark itself cannot be used.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The failed action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The run-info file is invalid, or belongs to another run.
    #[error("{}: {why}", path.display())]
    RunInfo {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// A signal interrupted the run.
    #[error("interrupted; the objects still exist: delete them with `--phases cleanup`")]
    Interrupted,
}
