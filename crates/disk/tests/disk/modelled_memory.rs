//! The modelled disk under memory shortage: writing through a file system on it from a memory control group with a tiny limit completes,
//! because the server has left the group; and the protections of the server match its report.

use crate::common::*;
use senesce_disk::modelled::{Clock, DiskSettings, Hardening, Status};
use senesce_disk::{LoopDevice, wait_timeout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A memory control group (cgroup v1). Removed on drop.
struct Group(PathBuf);

impl Group {
    fn make(limit_bytes: u64) -> std::io::Result<Group> {
        let path = Path::new("/sys/fs/cgroup/memory").join(format!("senesce-test-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        let group = Group(path);
        std::fs::write(group.0.join("memory.limit_in_bytes"), limit_bytes.to_string())?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The remaining processes move to the root group.
        for pid in std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = std::fs::write("/sys/fs/cgroup/memory/cgroup.procs", pid);
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn writing_in_a_small_memory_group_completes() {
    if !is_available() {
        return;
    }
    if let Err(e) = Group::make(48 << 20) {
        return testing::skip("memory groups", e);
    }
    // The group takes a whole process, and this one may run other tests.
    let run = tempfile::tempdir().unwrap();
    let output = itself("modelled_memory::writes_in_a_small_memory_group", run.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}

#[test]
#[ignore = "run by the others"]
fn writes_in_a_small_memory_group() {
    if !is_started_by_another() {
        return;
    }
    let group = Group::make(48 << 20).unwrap();
    let session = begin();
    // The store is on a real disk if there is one, so that its pages have to be written back as well.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // This process is in the group; its server would be too if it did not leave.
    std::fs::write(group.0.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    for kind in KINDS {
        let store = dir.path().join(kind.0);
        let disk = make(&session, &store, kind.2);
        let pid = disk.status().unwrap().pid;
        let server = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        // Abort here: in the group and without being an I/O flusher, the server would wait for its own disk, and no signal would end it.
        assert!(!server.contains("senesce-test"), "the server left the group: {server}");
        let device = LoopDevice::attach(&session, disk.file(), 128).unwrap();
        mkfs(kind.0, kind.1, device.device());
        let mount = senesce_disk::Mount::new(&session, device.device(), kind.0, &[]).unwrap();
        let target = mount.dir().join("large");
        // Several times the limit of the group, buffered, so that pages must be written back before others can be allocated.
        let mut dd = Command::new("dd")
            .args(["if=/dev/zero", "bs=1M", "count=150", "conv=fsync", "status=none"])
            .arg(format!("of={}", target.display()))
            .spawn()
            .unwrap();
        let status = wait_timeout(&mut dd, Duration::from_secs(120)).unwrap().unwrap_or_else(|| {
            dd.kill().unwrap();
            panic!("{}: writing hangs", kind.0)
        });
        assert!(status.success(), "{}: {status}", kind.0);
        assert_eq!(std::fs::metadata(&target).unwrap().len(), 150 << 20);
        assert_eq!(disk.status().unwrap().failed, 0);
        tear_down(OnDisk { mount, device, disk });
        std::fs::remove_dir_all(&store).unwrap();
    }
}

#[test]
fn server_protections_match_its_status() {
    if !is_available() {
        return;
    }
    let session = begin();
    let dir = in_memory();
    let disk = make_with(&session, dir.path(), &DiskSettings::new(8 << 20, "hdd-7200", Clock::Model));
    let Status { pid, hardening, .. } = disk.status().unwrap();
    let proc = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let locked_kb = || {
        let status = proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    // The write cache of 32 MiB and buffers for 32 responses of 1 MiB are resident before the first request.
    let resident_kb = || {
        let status = proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    assert!(resident_kb() > 64 << 10, "{} KiB", resident_kb());
    assert_eq!(hardening.memory_locked, locked_kb() > 64 << 10, "{hardening:?}");
    assert_eq!(hardening.last_to_be_ended, proc("oom_score_adj").trim() == "-1000", "{hardening:?}");
    // The server has the capabilities of this process.
    let expected = Hardening::expected();
    assert_eq!(
        (hardening.memory_locked, hardening.io_flusher, hardening.last_to_be_ended),
        (expected.memory_locked, expected.io_flusher, expected.last_to_be_ended)
    );
    assert_eq!(hardening.lacks().is_none(), hardening.io_flusher && hardening.memory_locked);
    disk.detach().unwrap();
}
