//! A mount namespace of our own: what is mounted there goes with the last process in it, even at `kill -9`.

use crate::error::{Error, IoContext};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;

/// The namespace that the process came from.
static OUTSIDE: OnceLock<File> = OnceLock::new();

/// Moves the process into a mount namespace of its own; to be called before threads start. Without root it does
/// nothing: then nothing can be mounted either.
///
/// Mounts made here do not reach the rest of the system. What the system unmounts leaves here too where the system
/// shares its mounts (systemd does); elsewhere a disk unmounted during a run stays busy until the run ends.
pub fn isolate() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let path = Path::new("/proc/self/ns/mnt");
    let outside = File::open(path).context("opening", path)?;
    // SAFETY: of all that can be unshared, the mount namespace touches neither memory nor file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .context("leaving the mount namespace of", Path::new("/"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .context("keeping our mounts from spreading below", Path::new("/"))?;
    // Of several calls the first one left the namespace that all others came from.
    let _ = OUTSIDE.set(outside);
    Ok(())
}

/// Moves a child that was just forked back to the namespace that its parent came from, so that it does not keep the
/// parent's own alive.
pub(crate) fn leave() -> io::Result<()> {
    let Some(outside) = OUTSIDE.get() else { return Ok(()) };
    Ok(move_into_link_name_space(outside.as_fd(), Some(LinkNameSpaceType::Mount))?)
}
