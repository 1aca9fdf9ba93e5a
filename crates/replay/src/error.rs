//! Errors that end a replay, a fill or a verification. Failures of single operations are counted instead.

use std::io;
use std::path::PathBuf;

/// An error that prevents continuation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The work directory cannot be opened.
    #[error(
        "opening {path} to {purpose}: {source}; check that the file system is mounted there and writable"
    )]
    Root {
        /// The directory.
        path: PathBuf,
        /// The intended operation.
        purpose: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The source of operations failed.
    #[error("reading operations to replay: {0}")]
    Source(#[from] trace::Error),
    /// Several processes share the replay, but this operation needs an order between them.
    #[error(
        "{op}: processes that share a trace cannot keep the order of this operation; replay it with one \
         process"
    )]
    NotShared {
        /// The operation.
        op: String,
    },
    /// A sync failed.
    #[error("syncing {path}: {source}; see the kernel log for device errors")]
    Sync {
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}
