//! Why an aging cannot be planned or made. Each message says what was asked, why it cannot be and what to do.

use std::path::PathBuf;

/// An error of planning.
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
    /// Operations could not be made again for a resume.
    #[error(transparent)]
    Trace(#[from] trace::Error),
}
