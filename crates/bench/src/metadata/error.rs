//! What ends a run of the benchmark. What fails of single operations is counted instead.

use std::path::PathBuf;

/// An error that leaves nothing to go on with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings make no sense.
    #[error("{0}")]
    Settings(String),
    /// A rank cannot go on.
    #[error("rank {rank}: {why}")]
    Rank {
        /// Its number.
        rank: u32,
        /// What happened to it.
        why: String,
    },
    /// A rank has ended before the others; it says itself why.
    #[error("rank {rank} ended before the others")]
    Lost {
        /// Its number.
        rank: u32,
    },
    /// A file of the benchmark's own cannot be used.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The run-info file is not of this benchmark, or of another run.
    #[error("{}: {why}", path.display())]
    RunInfo {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A signal interrupted the run.
    #[error("interrupted; the objects still exist: delete them with `--phases cleanup`")]
    Interrupted,
}
