//! What can go wrong: an error number for the caller of a system call, or a sentence for whoever makes, mounts or checks.

use std::io;

/// An error of a file system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What a system call fails with: a number of `errno.h`.
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Number(i32),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] betree::Error),
    /// The store contains no file system, or one of another kind.
    #[error("no betreefs in this store: {0}; create one with `senesce betreefs mkfs`")]
    Foreign(String),
    /// A file system of a newer version.
    #[error(
        "this file system has layout version {found}, but this program supports {known}; use a newer program"
    )]
    Future {
        /// The version it says.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A value is invalid, although its checksum matches.
    #[error("the file system is damaged: {0}; run `senesce betreefs check` for details")]
    Damaged(String),
    /// An image or device that cannot be used, or a mount that failed.
    #[error(transparent)]
    Disk(#[from] disk::Error),
}

/// What operations give.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The number that a system call fails with.
    pub fn errno(&self) -> i32 {
        match self {
            Self::Number(number) => *number,
            Self::Store(betree::Error::NoSpace { .. }) => libc::ENOSPC,
            Self::Store(betree::Error::ReadOnly(_)) => libc::EROFS,
            Self::Store(betree::Error::Limit(_)) => libc::ENAMETOOLONG,
            _ => libc::EIO,
        }
    }

    /// Whether it is about the disk and not about what was asked.
    pub fn is_of_disk(&self) -> bool {
        self.errno() == libc::EIO
    }
}

/// The error of a system call.
pub(crate) fn fail<T>(number: i32) -> Result<T> {
    Err(Error::Number(number))
}
