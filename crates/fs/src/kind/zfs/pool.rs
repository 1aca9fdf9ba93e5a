//! A ZFS pool with one file system, on one device.

use super::Zfs;
use crate::Error;
use crate::config::only_reads;
use crate::kind;
use disk::{Mount, POOL_PREFIX, Session, command, mount_holding, run_tool};
use rustix::fs::StatVfsMountFlags;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An imported pool whose file system is mounted. Dropping it exports the pool. After `kill -9`, [`disk::cleanup`] exports it: its name
/// contains the number of this process.
pub struct Pool {
    device: PathBuf,
    /// Its name while it is imported.
    name: String,
    only_read: bool,
    imported: bool,
    mount: Mount,
}

/// A pool name that is unused on this machine.
pub fn unused_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{POOL_PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A `blkid` tag of the pool on a device: `LABEL` is its own name, `UUID` its number.
pub fn tag(device: &Path, name: &str) -> Result<String, Error> {
    let output =
        run_tool(command("blkid").args(["-p", "-s", name, "-o", "value"]).arg(device), "util-linux")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Waits until all earlier writes are on the device of the pool mounted at `root`.
pub fn sync(root: &Path) -> Result<(), Error> {
    let doing = "syncing";
    let numbers = rustix::fs::statvfs(root).map_err(Error::io(doing, root))?;
    if numbers.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Ok(());
    }
    let name = mount_holding(root)?.map(|mount| mount.source).unwrap_or_default();
    run(root, doing, command("zpool").arg("sync").arg(name))
}

/// Takes the snapshot `name` of the file system mounted at `root`.
pub fn take_snapshot(root: &Path, name: &str) -> Result<(), Error> {
    let doing = "taking a snapshot of";
    let file_system = mounted_at(root, doing)?;
    run(root, doing, command("zfs").arg("snapshot").arg(format!("{file_system}@{name}")))
}

/// Deletes the snapshot `name` of the file system mounted at `root`, and waits until its blocks are free.
pub fn delete_snapshot(root: &Path, name: &str) -> Result<(), Error> {
    let doing = "deleting a snapshot of";
    let file_system = mounted_at(root, doing)?;
    run(root, doing, command("zfs").arg("destroy").arg(format!("{file_system}@{name}")))?;
    let pool = file_system.split('/').next().unwrap_or_default();
    run(root, doing, command("zpool").args(["wait", "-t", "free", pool]))
}

/// The file system whose root is `root`, not a directory in it: its snapshots hold nothing else.
fn mounted_at(root: &Path, doing: &'static str) -> Result<String, Error> {
    match mount_holding(root)?.filter(|mount| mount.dir == root) {
        Some(mount) => Ok(mount.source.to_string_lossy().into_owned()),
        None => {
            let why = "it is a directory in a file system, and only a whole file system has snapshots";
            Err(Error::io(doing, root)(std::io::Error::other(why)))
        }
    }
}

impl Pool {
    /// Imports the pool on `device` and mounts it on a new directory.
    pub fn new(session: &Arc<Session>, device: &Path, options: &[String]) -> Result<Pool, Error> {
        let name = unused_name();
        let mount = Mount::prepare(session, Path::new(&name), "zfs", options)?;
        let only_read = only_reads(options);
        let mut this = Pool { device: device.to_owned(), name, only_read, imported: false, mount };
        this.mount()?;
        Ok(this)
    }

    /// The mount point.
    pub fn dir(&self) -> &Path {
        self.mount.dir()
    }

    /// Imports it again after [`unmount`](Self::unmount).
    pub fn mount(&mut self) -> Result<(), Error> {
        if !self.imported {
            // Selected by its number: another pool of the same name may exist.
            let number = tag(&self.device, "UUID")?;
            let mut import = command("zpool");
            import.args(["import", "-f", "-N", "-o", "cachefile=none"]);
            if self.only_read {
                import.args(["-o", "readonly=on"]);
            }
            import.arg("-d").arg(&self.device).arg(number).arg(&self.name);
            run(&self.device, "importing the pool on", &mut import)?;
            self.imported = true;
        }
        Ok(self.mount.mount()?)
    }

    /// Exports the pool, which also drops all caches of it. Keeps the directory.
    pub fn unmount(&mut self) -> Result<(), Error> {
        self.mount.unmount()?;
        if !self.imported {
            return Ok(());
        }
        let export =
            || run(&self.device, "exporting the pool on", command("zpool").arg("export").arg(&self.name));
        let mut exported = export();
        // A file that was just closed may still be in use.
        for wait_ms in [10, 100, 1000] {
            if exported.is_err() {
                std::thread::sleep(Duration::from_millis(wait_ms));
                exported = export();
            }
        }
        self.imported = exported.is_err();
        exported
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The registry keeps the directory if it is still in use.
        let _ = self.unmount();
    }
}

fn run(what: &Path, doing: &'static str, command: &mut Command) -> Result<(), Error> {
    kind::run_to_success(&Zfs, what, doing, command)
}
