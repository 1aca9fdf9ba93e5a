//! Errors of walks.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A system call of a walk that failed.
#[derive(Debug)]
pub struct Error {
    /// The operation, as in "opening directory".
    pub doing: &'static str,
    /// The file or directory.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.doing, self.path.display(), self.source)
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        error.source
    }
}
