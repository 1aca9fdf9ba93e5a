//! What can go wrong with a trace. Each message says what was tried, on what, why it failed and what to do.

use std::path::PathBuf;

/// An error of reading or writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{action} trace {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Operations cannot be written.
    #[error("writing operations as JSON lines: {0}; check the free space, or the reader of the pipe")]
    Output(std::io::Error),
    /// The file is not a trace, not a whole one, or a newer one.
    #[error("cannot read {path} as a senesce trace: {why}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// The labels or the contents beside a trace are not those of the trace, not whole, or of a newer version.
    #[error("cannot read {path} as the labels of a senesce trace: {why}")]
    Labels {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// A source of operations failed.
    #[error("generating operations: {0}")]
    Source(String),
}
