//! What can go wrong with a saved image. Each message says what was tried, on what, why it failed and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of writing or reading a saved image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file is no saved image, or a newer one.
    #[error("cannot read {} as a saved image: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// The file differs from the saved one.
    #[error("saved image {} is damaged: {why}; use another copy of it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
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
    /// For `map_err` on operations on one file.
    pub(crate) fn io<E: Into<io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { action, path, source: source.into() }
    }
}

/// What to do about the failures that users meet most.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "; existing files are not overwritten, so choose another name",
        io::ErrorKind::StorageFull => "; free some space or choose another directory",
        _ => "",
    }
}
