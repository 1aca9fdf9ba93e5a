//! The kinds of operations, by which they are counted and timed.

use serde::{Deserialize, Serialize};

/// A kind of operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Making a file and opening it.
    Create,
    /// Opening a file that is there.
    Open,
    /// Reading all of it.
    Read,
    /// Writing all of it.
    Write,
    /// Writing to its end.
    Append,
    /// Having it on disk.
    Fsync,
    /// Closing it.
    Close,
    /// Deleting a file.
    Delete,
    /// Looking at one.
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

    /// Its name in results.
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
