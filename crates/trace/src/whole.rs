//! Files that get their name only when they are whole and on disk: what is dropped before leaves nothing behind.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Error;
use parquet_file::seal;

/// A file without a name in the directory of `path`.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, Error> {
    seal::begin(path).map_err(failed("creating", path))
}

/// Seals what was begun, makes it durable and gives it its name, in place of what has it.
pub(crate) fn publish(temporary: NamedTempFile, path: &Path) -> Result<(), Error> {
    seal::finish(temporary, path).map_err(failed("finishing", path))
}

/// What to make of an error of the system on `path`.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    let path: PathBuf = path.into();
    move |source| Error::Io { action, path: path.clone(), source }
}
