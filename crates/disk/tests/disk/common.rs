//! What the tests of the modelled disk share.

use senesce_disk::modelled::{Clock, DiskSettings, ModelledDisk};
use senesce_disk::{Cleaned, LoopDevice, Mount, Session, cleanup_in, command, run_dir, run_tool};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// The variable that names the run directory of a process that a test starts.
const RUN_DIR: &str = "SENESCE_RUN_DIR";

pub const MIB: u64 = 1 << 20;

/// The kinds that are tried, and the size that each needs.
pub const KINDS: [(&str, &str, u64); 3] =
    [("ext4", "e2fsprogs", 320 * MIB), ("xfs", "xfsprogs", 320 * MIB), ("btrfs", "btrfs-progs", 320 * MIB)];

/// Whether loop devices and mounts work here; if not the test is skipped.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        testing::skip("root", "loop devices and mounts need it");
    }
    root
}

/// Whether modelled disks work here; if not the test is skipped.
pub fn works() -> bool {
    if !is_root() {
        return false;
    }
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    fuse.inspect_err(|e| testing::skip("/dev/fuse", e)).is_ok()
}

/// A session whose run directory is the test's own. Dropped after what is recorded in it.
pub struct OwnSession {
    session: Arc<Session>,
    dir: PathBuf,
    // A process that another test has started was told its directory, which is the other's.
    _own: Option<TempDir>,
}

impl Deref for OwnSession {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.session
    }
}

impl OwnSession {
    /// Takes down what runs left that have the same directory.
    pub fn cleanup(&self) -> Cleaned {
        cleanup_in(&self.dir).unwrap()
    }
}

/// Begins a session of the test's own.
pub fn begin() -> OwnSession {
    ModelledDisk::served_by(Path::new(env!("CARGO_BIN_EXE_senesce-disk-server")));
    let own = std::env::var_os(RUN_DIR).is_none().then(|| tempfile::tempdir().unwrap());
    let dir = own.as_ref().map_or_else(run_dir, |own| own.path().join("run"));
    OwnSession { session: Session::begin_in(&dir).unwrap(), dir, _own: own }
}

/// A test that others run, in a process of its own with this run directory.
pub fn itself(test: &str, run: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(RUN_DIR, run);
    command
}

/// Whether this process was started with [`itself`].
pub fn is_started_by_another() -> bool {
    std::env::var_os(RUN_DIR).is_some()
}

/// Keeps what was made until the test that started this process ends it, or ends itself.
pub fn wait_for_the_end(_made: impl Sized) {
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
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
