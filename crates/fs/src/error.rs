//! What can go wrong with file systems. Each message says what was tried, on what, why it failed and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of making, measuring, walking or copying a file system.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Creating and mounting file systems needs root.
    #[error("creating and mounting {0} needs root: run as root, or age a directory with --dir")]
    NeedsRoot(&'static str),
    /// Another kernel supports it.
    #[error(
        "this kernel does not support {0}, and this command runs on this kernel only: `senesce age`, \
         `compare` and `probe` can run another kernel in a virtual machine (see `senesce doctor`); or choose \
         a file system that this kernel supports"
    )]
    NotInKernel(&'static str),
    /// A program that is in no package of Debian is missing.
    #[error("{tool} is not on the PATH: {get}, or add /usr/local/sbin to PATH")]
    MissingTool {
        /// The program.
        tool: String,
        /// Where to get it.
        get: &'static str,
    },
    /// One device of a file system on several devices.
    #[error(
        "{} is one of {devices} devices of a bcachefs file system: file systems on several devices are not \
         supported", path.display()
    )]
    SeveralDevices {
        /// The image or device.
        path: PathBuf,
        /// The devices that there are.
        devices: u8,
    },
    /// No known superblock.
    #[error("{} contains no supported file system", .0.display())]
    NoFileSystem(PathBuf),
    /// The disk below.
    #[error(transparent)]
    Disk(#[from] disk::Error),
    /// A virtual machine, from inside.
    #[error(transparent)]
    Machine(#[from] vm::Error),
    /// A betreefs.
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
    /// No file system has this name.
    #[error("no file system named {name:?}; supported: {known}")]
    UnknownKind {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Smaller than the file system's program takes.
    #[error("{kind} needs at least {least_mib} MiB, not {size_bytes} bytes; choose a larger --size")]
    TooSmall {
        /// The file system.
        kind: &'static str,
        /// The least size that works.
        least_mib: u64,
        /// The size asked for.
        size_bytes: u64,
    },
    /// Larger than the device.
    #[error(
        "{} has {device_bytes} bytes, less than the {size_bytes} of the file system; choose a smaller --size",
        device.display()
    )]
    DeviceTooSmall {
        /// The device.
        device: PathBuf,
        /// Its size.
        device_bytes: u64,
        /// The size asked for.
        size_bytes: u64,
    },
    /// Snapshots are for modelled disks.
    #[error("{} is not a modelled disk, so it has no snapshots; age with --disk MODEL", .0.display())]
    NotModelled(PathBuf),
    /// Written data cannot be limited here.
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
        /// Its last words.
        why: String,
    },
    /// A directory without our marker.
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
        /// Bytes of data copied until then.
        copied_bytes: u64,
    },
    /// A copy was interrupted.
    #[error("copying to {}: interrupted; the copy is incomplete, start it again", .0.display())]
    Interrupted(PathBuf),
    /// Btrfs without the tree that lists free space.
    #[error("{}: this Btrfs has no free-space tree; mount it once with `-o space_cache=v2`", .0.display())]
    NoFreeSpaceTree(PathBuf),
    /// The kernel's answer makes no sense.
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
