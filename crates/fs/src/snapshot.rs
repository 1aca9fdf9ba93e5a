//! Snapshots of file systems, by their own means. Those of modelled disks are [`Target::snapshot`].

use crate::{Error, FileSystem, Target, find};

/// Takes the read-only snapshot `number` of the file system, whose blocks it shares. Neither walks nor copies contain it.
///
/// # Errors
/// If the file system has no snapshots, its root is a directory in it, or it is full.
pub fn take_snapshot(target: &dyn Target, number: u64) -> Result<(), Error> {
    kind(target)?.take_snapshot(target.root(), &name(number))
}

/// Deletes a snapshot, and waits until its blocks are free.
///
/// # Errors
/// If there is no such snapshot.
pub fn delete_snapshot(target: &dyn Target, number: u64) -> Result<(), Error> {
    kind(target)?.delete_snapshot(target.root(), &name(number))
}

fn kind(target: &dyn Target) -> Result<&'static dyn FileSystem, Error> {
    find(target.kind_name()).map_err(|_| Error::NoSnapshots(target.kind_name().to_owned()))
}

fn name(number: u64) -> String {
    format!("s{number:x}")
}
