//! Errors of the store.

use std::fmt::Display;
use std::path::PathBuf;

/// An error of a result store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused an operation.
    #[error("result store {store}: {source}")]
    Store {
        /// The file, or the URL without its password.
        store: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An export cannot be written.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The store does not exist, or does not contain the requested data.
    #[error("{0}")]
    Refused(String),
}

impl RunError for Error {
    fn is_interruption(&self) -> bool {
        false
    }
}

/// An error that ends a run, as the store records it.
pub trait RunError: Display {
    /// Whether a signal ended the run.
    fn is_interruption(&self) -> bool;
}
