//! Errors of traces. Each message says what failed, on what, why, and what to do.

use std::path::PathBuf;

/// An error of reading or writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{action} trace {path}: {source}")]
    Io {
        /// The action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Operations could not be written.
    #[error("writing operations as JSON lines: {0}; check the free space, or the reader of the pipe")]
    Output(std::io::Error),
    /// The file is not a trace, is incomplete, or has a newer format.
    #[error("cannot read {path} as a senesce trace: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// The labels or contents beside a trace belong to another trace, are incomplete, or have a newer version.
    #[error("cannot read {path} as the labels of a senesce trace: {why}")]
    Labels {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// A source of operations failed.
    #[error("generating operations: {0}")]
    Source(String),
}
