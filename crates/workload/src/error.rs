//! Errors of planning and of live workloads. Each message says what was requested, why it fails and what to do.

use std::path::PathBuf;

/// An error of planning or of a live workload.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The conditions contradict themselves or the profile.
    #[error("cannot plan the aging: {0}")]
    Conditions(String),
    /// The profile is invalid.
    #[error(transparent)]
    Profile(#[from] profile::Error),
    /// A git history could not be read, created or pulled.
    #[error("{action} {path}: {why}")]
    Git {
        /// The action.
        action: &'static str,
        /// The repository or working tree.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// The snapshots cannot be turned into a workload.
    #[error("cannot create a workload from the snapshots: {0}")]
    Snapshots(String),
    /// A snapshot cannot be read.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// Operations could not be regenerated for a resume.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// A program, directory or record that the aging needs failed.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// The mail server failed.
    #[error("{doing}: {why}")]
    MailServer {
        /// The action and its object.
        doing: String,
        /// The cause and the remedy.
        why: String,
    },
    /// A file operation failed.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The action.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The replay failed.
    #[error(transparent)]
    Replay(#[from] replay::Error),
    /// The file system failed.
    #[error(transparent)]
    FileSystem(#[from] fs::Error),
    /// Short-lived files cannot be generated.
    #[error(transparent)]
    Activity(#[from] snapshot::activity::ActivityError),
    /// A rank of a shared aging failed.
    #[error(transparent)]
    Ranks(#[from] ranks::Error),
    /// Progress could not be saved.
    #[error(transparent)]
    Save(Box<dyn std::error::Error + Send + Sync>),
    /// The request cannot be fulfilled.
    #[error("{0}")]
    Refused(String),
    /// The file system is unusable.
    #[error("{0}")]
    Failed(String),
    /// The run was asked to end.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err` on operations on one file.
    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source }
    }
}
