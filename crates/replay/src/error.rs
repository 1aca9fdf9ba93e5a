//! What ends a replay, a fill or a verification. What fails of single operations is counted instead.

use std::io;
use std::path::PathBuf;

/// An error that leaves nothing to go on with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The work directory cannot be opened.
    #[error(
        "opening {path} to {purpose}: {source}; check that the file system is mounted there and writable"
    )]
    Root {
        /// The directory.
        path: PathBuf,
        /// What for.
        purpose: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The source of operations failed.
    #[error("reading operations to replay: {0}")]
    Source(#[from] trace::Error),
    /// Several processes share the replay, and this operation needs their order.
    #[error(
        "{op}: processes that share a trace cannot keep the order of this operation; replay it with one \
         process"
    )]
    NotShared {
        /// The operation.
        op: String,
    },
    /// Written data cannot be synced.
    #[error("syncing {path}: {source}; see the kernel log for device errors")]
    Sync {
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}
