//! Errors of activity profiles.

use std::path::{Path, PathBuf};

/// An error that says what failed, where, and what to do, on one line.
#[derive(Debug, thiserror::Error)]
pub enum ActivityError {
    /// The events are not those of a valid profile.
    #[error("event {place} of a profile: {what}")]
    Events {
        /// The index of the event, from 0.
        place: usize,
        /// What is wrong with the event.
        what: &'static str,
    },
    /// A file could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// The action.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a set of activity profiles, is incomplete, or has a newer version.
    #[error("cannot read {} as activity profiles: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// A line of a log does not match its format.
    #[error("cannot read {} as {format}: line {line}: {why}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// The expected format.
        format: &'static str,
        /// The line, from 1.
        line: u64,
        /// The cause and the remedy.
        why: String,
    },
}

impl ActivityError {
    /// Converts a system error on `path`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> ActivityError {
        let path = path.to_owned();
        move |source| ActivityError::Io { doing, path: path.clone(), source }
    }
}
