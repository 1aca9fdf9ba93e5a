//! Why an aging cannot be planned, or a program that ages does not. Each message says what was asked, why it cannot be and
//! what to do.

use std::path::PathBuf;

/// An error of planning, or of a program that ages.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The conditions contradict themselves or the profile.
    #[error("cannot plan the aging: {0}")]
    Conditions(String),
    /// The profile is not a valid one.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// A history of git could not be read, made or pulled.
    #[error("{action} {path}: {why}")]
    Git {
        /// What was tried.
        action: &'static str,
        /// On which repository or tree.
        path: PathBuf,
        /// Why it failed and what to do.
        why: String,
    },
    /// Snapshots that cannot be turned into a workload.
    #[error("cannot create a workload from the snapshots: {0}")]
    Snapshots(String),
    /// A snapshot that cannot be read.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// Operations could not be made again for a resume.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// A program, directory or record that an aging needs.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The mail server does not do what it should.
    #[error("{doing}: {why}")]
    MailServer {
        /// What was tried, on what.
        doing: String,
        /// Why it failed and what to do.
        why: String,
    },
    /// What an office does to its files failed.
    #[error("{action} {}: {source}", path.display())]
    Office {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Interrupted,
}
