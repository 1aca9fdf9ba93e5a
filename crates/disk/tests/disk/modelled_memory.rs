//! The modelled disk when memory is short: writing through a file system on it, in a memory group with next to
//! nothing, ends, for the server has left that group; and the server is protected as it says it is.

use crate::common::*;
use senesce_disk::modelled::{Clock, DiskSettings, Hardening, Status};
use senesce_disk::{LoopDevice, ended_within};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A memory group of the first version; removed when dropped.
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
        // Whoever is left in it goes back to where all are.
        for pid in std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = std::fs::write("/sys/fs/cgroup/memory/cgroup.procs", pid);
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn writing_in_a_small_memory_group_ends() {
    if !works() {
        return;
    }
    if let Err(e) = Group::make(48 << 20) {
        return testing::skip("memory groups", e);
    }
    // The group takes a whole process, and this one may have other tests.
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
    // The store lies on a real disk where there is one, so that its pages have to be written back as well.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // This process is in the group, and so would its server be if it did not leave.
    std::fs::write(group.0.join("cgroup.procs"), std::process::id().to_string()).unwrap();
    for kind in KINDS {
        let store = dir.path().join(kind.0);
        let disk = make(&session, &store, kind.2);
        let pid = disk.status().unwrap().pid;
        let server = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        // Not to go on otherwise: in the group, and no I/O flusher, it waits for its own disk, and no signal ends it.
        assert!(!server.contains("senesce-test"), "the server left the group: {server}");
        let device = LoopDevice::attach(&session, disk.file(), 128).unwrap();
        mkfs(kind.0, kind.1, device.device());
        let mount = senesce_disk::Mount::new(&session, device.device(), kind.0, &[]).unwrap();
        let target = mount.dir().join("large");
        // Several times what the group may have, buffered, so that pages must go to the disk before others are had.
        let mut dd = Command::new("dd")
            .args(["if=/dev/zero", "bs=1M", "count=150", "conv=fsync", "status=none"])
            .arg(format!("of={}", target.display()))
            .spawn()
            .unwrap();
        let status = ended_within(&mut dd, Duration::from_secs(120)).unwrap().unwrap_or_else(|| {
            dd.kill().unwrap();
            panic!("{}: writing hangs", kind.0)
        });
        assert!(status.success(), "{}: {status}", kind.0);
        assert_eq!(std::fs::metadata(&target).unwrap().len(), 150 << 20);
        assert_eq!(disk.status().unwrap().failed, 0);
        take_down(OnDisk { mount, device, disk });
        std::fs::remove_dir_all(&store).unwrap();
    }
}

#[test]
fn the_server_is_protected_as_it_says() {
    if !works() {
        return;
    }
    let session = begin();
    let dir = in_memory();
    let disk = make_like(&session, dir.path(), &DiskSettings::new(8 << 20, "hdd-7200", Clock::Model));
    let Status { pid, hardening, .. } = disk.status().unwrap();
    let proc = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let locked_kb = || {
        let status = proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    // Its write cache of 32 MiB, and room for 32 answers of 1 MiB, are there before the first request.
    let resident_kb = || {
        let status = proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    assert!(resident_kb() > 64 << 10, "{} KiB", resident_kb());
    assert_eq!(hardening.memory_locked, locked_kb() > 64 << 10, "{hardening:?}");
    assert_eq!(hardening.last_to_be_ended, proc("oom_score_adj").trim() == "-1000", "{hardening:?}");
    // What this process may do its server may.
    let expected = Hardening::expected();
    assert_eq!(
        (hardening.memory_locked, hardening.io_flusher, hardening.last_to_be_ended),
        (expected.memory_locked, expected.io_flusher, expected.last_to_be_ended)
    );
    assert_eq!(hardening.lacks().is_none(), hardening.io_flusher && hardening.memory_locked);
    disk.detach().unwrap();
}
