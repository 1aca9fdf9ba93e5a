//! Files that appear only when they are complete and on disk; dropping an unfinished one leaves nothing behind.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Error;
use parquet_file::seal;

/// Creates a temporary file in the directory of `path`.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, Error> {
    seal::begin(path).map_err(failed("creating", path))
}

/// Seals a file, makes it durable and renames it to `path`, replacing an existing file.
pub(crate) fn publish(temporary: NamedTempFile, path: &Path) -> Result<(), Error> {
    seal::finish(temporary, path).map_err(failed("finishing", path))
}

/// Converts a system error on `path`.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    let path: PathBuf = path.into();
    move |source| Error::Io { action, path: path.clone(), source }
}
