//! Interfaces to object storage. A new interface is one file here, and one line in the command that selects it.

mod null;
mod posix;

pub use null::Null;
pub use posix::Posix;

use super::object::{DataSet, Object};

/// The reason why an operation failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceError(pub String);

impl std::fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for InterfaceError {
    fn from(error: std::io::Error) -> InterfaceError {
        InterfaceError(error.to_string())
    }
}

impl From<rustix::io::Errno> for InterfaceError {
    fn from(error: rustix::io::Errno) -> InterfaceError {
        std::io::Error::from(error).into()
    }
}

/// The operations of the benchmark on object storage. Each rank has its own instance.
pub trait Interface {
    /// Creates the parent of all data sets; called first, by rank 0 only.
    fn prepare(&mut self) -> Result<(), InterfaceError>;

    /// Removes that parent, if `prepare` created it; called last, by rank 0 only.
    fn finish(&mut self) -> Result<(), InterfaceError>;

    /// Creates a data set.
    fn make_set(&mut self, set: DataSet) -> Result<(), InterfaceError>;

    /// Removes a data set and its remaining objects.
    fn remove_set(&mut self, set: DataSet) -> Result<(), InterfaceError>;

    /// Creates an object.
    fn write(&mut self, object: Object, contents: &[u8]) -> Result<(), InterfaceError>;

    /// The size of an object in bytes.
    fn stat(&mut self, object: Object) -> Result<u64, InterfaceError>;

    /// Reads an object of `bytes` bytes into `into`, which is empty.
    fn read(&mut self, object: Object, bytes: u64, into: &mut Vec<u8>) -> Result<(), InterfaceError>;

    /// Deletes an object.
    fn delete(&mut self, object: Object) -> Result<(), InterfaceError>;

    /// Whether the interface stores contents, so that generating and verifying them makes sense.
    fn stores_contents(&self) -> bool {
        true
    }
}
