//! The kinds of operations, for counts and latencies.

use serde::{Deserialize, Serialize};

/// A kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Creating and opening a file.
    Create,
    /// Opening an existing file.
    Open,
    /// Reading the whole file.
    Read,
    /// Writing the whole file.
    Write,
    /// Appending to the file.
    Append,
    /// Syncing the file to disk.
    Fsync,
    /// Closing the file.
    Close,
    /// Deleting a file.
    Delete,
    /// Querying the attributes of a file.
    Stat,
}

impl OperationKind {
    /// All kinds, in the order in which results are listed.
    pub const ALL: [OperationKind; 9] = [
        OperationKind::Create,
        OperationKind::Open,
        OperationKind::Read,
        OperationKind::Write,
        OperationKind::Append,
        OperationKind::Fsync,
        OperationKind::Close,
        OperationKind::Delete,
        OperationKind::Stat,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Create => "create",
            OperationKind::Open => "open",
            OperationKind::Read => "read",
            OperationKind::Write => "write",
            OperationKind::Append => "append",
            OperationKind::Fsync => "fsync",
            OperationKind::Close => "close",
            OperationKind::Delete => "delete",
            OperationKind::Stat => "stat",
        }
    }
}
