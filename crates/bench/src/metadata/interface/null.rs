//! An interface that stores nothing and never fails, to measure the overhead of the benchmark.

use super::{Interface, InterfaceError, InterfaceKind, LocationKind};
use crate::metadata::{DataSet, Object};

inventory::submit!(InterfaceKind {
    name: "null",
    aliases: &[],
    help: "No operation: the overhead of the benchmark itself",
    location: LocationKind::None,
    check: |_, _| Ok(()),
    open: Ok(|_| Ok(Box::new(Null))),
});

/// An interface that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl Interface for Null {
    fn prepare(&mut self) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn make_set(&mut self, _: DataSet) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn remove_set(&mut self, _: DataSet) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn write(&mut self, _: Object, _: &[u8]) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn stat(&mut self, _: Object) -> Result<u64, InterfaceError> {
        Ok(0)
    }

    fn read(&mut self, _: Object, _: u64, _: &mut Vec<u8>) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn delete(&mut self, _: Object) -> Result<(), InterfaceError> {
        Ok(())
    }

    fn stores_contents(&self) -> bool {
        false
    }
}
