//! A mount namespace of our own: what is mounted there goes with the last process in it, even at `kill -9`.
//!
//! A namespace begins with a copy of every mount of the machine, and each copy keeps its disk or FUSE server busy. Where mounts are
//! shared (systemd shares them) the kernel takes a copy off together with its original. In containers they are private, and a disk
//! unmounted during a run would stay busy until the run ends. So:
//! - A disk image that is mounted to be written to, and that nothing names which this process was told, is a stranger's: its copy is
//!   taken off at once ([`named`]). Whoever unmounts it finds it written back when `umount` returns.
//! - Every other private mount may be needed: a path can hide in a file, a symbolic link, the pipe of a helper. Its copy stays as long
//!   as its original: a thread hears from the kernel when the original goes, and takes the copy off ([`follow`]). One that is in
//!   use goes when it no longer is; no run loses a file that it has open.

mod follow;
mod named;

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points};
use follow::Inherited;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

/// The namespace that the process came from.
static OUTSIDE: OnceLock<File> = OnceLock::new();

/// Moves the process into a mount namespace of its own; to be called before threads start. Without root it does
/// nothing: then nothing can be mounted either.
///
/// Mounts made here do not reach the rest of the system. What the system unmounts leaves here too.
pub fn isolate() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let path = Path::new("/proc/thread-self/ns/mnt");
    let outside = File::open(path).context("opening", path)?;
    let outer = follow::Outer::open()?;
    // SAFETY: of all that can be unshared, the mount namespace touches neither memory nor file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .context("leaving the mount namespace of", Path::new("/"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .context("keeping our mounts from spreading below", Path::new("/"))?;
    // Of several calls the first one left the namespace that all others came from.
    let _ = OUTSIDE.set(outside);
    let mut inherited = Inherited::new(outer)?;
    if !is_helper() {
        inherited.take_off_strangers()?;
    }
    inherited.follow()
}

/// Whether this process may have been told its paths by a pipe: a process of the same program has started it, directly or not.
fn is_helper() -> bool {
    let program = |process: &str| {
        let data = std::fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((data.dev(), data.ino()))
    };
    let Some(this) = program("self") else { return true };
    std::iter::successors(parent("self"), |process| parent(process)).any(|of| program(&of) == Some(this))
}

/// The number of the process that started this one, if any has that can be seen.
fn parent(process: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may hold anything.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
    (parent != "0").then(|| parent.to_owned())
}

/// Moves a child that was just forked back to the namespace that its parent came from, so that it does not keep the
/// parent's own alive.
pub(crate) fn leave() -> io::Result<()> {
    let Some(outside) = OUTSIDE.get() else { return Ok(()) };
    Ok(move_into_link_name_space(outside.as_fd(), Some(LinkNameSpaceType::Mount))?)
}

/// The mounts of the system, which after [`isolate`] are not ours, and our own.
pub(crate) fn all_mount_points() -> Result<Vec<MountPoint>, Error> {
    let mut mounts = follow::outer_mount_points()?;
    for pid in ["1", "self"] {
        mounts.extend(mount_points(pid)?);
    }
    Ok(mounts)
}
