//! Errors of disks. Each message says what failed, on what, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error when creating, claiming or removing a disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{doing} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// The attempted action, as in "creating the image".
        doing: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A block device cannot be used.
    #[error("cannot use {}: {why}", device.display())]
    Device {
        /// The device named by the user.
        device: PathBuf,
        /// The reason, and what to do.
        why: String,
    },
    /// Another run works in the same directory.
    #[error(
        "another run (process {pid}) is using {}; wait for it or choose another --work", dir.display()
    )]
    WorkInUse {
        /// The directory.
        dir: PathBuf,
        /// The process, as recorded in the lock file.
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
        /// The reason, and what to do.
        why: String,
    },
    /// The process that serves a file system failed.
    #[error("{what}: {why}")]
    Server {
        /// What the process serves.
        what: String,
        /// The reason, and what to do.
        why: String,
    },
    /// The complete error message of a server process.
    #[error("{0}")]
    ServerMessage(String),
    /// The kernel did not mount a file system.
    #[error("mounting {} as {kind}: {why}", device.display())]
    Mount {
        /// The device or image to mount.
        device: PathBuf,
        /// The name of the file system.
        kind: String,
        /// The reason, in the kernel's words if it gives any.
        why: String,
    },
    /// A file system cannot be unmounted because it is in use.
    #[error(
        "unmounting {0}: it is still in use; close its open files (`fuser -vm {0}` lists them), then run \
         `senesce cleanup`", dir.display()
    )]
    MountBusy {
        /// The mount point.
        dir: PathBuf,
    },
    /// A program of another package is missing.
    #[error("{tool} is not on the PATH: apt install {package}, or add /usr/sbin to PATH")]
    MissingTool {
        /// The program.
        tool: String,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// No device model has this name.
    #[error(
        "no device model named {name:?}, and no such file; `senesce disk models` shows the built-in models ({known})"
    )]
    UnknownModel {
        /// The requested name.
        name: String,
        /// The built-in models.
        known: String,
    },
    /// A device model is invalid.
    #[error("{} is not a device model: {why}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The invalid parameter, and its valid values.
        why: String,
    },
    /// The kernel does not support limiting the memory of a process.
    #[error(
        "limiting the memory of a process: no memory controller for control groups; mount that of cgroup v1, \
         or add `memory` to cgroup.subtree_control of a parent group (v2)"
    )]
    NoMemoryController,
    /// The file is not a request log, is incomplete, or has a newer version.
    #[error("cannot read {} as a request log: {why}", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The reason, and what to do.
        why: String,
    },
    /// The record of a run cannot be parsed.
    #[error("{} is not a record of a run ({why}); check the paths in it, then delete it", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Turns a failed system call into an [`Error`] by adding what was attempted.
pub trait IoContext<T> {
    /// Adds the attempted action and its path.
    fn context(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> IoContext<T> for Result<T, E> {
    fn context(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|e| Error::Io { doing, path: path.to_owned(), source: e.into() })
    }
}

/// Advice for the most common failures.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => "; run it as root",
        io::ErrorKind::AlreadyExists => "; delete it or choose another name",
        io::ErrorKind::StorageFull => "; free some space or choose another directory",
        io::ErrorKind::ReadOnlyFilesystem => "; choose a writable directory",
        _ => "",
    }
}
