//! What stands for MPI in a program built without it.

use crate::Error;
use crate::launched::launched;
use bench::metadata::{self, Failure, Group, Interface};
use std::path::Path;

/// The ranks of a run. There are none.
pub enum World {}

impl World {
    /// Refuses to be one of several ranks. Alone there is no world to join.
    pub fn join(_: fn() -> bool) -> Result<Option<World>, Error> {
        match launched() {
            Some(ranks) if ranks > 1 => Err(Error::NotBuilt { ranks }),
            _ => Ok(None),
        }
    }

    /// The machine that this rank runs on.
    pub fn host(&self) -> String {
        match *self {}
    }
}

impl Group for World {
    fn rank(&self) -> u32 {
        match *self {}
    }

    fn ranks(&self) -> u32 {
        match *self {}
    }

    fn gather(&mut self, _: Vec<u8>) -> Result<Vec<Vec<u8>>, metadata::Error> {
        match *self {}
    }

    fn broadcast(&mut self, _: Vec<u8>) -> Result<Vec<u8>, metadata::Error> {
        match *self {}
    }

    fn is_over(&self) -> bool {
        match *self {}
    }
}

/// Objects in files below `root`, reached by MPI-IO: not without MPI.
pub fn mpi_io(_: &Path) -> Result<Box<dyn Interface>, Failure> {
    Err(Failure("this program is built without MPI; rebuild it with `--features mpi`".to_owned()))
}

/// Ends the world that was joined, if any.
pub fn end(_: bool) {}
