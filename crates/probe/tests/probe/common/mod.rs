//! Small file systems on loop devices, removed even if the test fails.

use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Runs a program, asserts that it succeeds, and returns its output.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// Unmounts `at`. Another test that starts a program briefly holds copies of this process's descriptors.
pub fn unmount(at: &Path) {
    if std::thread::panicking() {
        let _ = Command::new("umount").arg("-l").arg(at).status();
        return;
    }
    let unmounted = || Command::new("umount").arg("-q").arg(at).status().is_ok_and(|status| status.success());
    testing::wait_until(&format!("the unmount of {}", at.display()), unmounted);
}

/// A loop device over a sparse image in memory.
pub struct Loop {
    pub device: String,
    dir: TempDir,
}

impl Loop {
    pub fn new(bytes: u64) -> Loop {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let image = dir.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let device = run("losetup", &["--find", "--show", image.to_str().unwrap()]).trim().to_owned();
        Loop { device, dir }
    }

    /// Its (major, minor) number.
    pub fn devno(&self) -> (u32, u32) {
        let device = rustix::fs::stat(self.device.as_str()).unwrap().st_rdev;
        (rustix::fs::major(device), rustix::fs::minor(device))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.device]).status();
    }
}

/// A mounted file system.
pub struct Mounted {
    at: PathBuf,
    pub disk: Loop,
}

impl Mounted {
    /// Creates a file system of 512 MiB; skips without root or the mkfs program.
    pub fn new(kind: &str) -> Option<Mounted> {
        let mkfs = format!("mkfs.{kind}");
        if !testing::is_root() || !testing::has_tool(&mkfs) {
            return None;
        }
        let disk = Loop::new(512 << 20);
        run(&mkfs, &["-q", &disk.device]);
        let at = disk.dir.path().join("mount");
        std::fs::create_dir(&at).unwrap();
        run("mount", &[&disk.device, at.to_str().unwrap()]);
        Some(Mounted { at, disk })
    }

    /// A directory for the test's files, because some file systems create a directory of their own.
    pub fn root(&self) -> PathBuf {
        let root = self.at.join("root");
        std::fs::create_dir_all(&root).unwrap();
        root
    }

    /// Remounts it to drop its caches.
    pub fn drop_caches(&self) {
        unmount(&self.at);
        run("mount", &[&self.disk.device, self.at.to_str().unwrap()]);
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.at);
    }
}
