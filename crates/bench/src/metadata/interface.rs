//! Where the objects are kept. A new interface is one file here, and one line where the command chooses.

mod null;
mod posix;

pub use null::Null;
pub use posix::Posix;

use super::object::{Object, Set};

/// Why an operation failed, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(pub String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure(error.to_string())
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Failure {
        std::io::Error::from(error).into()
    }
}

/// What the benchmark asks of whatever keeps objects. Each rank has one of its own.
pub trait Interface {
    /// Makes the place for all data sets; rank 0 alone, before all else.
    fn prepare(&mut self) -> Result<(), Failure>;

    /// Takes that place away, if `prepare` made it; rank 0 alone, after all else.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Makes a data set.
    fn make_set(&mut self, set: Set) -> Result<(), Failure>;

    /// Removes a data set with whatever is left in it.
    fn remove_set(&mut self, set: Set) -> Result<(), Failure>;

    /// Makes an object.
    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), Failure>;

    /// The size of an object in bytes.
    fn stat(&mut self, object: Object) -> Result<u64, Failure>;

    /// Reads an object of `bytes` into `into`, which is empty.
    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), Failure>;

    /// Deletes an object.
    fn delete(&mut self, object: Object) -> Result<(), Failure>;

    /// Whether it keeps what is written, so that it makes sense to make contents and to compare what is read.
    fn keeps_contents(&self) -> bool {
        true
    }
}
