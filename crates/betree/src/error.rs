//! Errors of a store. A message says what failed, where, why, and what to do.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error of a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A request to the disk failed.
    #[error("{doing} {bytes} bytes at {offset}: {why}")]
    Io {
        /// The action, as in "reading".
        doing: &'static str,
        /// Offset on the disk.
        offset: u64,
        /// Length of the request.
        bytes: u64,
        /// The system's message.
        why: String,
        /// The system's error number, if any.
        errno: Option<i32>,
    },
    /// The disk does not contain a store.
    #[error("not a Bε-tree store: {0}; create one, or name another image")]
    Foreign(String),
    /// A store of a newer format version.
    #[error("this store has format version {found}, but this program supports {known}; use a newer program")]
    NewerVersion {
        /// The version of the store.
        found: u32,
        /// The newest supported version.
        known: u32,
    },
    /// The image is shorter than its store.
    #[error(
        "the image has {found} bytes, but its store {expected}: it was truncated; restore the missing part"
    )]
    Truncated {
        /// Bytes according to the superblock.
        expected: u64,
        /// Bytes of the image.
        found: u64,
    },
    /// Data differs from what was written.
    #[error("{what} at {offset} is damaged: {why}; copy the readable data, and restore from a backup")]
    Damaged {
        /// The damaged structure.
        what: &'static str,
        /// Offset on the disk.
        offset: u64,
        /// The violated rule.
        why: String,
    },
    /// A key, value, patch or batch that is too long, or a range whose end is before its start.
    #[error("{0}")]
    Limit(String),
    /// Invalid sizes for a store.
    #[error("invalid store parameters: {0}")]
    Params(String),
    /// The disk is full.
    #[error("the store is full: no space for {bytes} more bytes; delete something first")]
    NoSpace {
        /// Bytes to write.
        bytes: u64,
    },
    /// A thread of the store, or a caller that wrote for others, panicked; nothing has been written since.
    #[error(
        "a panic while {0}, which is a defect of this program; its message is on standard error. Open the store again"
    )]
    Panicked(&'static str),
    /// A write failed earlier; nothing has been written since.
    #[error("the store is read-only since an error: {0}; repair the disk and open it again")]
    ReadOnly(String),
}

impl Error {
    pub(crate) fn io(doing: &'static str, offset: u64, bytes: usize, source: &io::Error) -> Self {
        let errno = source.raw_os_error();
        Self::Io { doing, offset, bytes: bytes as u64, why: source.to_string(), errno }
    }

    pub(crate) fn damaged(what: &'static str, offset: u64, why: impl Into<String>) -> Self {
        Self::Damaged { what, offset, why: why.into() }
    }
}

/// Runs `work`, for which others wait: a panic is an error for them all. What `work` changed must not be used after an error.
pub(crate) fn catch_panic<T>(doing: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Error::Panicked(doing)))
}

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;
