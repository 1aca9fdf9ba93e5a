//! What can go wrong with profiles of activity.

use std::path::{Path, PathBuf};

/// What was wrong, where, and what to do, on one line.
#[derive(Debug, thiserror::Error)]
pub enum ActivityError {
    /// The events are not those of short-lived files.
    #[error("event {place} of a profile: {what}")]
    Events {
        /// Its place among the events, from 0.
        place: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A file could not be read or written.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The file is not a set of activity profiles, incomplete, or of a newer version.
    #[error("cannot read {} as activity profiles: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// A line of a log is not of its format.
    #[error("cannot read {} as {format}: line {line}: {why}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// What it was read as.
        format: &'static str,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it, and what to do.
        why: String,
    },
}

impl ActivityError {
    /// What to make of an error of the system on `path`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl Fn(std::io::Error) -> ActivityError {
        let path = path.to_owned();
        move |source| ActivityError::Io { doing, path: path.clone(), source }
    }
}
