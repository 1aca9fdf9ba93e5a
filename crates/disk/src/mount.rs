//! Mounts file systems on private directories and unmounts them.
//!
//! Uses the newer mount API of the kernel, because it reports invalid options in plain text.

use crate::error::{Error, IoContext};
use crate::observe::observed;
use crate::registry::{Entry, EntryGuard, Session};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A mounted file system. Unmounted on drop.
#[derive(Debug)]
pub struct Mount {
    device: PathBuf,
    kind: String,
    options: Vec<String>,
    dir: PathBuf,
    mounted: bool,
    recorded: Option<EntryGuard>,
}

impl Mount {
    /// Mounts `device` on a new directory. Each option may be a comma-separated list, as after `mount -o`.
    pub fn new(
        session: &Arc<Session>,
        device: &Path,
        kind: &str,
        options: &[String],
    ) -> Result<Mount, Error> {
        let mut mount = Self::prepare(session, device, kind, options)?;
        mount.mount()?;
        Ok(mount)
    }

    /// Creates the directory without mounting anything yet.
    pub fn prepare(
        session: &Arc<Session>,
        device: &Path,
        kind: &str,
        options: &[String],
    ) -> Result<Mount, Error> {
        let (dir, recorded) = fresh_dir(session)?;
        Ok(Mount {
            device: device.to_owned(),
            kind: kind.to_owned(),
            options: options.to_vec(),
            dir,
            mounted: false,
            recorded: Some(recorded),
        })
    }

    /// Sets the options for the next mount.
    pub(crate) fn set_options(&mut self, options: Vec<String>) {
        self.options = options;
    }

    /// The mount point.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Unmounts the file system. The directory stays.
    pub fn unmount(&mut self) -> Result<(), Error> {
        if self.mounted {
            unmount(&self.dir)?;
            self.mounted = false;
        }
        Ok(())
    }

    /// Mounts the file system again after [`Mount::unmount`].
    pub fn mount(&mut self) -> Result<(), Error> {
        if !self.mounted {
            observed(|| self.command(), || self.try_mount())?;
            self.mounted = true;
        }
        Ok(())
    }

    /// The command that mounts it.
    fn command(&self) -> String {
        let options = self.options.join(",");
        let options = if options.is_empty() { options } else { format!(" -o {options}") };
        format!("mount -t {}{options} {} {}", self.kind, self.device.display(), self.dir.display())
    }

    fn try_mount(&self) -> Result<(), Error> {
        let wrong = |why: String| Error::Mount { device: self.device.clone(), kind: self.kind.clone(), why };
        let context = fsopen(&self.kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|e| match e {
            Errno::NODEV => wrong(format!("this kernel does not support {0}; try `modprobe {0}`", self.kind)),
            e => wrong(words(e)),
        })?;
        let mut attributes = MountAttrFlags::empty();
        let configured = fsconfig_set_string(&context, "source", &self.device)
            .and_then(|()| {
                let mut options = self.options.iter().flat_map(|o| o.split(',')).filter(|o| !o.is_empty());
                options.try_for_each(|option| configure(&context, option, &mut attributes))
            })
            .and_then(|()| fsconfig_create(&context))
            .and_then(|()| fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes));
        let tree = configured.map_err(|e| {
            let unclean = "if it was not unmounted cleanly, mount it once read-write to recover it";
            let why = kernel_messages(context, e);
            wrong(if e == Errno::ROFS { format!("{why}; {unclean}") } else { why })
        })?;
        move_mount(&tree, "", CWD, &self.dir, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(|e| wrong(words(e)))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let off = self.unmount().is_ok() && std::fs::remove_dir(&self.dir).is_ok();
        if let (false, Some(recorded)) = (off, self.recorded.take()) {
            recorded.keep();
        }
    }
}

/// Creates a mount point in the run directory.
fn fresh_dir(session: &Arc<Session>) -> Result<(PathBuf, EntryGuard), Error> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = session.dir().join(format!("mnt-{}-{number}", std::process::id()));
        let recorded = session.record(Entry::Mount { dir: dir.clone() })?;
        match std::fs::create_dir(&dir) {
            // Left over by an earlier process with the same PID.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            result => return result.context("creating", &dir).map(|()| (dir, recorded)),
        }
    }
}

/// Applies one option, either to the mount alone or to the file system.
fn configure(context: &OwnedFd, option: &str, attributes: &mut MountAttrFlags) -> rustix::io::Result<()> {
    match option {
        "nosuid" => attributes.insert(MountAttrFlags::MOUNT_ATTR_NOSUID),
        "nodev" => attributes.insert(MountAttrFlags::MOUNT_ATTR_NODEV),
        "noexec" => attributes.insert(MountAttrFlags::MOUNT_ATTR_NOEXEC),
        "noatime" | "relatime" | "strictatime" => {
            // The last of several options wins.
            attributes.remove(MountAttrFlags::MOUNT_ATTR__ATIME);
            attributes.insert(match option {
                "noatime" => MountAttrFlags::MOUNT_ATTR_NOATIME,
                "relatime" => MountAttrFlags::MOUNT_ATTR_RELATIME,
                _ => MountAttrFlags::MOUNT_ATTR_STRICTATIME,
            });
        }
        "nodiratime" => attributes.insert(MountAttrFlags::MOUNT_ATTR_NODIRATIME),
        "rw" | "defaults" => {}
        "ro" => {
            attributes.insert(MountAttrFlags::MOUNT_ATTR_RDONLY);
            return fsconfig_set_flag(context, "ro");
        }
        _ => {
            return match option.split_once('=') {
                Some((key, value)) => fsconfig_set_string(context, key, value),
                None => fsconfig_set_flag(context, option),
            };
        }
    }
    Ok(())
}

/// The kernel's messages about a failed mount, or the text of the error number.
fn kernel_messages(context: OwnedFd, error: Errno) -> String {
    let mut log = std::fs::File::from(context);
    let mut message = [0; 1024];
    let mut said = Vec::new();
    // Each read returns one message; its first letter tells whether it is an error.
    while let Ok(n @ 1..) = log.read(&mut message) {
        let text = String::from_utf8_lossy(&message[..n]);
        said.extend(text.trim_end().strip_prefix("e ").map(str::to_owned));
    }
    if said.is_empty() { format!("{}; `dmesg` may show more", words(error)) } else { said.join("; ") }
}

fn words(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

/// Unmounts the file system on `dir`; waits for short-lived users.
pub fn unmount(dir: &Path) -> Result<(), Error> {
    observed(|| format!("umount {}", dir.display()), || try_unmount(dir))
}

fn try_unmount(dir: &Path) -> Result<(), Error> {
    for wait_ms in [1, 10, 50, 100, 200, 500, 1000, 0] {
        match rustix::mount::unmount(dir, UnmountFlags::NOFOLLOW) {
            Err(Errno::BUSY) => std::thread::sleep(Duration::from_millis(wait_ms)),
            result => return result.context("unmounting", dir),
        }
    }
    Err(Error::MountBusy { dir: dir.to_owned() })
}
