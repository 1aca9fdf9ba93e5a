//! What the tests of the modelled disk share.

// Each test program uses a part of it.
#![allow(dead_code)]

use senesce_disk::modelled::{Clock, DiskSettings, ModelledDisk};
use senesce_disk::{LoopDevice, Mount, Session, cleanup, command, run_tool};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Once};

pub const MIB: u64 = 1 << 20;

/// The kinds that are tried, and the size that each needs.
pub const KINDS: [(&str, &str, u64); 3] =
    [("ext4", "e2fsprogs", 320 * MIB), ("xfs", "xfsprogs", 320 * MIB), ("btrfs", "btrfs-progs", 320 * MIB)];

/// Whether modelled disks work here; if not it says why they are skipped.
pub fn works() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: FUSE and loop devices need root");
    }
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    if root && let Err(e) = &fuse {
        eprintln!("skipped: /dev/fuse cannot be opened: {e}");
    }
    root && fuse.is_ok()
}

/// One run directory for all tests of this process, and none of the system's.
pub fn begin() -> Arc<Session> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("SENESCE_RUN_DIR").is_none() {
            let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run");
            // SAFETY: `Once` lets no test of this process go on, and so read the environment, before this is done.
            unsafe { std::env::set_var("SENESCE_RUN_DIR", dir) };
        }
        ModelledDisk::served_by(Path::new(env!("CARGO_BIN_EXE_senesce-disk-server")));
        // What an earlier test left when it failed.
        cleanup().unwrap();
    });
    Session::begin().unwrap()
}

/// A directory where forcing to disk costs nothing.
pub fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn make(session: &Arc<Session>, dir: &Path, size_bytes: u64) -> ModelledDisk {
    make_like(session, dir, &DiskSettings::new(size_bytes, "ideal", Clock::Model))
}

pub fn make_like(session: &Arc<Session>, dir: &Path, settings: &DiskSettings) -> ModelledDisk {
    ModelledDisk::create(dir, settings).unwrap();
    ModelledDisk::attach(session, dir).unwrap()
}

pub fn mkfs(kind: &str, package: &'static str, device: &Path) {
    let mut mkfs = command(&format!("mkfs.{kind}"));
    let force = if kind == "ext4" { "-F" } else { "-f" };
    let output = run_tool(mkfs.args(["-q", force]).arg(device), package).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Checks a file system that is not mounted; true if it is clean.
pub fn is_clean(kind: &str, device: &Path) -> bool {
    let line: &[&str] = match kind {
        "ext4" => &["e2fsck", "-f", "-n"],
        "xfs" => &["xfs_repair", "-n"],
        _ => &["btrfs", "check", "--readonly"],
    };
    let output = command(line[0]).args(&line[1..]).arg(device).output().unwrap();
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    }
    output.status.success()
}

/// A file system on a modelled disk. Dropped in this order.
pub struct OnDisk {
    pub mount: Mount,
    pub device: LoopDevice,
    pub disk: ModelledDisk,
}

/// Makes a disk in `dir`, and a file system on it.
pub fn make_fs(
    session: &Arc<Session>,
    dir: &Path,
    (kind, package, size_bytes): (&str, &'static str, u64),
) -> OnDisk {
    let disk = make(session, dir, size_bytes);
    let device = LoopDevice::attach(session, disk.file(), 128).unwrap();
    mkfs(kind, package, device.device());
    let mount = Mount::new(session, device.device(), kind, &[]).unwrap();
    OnDisk { mount, device, disk }
}

/// Takes it down, and the power may have gone.
pub fn take_down(on: OnDisk) {
    let OnDisk { mut mount, device, disk } = on;
    mount.unmount().unwrap();
    drop(mount);
    device.detach().unwrap();
    disk.detach().unwrap();
}

/// Whether a loop device or a mount of a store below `run` is there, or a server of one in `dir`.
pub fn left_behind(run: &Path, dir: &Path) -> Option<String> {
    let list = Command::new("losetup").args(["-l", "-n", "-O", "BACK-FILE"]).output().unwrap();
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    if list.lines().any(|line| Path::new(line).starts_with(run)) {
        return Some(list);
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if let Some(mount) = mounts.lines().find(|line| line.contains(run.to_str().unwrap())) {
        return Some(mount.to_owned());
    }
    servers(dir).first().map(|pid| format!("process {pid}"))
}

/// The processes that serve the store in `dir`.
pub fn servers(dir: &Path) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            words.get(2) == Some(&&b"serve"[..]) && words.get(3) == Some(&dir.as_os_str().as_encoded_bytes())
        })
        .collect()
}

/// Waits until `done`; fails the test if that takes too long.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{what} did not come about in half a minute");
}
