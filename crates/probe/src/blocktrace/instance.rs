//! A tracefs instance of this process: its buffers and events are separate from those of other users.

use crate::{Error, Result};
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The name prefix of our instances; the process ID follows.
const PREFIX: &str = "senesce-";

/// A tracefs instance, removed on drop.
pub(super) struct Instance {
    /// Its directory, below the mount descriptor in `_tracefs`.
    dir: PathBuf,
    _tracefs: OwnedFd,
}

impl Instance {
    /// Creates an instance, and removes those of killed processes.
    pub(super) fn create() -> Result<Instance> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let tracefs = tracefs()?;
        let instances = instances(&tracefs);
        remove_stale_in(&instances);
        let mut name = format!("{PREFIX}{}", std::process::id());
        match COUNT.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            several => name += &format!("-{several}"),
        }
        let dir = instances.join(name);
        std::fs::create_dir(&dir).map_err(Error::io("creating a tracing instance at", &dir))?;
        Ok(Instance { dir, _tracefs: tracefs })
    }

    /// The path of one of its files.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Reads one of its files. Some of these files end after the first read regardless of its length, so the single read
    /// has a buffer larger than any of them.
    pub(super) fn read(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        let mut text = vec![0; 64 << 10];
        let len = File::open(&path)
            .and_then(|mut file| file.read(&mut text))
            .map_err(Error::io("reading", &path))?;
        Ok(String::from_utf8_lossy(&text[..len]).into_owned())
    }

    /// Reads one of its files and parses it.
    pub(super) fn parse<T>(&self, name: &str, parse: fn(&str) -> Option<T>) -> Result<T> {
        parse(&self.read(name)?).ok_or_else(|| {
            Error::cannot(
                format!("parsing the kernel's trace format description {name}"),
                "a field is missing or has an unknown size; this kernel is not supported",
            )
        })
    }

    /// Writes one of its files.
    pub(super) fn write(&self, name: &str, value: &str) -> Result<()> {
        let path = self.path(name);
        std::fs::write(&path, value).map_err(Error::io("setting", &path))
    }

    /// The names of its per-CPU buffers.
    pub(super) fn cpus(&self) -> Result<Vec<String>> {
        let path = self.path("per_cpu");
        let names = std::fs::read_dir(&path)
            .and_then(|dir| dir.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>())
            .map_err(Error::io("listing", &path))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // If this fails, the next instance removes it after this process has exited.
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// Creates a private tracefs mount that ends with its descriptor, so that nothing has to be mounted before or unmounted
/// after.
fn tracefs() -> Result<OwnedFd> {
    let mount = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        openat(&mount, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    };
    mount().map_err(|error: rustix::io::Errno| {
        let advice = match error {
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => ": requires root",
            rustix::io::Errno::NODEV => ": this kernel is built without tracing",
            _ => "",
        };
        Error::cannot("mounting tracefs to record block requests", format!("{error}{advice}"))
    })
}

fn instances(tracefs: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(tracefs.as_raw_fd().to_string()).join("instances")
}

/// Removes the tracing instances of killed processes.
pub fn remove_stale() -> Result<()> {
    remove_stale_in(&instances(&tracefs()?));
    Ok(())
}

/// Removes those that can be removed: the kernel refuses while an instance is open, which also protects
/// instances of processes that this process cannot see.
fn remove_stale_in(instances: &Path) {
    for entry in std::fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let gone = |id: &str| !Path::new("/proc").join(id).exists();
        if owner.and_then(|owner| owner.split('-').next()).is_some_and(gone) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
