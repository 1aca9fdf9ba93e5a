//! Files that get their name only when they are whole and on disk: what is dropped before leaves nothing behind.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use tempfile::NamedTempFile;

use crate::{Error, seal};

/// A file without a name in the directory of `path`.
pub(crate) fn begin(path: &Path) -> Result<NamedTempFile, Error> {
    // A temporary file is readable by its owner only; a trace is as readable as the user's other files.
    let made = tempfile::Builder::new()
        .prefix(".senesce-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(path));
    made.map_err(failed("creating", path))
}

/// Seals what was begun, makes it durable and gives it its name, in place of what has it.
pub(crate) fn publish(temporary: NamedTempFile, path: &Path) -> Result<(), Error> {
    let failed = || failed("finishing", path);
    seal::seal(temporary.as_file()).map_err(failed())?;
    temporary.as_file().sync_all().map_err(failed())?;
    temporary.persist(path).map_err(|e| failed()(e.error))?;
    // The new name lasts only once the directory that holds it is on disk too.
    File::open(folder(path)).and_then(|folder| folder.sync_all()).map_err(failed())
}

/// What to make of an error of the system on `path`.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    let path: PathBuf = path.into();
    move |source| Error::Io { action, path: path.clone(), source }
}

/// The error of the system below Parquet, where there is one.
pub(crate) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => {
            inner.downcast::<io::Error>().map_or_else(io::Error::other, |inner| *inner)
        }
        other => io::Error::other(other),
    }
}

/// The directory that `path` is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
