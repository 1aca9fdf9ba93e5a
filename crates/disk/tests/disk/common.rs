//! Shared helpers of the tests of the modelled disk.

use senesce_disk::modelled::{Clock, DiskSettings, ModelledDisk};
use senesce_disk::{CleanupReport, LoopDevice, Mount, Session, cleanup_in, command, run_dir, run_tool};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// The environment variable with the run directory of a process that a test starts.
const RUN_DIR: &str = "SENESCE_RUN_DIR";

pub const MIB: u64 = 1 << 20;

/// The tested file systems, with the package and the disk size that each needs.
pub const KINDS: [(&str, &str, u64); 3] =
    [("ext4", "e2fsprogs", 320 * MIB), ("xfs", "xfsprogs", 320 * MIB), ("btrfs", "btrfs-progs", 320 * MIB)];

/// Whether loop devices and mounts are available; reports a skip if not.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        testing::skip("root", "loop devices and mounts need it");
    }
    root
}

/// Whether modelled disks are available; reports a skip if not.
pub fn is_available() -> bool {
    if !is_root() {
        return false;
    }
    let fuse = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    fuse.inspect_err(|e| testing::skip("/dev/fuse", e)).is_ok()
}

/// A session with a private run directory. Dropped after the resources recorded in it.
pub struct OwnSession {
    session: Arc<Session>,
    dir: PathBuf,
    // A process started by another test uses the run directory of that test.
    _own: Option<TempDir>,
}

impl Deref for OwnSession {
    type Target = Arc<Session>;

    fn deref(&self) -> &Arc<Session> {
        &self.session
    }
}

impl OwnSession {
    /// Removes the leftovers of runs with the same run directory.
    pub fn cleanup(&self) -> CleanupReport {
        cleanup_in(&self.dir).unwrap()
    }
}

/// Begins a session with a private run directory.
pub fn begin() -> OwnSession {
    ModelledDisk::set_server_program(Path::new(env!("CARGO_BIN_EXE_senesce-disk-server")));
    let own = std::env::var_os(RUN_DIR).is_none().then(|| tempfile::tempdir().unwrap());
    let dir = own.as_ref().map_or_else(run_dir, |own| own.path().join("run"));
    OwnSession { session: Session::begin_in(&dir).unwrap(), dir, _own: own }
}

/// A command that runs another test in a separate process with this run directory.
pub fn itself(test: &str, run: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(RUN_DIR, run);
    command
}

/// Whether this process was started through [`itself`].
pub fn is_started_by_another() -> bool {
    std::env::var_os(RUN_DIR).is_some()
}

/// Keeps the resources until the parent test closes standard input or exits.
pub fn wait_until_stdin_closes(_made: impl Sized) {
    println!("ready");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

/// A directory on which syncing is cheap.
pub fn in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn make(session: &Arc<Session>, dir: &Path, size_bytes: u64) -> ModelledDisk {
    make_with(session, dir, &DiskSettings::new(size_bytes, "ideal", Clock::Model))
}

pub fn make_with(session: &Arc<Session>, dir: &Path, settings: &DiskSettings) -> ModelledDisk {
    ModelledDisk::create(dir, settings).unwrap();
    ModelledDisk::attach(session, dir).unwrap()
}

pub fn mkfs(kind: &str, package: &'static str, device: &Path) {
    let mut mkfs = command(&format!("mkfs.{kind}"));
    let force = if kind == "ext4" { "-F" } else { "-f" };
    let output = run_tool(mkfs.args(["-q", force]).arg(device), package).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Checks an unmounted file system; true if it is clean.
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

/// A file system on a modelled disk. The fields are dropped in this order.
pub struct OnDisk {
    pub mount: Mount,
    pub device: LoopDevice,
    pub disk: ModelledDisk,
}

/// Creates a disk in `dir` and a file system on it.
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

/// Unmounts and detaches everything, even after a power cut.
pub fn tear_down(on: OnDisk) {
    let OnDisk { mut mount, device, disk } = on;
    mount.unmount().unwrap();
    drop(mount);
    device.detach().unwrap();
    disk.detach().unwrap();
}

/// Returns a loop device or mount below `run`, or a server of the store in `dir`, if any is left.
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
