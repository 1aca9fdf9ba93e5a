//! The kinds of operations, for counts and latencies.

use serde::{Deserialize, Serialize};

/// A kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
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

impl Kind {
    /// All kinds, in the order in which results are listed.
    pub const ALL: [Kind; 9] = [
        Kind::Create,
        Kind::Open,
        Kind::Read,
        Kind::Write,
        Kind::Append,
        Kind::Fsync,
        Kind::Close,
        Kind::Delete,
        Kind::Stat,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Create => "create",
            Kind::Open => "open",
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Append => "append",
            Kind::Fsync => "fsync",
            Kind::Close => "close",
            Kind::Delete => "delete",
            Kind::Stat => "stat",
        }
    }
}
