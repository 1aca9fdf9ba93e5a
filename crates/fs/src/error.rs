//! Errors of file systems. Each message says what failed, on what, why, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error from creating, measuring, walking or copying a file system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Creating and mounting file systems needs root.
    #[error("creating and mounting {0} needs root: run as root, or age a directory with --dir")]
    NeedsRoot(&'static str),
    /// The kernel lacks the file system, but another kernel supports it.
    #[error(
        "this kernel does not support {0}, and this command runs on this kernel only: `senesce age`, \
         `compare`, `probe`, `bench`, `image`, `run` and `reproduce` can run another kernel in a virtual \
         machine (see `senesce doctor`); or choose a file system that this kernel supports"
    )]
    NotInKernel(&'static str),
    /// A program without a Debian package is missing.
    #[error("{tool} is not on the PATH: {get}, or add /usr/local/sbin to PATH")]
    MissingTool {
        /// The program.
        tool: String,
        /// Where to get it.
        get: &'static str,
    },
    /// The device is one of several of a file system.
    #[error(
        "{} is one of {devices} devices of a {kind} file system: file systems on several devices are not \
         supported", path.display()
    )]
    SeveralDevices {
        /// The image or device.
        path: PathBuf,
        /// The file system.
        kind: &'static str,
        /// Number of devices.
        devices: u8,
    },
    /// A path that holds no file system.
    #[error("{} is not a directory, image or block device", .0.display())]
    NotAVolume(PathBuf),
    /// No known superblock was found.
    #[error("{} contains no supported file system", .0.display())]
    NoFileSystem(PathBuf),
    /// An error of the underlying disk.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// An error of the virtual machine that this program runs in.
    #[error(transparent)]
    Machine(#[from] vm::Error),
    /// An error of betreefs.
    #[error(transparent)]
    Betreefs(#[from] betreefs::Error),
    /// A system call failed.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as in "visiting".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file system name is unknown.
    #[error("no file system named {name:?}; supported: {known}")]
    UnknownKind {
        /// The requested name.
        name: String,
        /// The supported names.
        known: String,
    },
    /// The size is below the minimum of `mkfs`.
    #[error("{kind} needs at least {least_mib} MiB, not {size_bytes} bytes; choose a larger --size")]
    TooSmall {
        /// The file system.
        kind: &'static str,
        /// The minimum size in MiB.
        least_mib: u64,
        /// The requested size in bytes.
        size_bytes: u64,
    },
    /// The file system does not fit on the device.
    #[error(
        "{} has {device_bytes} bytes, less than the {size_bytes} of the file system; choose a smaller --size",
        device.display()
    )]
    DeviceTooSmall {
        /// The device.
        device: PathBuf,
        /// Its size in bytes.
        device_bytes: u64,
        /// The requested size in bytes.
        size_bytes: u64,
    },
    /// The file system has no snapshots that a trace can take.
    #[error("{0} has no snapshots that a trace can take: use btrfs or zfs")]
    NoSnapshots(String),
    /// Only modelled disks have snapshots.
    #[error("{} is not a modelled disk, so it has no snapshots; age with --disk MODEL", .0.display())]
    NotModelled(PathBuf),
    /// The dirty limit cannot be set.
    #[error("cannot limit the written data that waits for {}: {why}", path.display())]
    NoDirtyLimit {
        /// The root of the tree.
        path: PathBuf,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// `mkfs` failed.
    #[error("creating the file system with `{command}`: {why}")]
    Mkfs {
        /// The command as it was run.
        command: String,
        /// The last line of its error output.
        why: String,
    },
    /// The directory lacks the marker of this program.
    #[error(
        "{} was not created by senesce and is left unchanged; name a directory that an earlier run created, \
         or a parent directory to create a new one in", .0.display()
    )]
    NotOurs(PathBuf),
    /// The copy does not fit.
    #[error(
        "copying to {}: no space left after {copied_bytes} bytes; the copy needs a file system as large as \
         the original, created with the same options", to.display()
    )]
    Full {
        /// Where the copy goes.
        to: PathBuf,
        /// Bytes of data copied so far.
        copied_bytes: u64,
    },
    /// The copy was interrupted.
    #[error("copying to {}: interrupted; the copy is incomplete, start it again", .0.display())]
    Interrupted(PathBuf),
    /// The Btrfs has no free-space tree.
    #[error("{}: this Btrfs has no free-space tree; mount it once with `-o space_cache=v2`", .0.display())]
    NoFreeSpaceTree(PathBuf),
    /// The kernel's answer is invalid.
    #[error("{}: the kernel's list of free space is damaged ({why}); check the file system", path.display())]
    Answer {
        /// Where the file system is mounted.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
}

impl From<tree::Error> for Error {
    fn from(error: tree::Error) -> Error {
        Error::Io { doing: error.doing, path: error.path, source: error.source }
    }
}

impl Error {
    /// For `map_err` on operations on one path.
    pub(crate) fn io<E: Into<io::Error>>(doing: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source: source.into() }
    }
}
