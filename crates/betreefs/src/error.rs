//! Errors: a number for the caller of a system call, or a message for the user of `mkfs`, `mount` or `check`.

use std::io;

/// An error of a file system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error number of `errno.h`, returned by a system call.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] betree::Error),
    /// The store contains no file system, or one of another type.
    #[error("no betreefs in this store: {0}; create one with `senesce betreefs mkfs`")]
    Foreign(String),
    /// A file system of a newer version.
    #[error(
        "this file system has layout version {found}, but this program supports {known}; use a newer program"
    )]
    NewerVersion {
        /// The version of the file system.
        found: u32,
        /// The newest supported version.
        known: u32,
    },
    /// A value is invalid although its checksum matches.
    #[error("the file system is damaged: {0}; run `senesce betreefs check` for details")]
    Damaged(String),
    /// An image or device that cannot be used, or a mount that failed.
    #[error(transparent)]
    Disk(#[from] disk::Error),
}

/// The result of an operation.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error number that the system call returns.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Errno(number) => *number,
            Self::Store(betree::Error::NoSpace { .. }) => libc::ENOSPC,
            Self::Store(betree::Error::ReadOnly(_)) => libc::EROFS,
            Self::Store(betree::Error::Limit(_)) => libc::ENAMETOOLONG,
            _ => libc::EIO,
        }
    }

    /// Whether the disk caused the error, not the request.
    pub fn is_disk_error(&self) -> bool {
        self.errno() == libc::EIO
    }
}

/// Returns a system call error.
pub(crate) fn fail<T>(number: i32) -> Result<T> {
    Err(Error::Errno(number))
}
