//! Errors of saved images. Each message says what failed, on what, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error when writing or reading a saved image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file it was applied to.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a saved image, or has a newer format.
    #[error("cannot read {} as a saved image: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason, and what to do.
        why: String,
    },
    /// The contents of the file do not match its checksums.
    #[error("saved image {} is damaged: {why}; use another copy of it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Another process is creating the file.
    #[error("cannot create {}: another process is creating it; wait for it, or choose another \
             name", .0.display())]
    Busy(PathBuf),
    /// A signal interrupted the run.
    #[error("interrupted; nothing was created")]
    Interrupted,
}

impl Error {
    /// A closure for `map_err` on operations on one file.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source: source.into() }
    }
}

/// Advice for the most common failures.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "; existing files are not overwritten, so choose another name",
        io::ErrorKind::StorageFull => "; free some space or choose another directory",
        _ => "",
    }
}
