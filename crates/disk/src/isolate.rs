//! A mount namespace of our own: what is mounted there goes with the last process in it, even at `kill -9`.

use crate::error::{Error, IoContext};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::path::Path;

/// Moves the process into a mount namespace of its own; to be called before threads start. Without root it does
/// nothing: then nothing can be mounted either.
///
/// Mounts made here do not reach the rest of the system. What the system unmounts leaves here too where the system
/// shares its mounts (systemd does); elsewhere a disk unmounted during a run stays busy until the run ends.
pub fn isolate() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    // SAFETY: of all that can be unshared, the mount namespace touches neither memory nor file descriptors.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }
        .context("leaving the mount namespace of", Path::new("/"))?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .context("keeping our mounts from spreading below", Path::new("/"))
}
