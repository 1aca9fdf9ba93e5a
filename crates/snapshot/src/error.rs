//! What can go wrong with a snapshot. Each message says what was tried, on what, why it failed and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading, writing or making a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The new file already exists.
    #[error("writing {}: it already exists; give another name, or --force to replace it", .0.display())]
    Exists(PathBuf),
    /// The file is not a snapshot, not a whole one, or a newer one.
    #[error("cannot read {} as a snapshot: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// The file holds no key.
    #[error("cannot read {} as a key: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: &'static str,
    },
    /// The file is not a listing of the kind that it was said to be.
    #[error("cannot read {} as a listing of {kind}: {why}", path.display())]
    Listing {
        /// The file.
        path: PathBuf,
        /// What it was said to be.
        kind: &'static str,
        /// Which record is wrong, and how.
        why: String,
    },
}

impl Error {
    /// What to make of an error of the system on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path: path.clone(), source }
    }
}
