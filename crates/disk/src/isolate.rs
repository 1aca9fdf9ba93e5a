//! A private mount namespace: its mounts disappear with its last process, even after `kill -9`.
//!
//! A new namespace starts with a copy of every mount of the system, and each copy keeps its disk or FUSE server busy. Where mounts are
//! shared (the default of systemd), the kernel removes a copy together with its original. In containers they are private, and a disk
//! unmounted during a run would stay busy until the run ends. Therefore a thread watches the original namespace and removes each copy when
//! its original is unmounted ([`follow`]). No copy is removed earlier: any of them may hold a path that the run needs, named in a file, a
//! symbolic link or the pipe of a helper. A copy that is in use is removed once it is no longer in use; no run loses an open file.

mod follow;

use crate::error::{Error, IoContext};
use crate::mount_table::{MountPoint, mount_points};
use follow::InheritedMounts;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{chroot, fchdir};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The environment that the process had before [`isolate`].
static ORIGINAL: OnceLock<Original> = OnceLock::new();

struct Original {
    namespace: File,
    /// The root directory of the process. In a chroot it differs from the root of the namespace, which a process gets when it joins the
    /// namespace.
    root: OwnedFd,
    /// The path of this program. After the root changes, the kernel reports the path of a program in a chroot relative to the root of the
    /// namespace.
    program: PathBuf,
}

impl Original {
    fn now() -> Result<Original, Error> {
        let (namespace, root) = (Path::new("/proc/thread-self/ns/mnt"), Path::new("/"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Original {
            namespace: File::open(namespace).context("opening", namespace)?,
            root: openat(CWD, root, flags, Mode::empty()).context("opening", root)?,
            program: std::env::current_exe().context("reading", Path::new("/proc/self/exe"))?,
        })
    }
}

/// Moves the process into a private mount namespace. Call it before starting threads. Without root it does nothing, because then nothing
/// can be mounted either.
///
/// Mounts made in the namespace do not propagate to the system; unmounts of the system propagate to the namespace.
pub fn isolate() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let original = Original::now()?;
    let original_table = follow::OriginalMountTable::open()?;
    // SAFETY: unsharing the mount namespace affects neither memory nor file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .context("leaving the mount namespace of", Path::new("/"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .context("keeping our mounts from spreading below", Path::new("/"))?;
    // If called several times, the first call left the original namespace.
    let _ = ORIGINAL.set(original);
    InheritedMounts::new(original_table)?.follow()
}

/// Moves a newly forked child back to the original namespace, so that it does not keep the private one alive. Its working directory becomes
/// the root.
pub(crate) fn leave() -> io::Result<()> {
    let Some(original) = ORIGINAL.get() else { return Ok(()) };
    move_into_link_name_space(original.namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
    fchdir(&original.root)?;
    Ok(chroot(".")?)
}

/// The path of this program.
///
/// # Errors
/// If the kernel does not report it.
pub fn current_exe() -> io::Result<PathBuf> {
    ORIGINAL.get().map_or_else(std::env::current_exe, |original| Ok(original.program.clone()))
}

/// The mounts of the system (which differ from ours after [`isolate`]) and the mounts of this process.
pub(crate) fn all_mount_points() -> Result<Vec<MountPoint>, Error> {
    let mut mounts = follow::original_mount_points()?;
    for pid in ["1", "self"] {
        mounts.extend(mount_points(pid)?);
    }
    Ok(mounts)
}
