//! A ZFS pool with one file system, on one device.

use super::{NAME, PACKAGE, daemon};
use crate::Error;
use disk::{Mount, Session, command, mount_holding, run_tool};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An imported and thus mounted pool. Dropping it exports it.
pub struct Pool {
    device: PathBuf,
    options: Vec<String>,
    /// Its name while it is imported.
    name: Option<String>,
    /// The mount point.
    dir: Mount,
}

/// A pool name that is unused on this machine.
pub fn unused_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{NAME}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A `blkid` tag of the pool on a device: `LABEL` is its own name, `UUID` its number.
pub fn tag(device: &Path, name: &str) -> Result<String, Error> {
    let output =
        run_tool(command("blkid").args(["-p", "-s", name, "-o", "value"]).arg(device), "util-linux")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Waits until all earlier writes are on the device of the pool mounted at `root`.
pub fn sync(root: &Path) -> Result<(), Error> {
    let name = mount_holding(root)?.map(|mount| mount.source).unwrap_or_default();
    run(root, "syncing", command("zfs").args(["set", "senesce:settled=yes"]).arg(name))
}

impl Pool {
    /// Imports the pool on `device` and mounts it on a fresh directory.
    pub fn new(session: &Arc<Session>, device: &Path, options: &[String]) -> Result<Pool, Error> {
        let dir = Mount::prepare(session, device, "zfs", &[])?;
        let mut this = Pool { device: device.to_owned(), options: options.to_vec(), name: None, dir };
        this.mount()?;
        Ok(this)
    }

    /// The mount point.
    pub fn dir(&self) -> &Path {
        self.dir.dir()
    }

    /// Imports it again after [`unmount`](Self::unmount).
    pub fn mount(&mut self) -> Result<(), Error> {
        if self.name.is_some() {
            return Ok(());
        }
        daemon::start()?;
        let name = unused_name();
        // The import searches the devices of a directory, and selects by number: another pool of the same name may exist.
        let found = Path::new("/run/zfs").join(&name);
        std::fs::create_dir(&found)
            .and_then(|()| symlink(&self.device, found.join("disk")))
            .map_err(Error::io("importing the pool on", &self.device))?;
        let guid = tag(&self.device, "UUID")?;
        let mut import = command("zpool");
        import.args(["import", "-f", "-d"]).arg(&found).args(["-o", "cachefile=none", "-R"]).arg(self.dir());
        import.args(self.options.iter().flat_map(|option| ["-o", option]));
        import.arg(guid).arg(&name);
        run(&self.device, "importing the pool on", &mut import)?;
        self.name = Some(name);
        Ok(())
    }

    /// Exports the pool, which also drops the daemon's caches of it. Keeps the directory.
    pub fn unmount(&mut self) -> Result<(), Error> {
        let Some(name) = &self.name else { return Ok(()) };
        let export = || run(&self.device, "exporting the pool on", command("zpool").args(["export", name]));
        // A file that was just closed may still be in use.
        for wait_ms in [10, 100, 1000] {
            if export().is_ok() {
                self.name = None;
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(wait_ms));
        }
        export()?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The directory is dropped afterwards; the registry keeps it if it is still in use.
        let _ = self.unmount();
    }
}

fn run(what: &Path, doing: &'static str, command: &mut Command) -> Result<(), Error> {
    let output = run_tool(command, PACKAGE)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::io(doing, what)(std::io::Error::other(said)))
}
