//! Errors that end a run of the benchmark. Failures of single operations are counted instead.

use std::path::PathBuf;

/// An error that ends the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid settings.
    #[error("{0}")]
    Settings(String),
    /// A rank cannot continue.
    #[error("rank {rank}: {why}")]
    Rank {
        /// The rank.
        rank: u32,
        /// The cause.
        why: String,
    },
    /// A rank ended before the others; it reports the reason itself.
    #[error("rank {rank} ended before the others")]
    Lost {
        /// The rank.
        rank: u32,
    },
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

impl From<ranks::Error> for Error {
    fn from(error: ranks::Error) -> Error {
        match error {
            ranks::Error::Rank { rank, why } => Error::Rank { rank, why },
            ranks::Error::Lost { rank } => Error::Lost { rank },
            ranks::Error::Message(why) => Error::Settings(why),
        }
    }
}
