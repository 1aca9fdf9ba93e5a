//! A mount namespace of our own: what is mounted there goes with the last process in it, even at `kill -9`.
//!
//! A namespace begins with a copy of every mount of the machine, and each copy keeps its disk or FUSE server busy. Where mounts are
//! shared (systemd shares them) the kernel takes a copy off together with its original. In containers they are private, and a disk
//! unmounted during a run would stay busy until the run ends. So a thread watches the namespace that the process came from, and takes each
//! copy off when its original goes ([`follow`]). None goes earlier: any may hold a path that the run needs, named in a file, a symbolic link or
//! the pipe of a helper. A copy that is in use goes when it no longer is; no run loses a file that it has open.

mod follow;

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points};
use follow::Inherited;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{chroot, fchdir};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the process came from.
static OUTSIDE: OnceLock<Outside> = OnceLock::new();

struct Outside {
    namespace: File,
    /// In a chroot not the root of the namespace, which is what a process gets that moves there.
    root: OwnedFd,
    /// Of this program. In a chroot the kernel gives its path from the root of the namespace, once that is another.
    program: PathBuf,
}

impl Outside {
    fn now() -> Result<Outside, Error> {
        let (namespace, root) = (Path::new("/proc/thread-self/ns/mnt"), Path::new("/"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Outside {
            namespace: File::open(namespace).context("opening", namespace)?,
            root: openat(CWD, root, flags, Mode::empty()).context("opening", root)?,
            program: std::env::current_exe().context("reading", Path::new("/proc/self/exe"))?,
        })
    }
}

/// Moves the process into a mount namespace of its own; to be called before threads start. Without root it does
/// nothing: then nothing can be mounted either.
///
/// Mounts made here do not reach the rest of the system. What the system unmounts leaves here too.
pub fn isolate() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let outside = Outside::now()?;
    let outer = follow::Outer::open()?;
    // SAFETY: of all that can be unshared, the mount namespace touches neither memory nor file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .context("leaving the mount namespace of", Path::new("/"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .context("keeping our mounts from spreading below", Path::new("/"))?;
    // Of several calls the first one left the namespace that all others came from.
    let _ = OUTSIDE.set(outside);
    Inherited::new(outer)?.follow()
}

/// Moves a child that was just forked back to the namespace that its parent came from, so that it does not keep the
/// parent's own alive. Its working directory is then the root.
pub(crate) fn leave() -> io::Result<()> {
    let Some(outside) = OUTSIDE.get() else { return Ok(()) };
    move_into_link_name_space(outside.namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
    fchdir(&outside.root)?;
    Ok(chroot(".")?)
}

/// The path of this program.
///
/// # Errors
/// If the kernel does not tell it.
pub fn program() -> io::Result<PathBuf> {
    OUTSIDE.get().map_or_else(std::env::current_exe, |outside| Ok(outside.program.clone()))
}

/// The mounts of the system, which after [`isolate`] are not ours, and our own.
pub(crate) fn all_mount_points() -> Result<Vec<MountPoint>, Error> {
    let mut mounts = follow::outer_mount_points()?;
    for pid in ["1", "self"] {
        mounts.extend(mount_points(pid)?);
    }
    Ok(mounts)
}
