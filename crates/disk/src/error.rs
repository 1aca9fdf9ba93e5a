//! What can go wrong with disks. Each message says what was tried, on what, why it failed and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of making, claiming or taking down a disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// What was tried, as in "creating the image".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A block device that must not be used.
    #[error("cannot use {}: {why}", device.display())]
    Device {
        /// The device that was named.
        device: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// Another run works in the same directory.
    #[error(
        "another run (process {pid}) is using {}; wait for it or choose another --work", dir.display()
    )]
    WorkInUse {
        /// The directory.
        dir: PathBuf,
        /// The process, as it wrote itself down.
        pid: String,
    },
    /// Another run uses the same image.
    #[error("image {} is in use by another run; wait for it or choose another image", .0.display())]
    ImageInUse(PathBuf),
    /// A modelled disk is unusable, or does not support the request.
    #[error("modelled disk {}: {why}", dir.display())]
    Store {
        /// The directory of its store.
        dir: PathBuf,
        /// Why not, and what to do.
        why: String,
    },
    /// The process that serves a file system.
    #[error("{what}: {why}")]
    Server {
        /// What it serves.
        what: String,
        /// Why that failed, and what to do.
        why: String,
    },
    /// What such a process said, whole.
    #[error("{0}")]
    Said(String),
    /// The kernel did not mount a file system.
    #[error("mounting {} as {kind}: {why}", device.display())]
    Mount {
        /// What was to be mounted.
        device: PathBuf,
        /// The name of the file system.
        kind: String,
        /// The kernel's own words where it has any.
        why: String,
    },
    /// A file system cannot be unmounted.
    #[error(
        "unmounting {0}: it is still in use; close its open files (`fuser -vm {0}` lists them), then run \
         `senesce cleanup`", dir.display()
    )]
    MountBusy {
        /// Where it is mounted.
        dir: PathBuf,
    },
    /// A program of another package is missing.
    #[error("{tool} is not on the PATH: apt install {package}, or add /usr/sbin to PATH")]
    MissingTool {
        /// The program.
        tool: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// No device model has this name.
    #[error(
        "no device model named {name:?}, and no such file; `senesce disk models` shows the built-in models ({known})"
    )]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The built-in ones.
        known: String,
    },
    /// A device model that makes no sense.
    #[error("{} is not a device model: {why}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The parameter that is wrong, and how it should be.
        why: String,
    },
    /// The kernel does not support limiting the memory of a process.
    #[error(
        "limiting the memory of a process: no memory controller for control groups; mount that of cgroup v1, \
         or add `memory` to cgroup.subtree_control of a parent group (v2)"
    )]
    NoMemoryController,
    /// The file is not a request log, incomplete, or of a newer version.
    #[error("cannot read {} as a request log: {why}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// The record of a run cannot be parsed.
    #[error("{} is not a record of a run ({why}); check the paths in it, then delete it", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Turns a failed system call into an [`Error`] by saying what it was for.
pub trait IoContext<T> {
    /// Names what was tried, on which path.
    fn context(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> IoContext<T> for Result<T, E> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|e| Error::Io { doing, path: path.to_owned(), source: e.into() })
    }
}

/// What to do about the failures that users meet most.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => "; run it as root",
        io::ErrorKind::AlreadyExists => "; delete it or choose another name",
        io::ErrorKind::StorageFull => "; free some space or choose another directory",
        io::ErrorKind::ReadOnlyFilesystem => "; choose a writable directory",
        _ => "",
    }
}
