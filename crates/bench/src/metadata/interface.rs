//! Interfaces to object storage. A new interface is one file here that submits an [`InterfaceKind`], and its `mod` line.

mod mongodb;
mod mpi_io;
mod null;
mod object_store;
pub(super) mod posix;
mod postgres;

pub use null::Null;
pub use posix::Posix;

use super::{DataSet, Object, ObjectLocation, Ranks};

/// A kind of interface.
pub struct InterfaceKind {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// Other names for the command line.
    pub aliases: &'static [&'static str],
    /// What the objects are, for the help.
    pub help: &'static str,
    /// What a location of objects must have.
    pub location: LocationKind,
    /// Returns an error if these ranks cannot share the location.
    pub check: fn(&ObjectLocation, Ranks) -> Result<(), InterfaceError>,
    /// Opens the storage for a rank; in a build without its client, the missing feature.
    pub open: Result<Open, &'static str>,
}

/// Opens the storage at a location for a rank.
pub type Open = fn(&ObjectLocation) -> Result<Box<dyn Interface>, InterfaceError>;

/// What a location of objects must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocationKind {
    /// Nothing.
    None,
    /// A directory.
    Directory,
    /// A service: a URL, or its variables.
    Service,
}

inventory::collect!(InterfaceKind);

impl InterfaceKind {
    /// All kinds, sorted by name.
    pub fn all() -> Vec<&'static InterfaceKind> {
        let mut kinds: Vec<_> = inventory::iter::<InterfaceKind>().collect();
        kinds.sort_unstable_by_key(|kind| kind.name);
        kinds
    }

    /// The kind with this name.
    pub(super) fn find(name: &str) -> Result<&'static InterfaceKind, InterfaceError> {
        let kinds = InterfaceKind::all();
        let found = kinds.iter().find(|kind| kind.name == name || kind.aliases.contains(&name));
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
            InterfaceError(format!("there is no interface {name}, only {}", names.join(", ")))
        })
    }

    /// The function that opens it, unless it is missing in this build.
    pub(super) fn opener(&self) -> Result<Open, InterfaceError> {
        self.open.map_err(|feature| {
            InterfaceError(format!(
                "this senesce was built without the interface {}; build with `cargo build --release \
                 --features {feature}`",
                self.name
            ))
        })
    }
}

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

#[cfg(feature = "stores")]
impl From<services::Error> for InterfaceError {
    fn from(error: services::Error) -> InterfaceError {
        InterfaceError(error.0)
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
