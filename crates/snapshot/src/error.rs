//! Errors of snapshots. Each message says what failed, on what, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading, writing or creating a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The new file already exists.
    #[error("writing {}: it already exists; give another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
    /// The file is not a snapshot, is incomplete, or has a newer format.
    #[error("cannot read {} as a snapshot: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: String,
    },
    /// The file does not contain a key.
    #[error("cannot read {} as a key: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The cause and the remedy.
        why: &'static str,
    },
    /// The file is not a listing of the given kind.
    #[error("cannot read {} as a listing of {kind}: {why}", path.display())]
    Listing {
        /// The file.
        path: PathBuf,
        /// The expected kind.
        kind: &'static str,
        /// The invalid record and the cause.
        why: String,
    },
}

impl Error {
    /// Converts a system error on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path: path.clone(), source }
    }
}
