//! The zfs-fuse daemon, which serves all pools.
//!
//! Its programs connect to a socket with a fixed path, so a machine has one daemon. This program starts another one: in its mount namespace
//! the daemon and the programs see an empty tmpfs in place of the socket directory, and no foreign pools. The daemon dies with the process.

use super::PACKAGE;
use crate::Error;
use disk::{command, require_tool};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PROGRAM: &str = "zfs-fuse";

/// The directories with fixed names: socket, lock, list of pools.
const DIRS: [&str; 3] = ["/run/zfs", "/run/lock/zfs", "/var/lib/zfs"];

/// The socket of the daemon.
const SOCKET: &str = "/run/zfs/zfs_socket";

/// Timeout of the start.
const BEGIN: Duration = Duration::from_secs(60);

/// Starts the daemon unless it is running.
pub fn start() -> Result<(), Error> {
    static RUNNING: Mutex<Option<Child>> = Mutex::new(None);
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if running.as_mut().is_some_and(|daemon| matches!(daemon.try_wait(), Ok(None))) {
        return Ok(());
    }
    require_tool(PROGRAM, PACKAGE)?;
    for dir in DIRS.map(Path::new) {
        let doing = "hiding the files of another daemon in";
        std::fs::create_dir_all(dir).map_err(Error::io(doing, dir))?;
        mount("senesce", dir, "tmpfs", MountFlags::empty(), None).map_err(Error::io(doing, dir))?;
    }
    let fail = || Error::io("starting", Path::new(PROGRAM));
    let mut daemon = command(PROGRAM);
    // The kernel's caches remain valid: nobody else changes the files.
    daemon.args(["--no-daemon", "--no-kstat-mount", "-a", "3600", "-e", "3600", "-o", "default_permissions"]);
    daemon.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { daemon.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
    let mut child = daemon.spawn().map_err(fail())?;
    let begun = Instant::now();
    while !Path::new(SOCKET).exists() {
        let ended = child.try_wait().map_err(fail())?;
        if ended.is_some() || begun.elapsed() > BEGIN {
            let _ = child.kill();
            let _ = child.wait();
            let why =
                ended.map_or_else(|| "it does not start".to_owned(), |status| format!("it ended ({status})"));
            return Err(fail()(std::io::Error::other(why)));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    *running = Some(child);
    Ok(())
}
