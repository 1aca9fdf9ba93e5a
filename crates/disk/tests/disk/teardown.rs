//! Every resource is removed: at the end, on errors, and by `cleanup` after `kill -9`.

use crate::common::{begin, is_root, is_started_by_another, itself, wait_until_stdin_closes};
use rustix::process::{Pid, Signal, kill_process};
use senesce_disk::{
    BlockDevice, CacheResidency, Entry, Error, Image, LABEL, LoopDevice, MemoryLimit, Mount, Session,
    cleanup, command, drop_file_cache, isolate, mount_points, new_uuid, run_tool,
};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::wait_until;

fn ext4(session: &std::sync::Arc<Session>, dir: &Path, label: &str) -> LoopDevice {
    let image = Image::create(&dir.join("disk.img"), 16 << 20).unwrap();
    let device = LoopDevice::attach(session, image.path(), 256).unwrap();
    mkfs(device.device(), label, &[]);
    device
}

fn mkfs(device: &Path, label: &str, options: &[&str]) {
    let mut mkfs = command("mkfs.ext4");
    let mkfs = mkfs.args(["-q", "-F", "-L", label]).args(options).arg(device);
    assert!(run_tool(mkfs, "e2fsprogs").unwrap().status.success());
}

/// Waits until no loop device uses the image; test processes that start meanwhile hold copies of its mounts for a moment.
fn wait_until_free(image: &Path) {
    wait_until("the end of a loop device", || !attached(image));
}

fn attached(image: &Path) -> bool {
    let list = Command::new("losetup").arg("-j").arg(image).output().unwrap();
    !list.stdout.is_empty()
}

#[test]
fn loop_device_is_a_disk_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let session = begin();
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let image = Image::create(&dir.path().join("disk.img"), 16 << 20).unwrap();
    let device = LoopDevice::attach(&session, image.path(), 64).unwrap();
    let name = device.device().file_name().unwrap().to_owned();
    let ahead = Path::new("/sys/block").join(&name).join("queue/read_ahead_kb");
    assert_eq!(std::fs::read_to_string(ahead).unwrap().trim(), "64");
    let number = std::fs::read_to_string(Path::new("/sys/block").join(&name).join("dev")).unwrap();
    assert_eq!(number.trim(), format!("{}:{}", device.devno().0, device.devno().1));
    let again = LoopDevice::attach(&session, image.path(), 64).unwrap_err().to_string();
    assert!(again.contains("is in use by another run"), "{again}");
    if device.direct_io() {
        std::fs::write(device.device(), vec![7; 1 << 20]).unwrap();
        assert!(matches!(
            drop_file_cache(image.path()).unwrap(),
            CacheResidency::Bytes(0) | CacheResidency::Unknown
        ));
    }
    device.detach().unwrap();
    assert!(!attached(image.path()));
}

#[test]
fn read_ahead_holds_whatever_limits_requests() {
    if !is_root() {
        return;
    }
    let session = begin();
    let dir = testing::dir_in_memory();
    let image = Image::create(&dir.path().join("disk.img"), 16 << 20).unwrap();
    let device = LoopDevice::attach(&session, image.path(), 0).unwrap();
    let queue = Path::new("/sys/block").join(device.device().file_name().unwrap()).join("queue");
    let read_ahead = || std::fs::read_to_string(queue.join("read_ahead_kb")).unwrap();
    assert_eq!(read_ahead(), "0\n", "right after the attachment, which limits requests");
    // Linux 6.18 raises it to 128.
    std::fs::write(queue.join("max_sectors_kb"), "256").unwrap();
    device.hold_read_ahead().unwrap();
    assert_eq!(read_ahead(), "0\n");
    device.detach().unwrap();
}

#[test]
fn mounting_works_and_reports_errors() {
    if !is_root() {
        return;
    }
    let session = begin();
    let dir = tempfile::tempdir().unwrap();
    let device = ext4(&session, dir.path(), "senesce");
    let bad = Mount::new(&session, device.device(), "ext4", &["noatime,nonsense=1".into()])
        .unwrap_err()
        .to_string();
    assert!(bad.contains("nonsense"), "{bad}");
    let mut mount = Mount::new(&session, device.device(), "ext4", &["noatime,commit=30".into()]).unwrap();
    let place = mount.dir().to_owned();
    std::fs::write(place.join("file"), "kept").unwrap();
    mount.unmount().unwrap();
    assert!(!place.join("file").exists());
    mount.mount().unwrap();
    assert_eq!(std::fs::read_to_string(place.join("file")).unwrap(), "kept");
    let open = std::fs::File::open(place.join("file")).unwrap();
    let busy = mount.unmount().unwrap_err().to_string();
    assert!(busy.contains("still in use") && busy.contains("fuser -vm"), "{busy}");
    drop(open);
    drop(mount);
    assert!(!place.exists());
    drop(device);
    wait_until_free(&dir.path().join("disk.img"));
}

#[test]
fn only_free_and_confirmed_devices_are_claimed() {
    if !is_root() {
        return;
    }
    let session = begin();
    let dir = tempfile::tempdir().unwrap();
    let device = ext4(&session, dir.path(), "photos");
    let path = device.device();
    let name = path.to_str().unwrap();
    let refusal = |path: &Path, erase| BlockDevice::claim(path, erase).unwrap_err().to_string();
    assert!(refusal(path, None).contains(&format!("--erase {name}")));
    assert!(refusal(path, Some("/dev/other")).contains("--erase names /dev/other"));
    let foreign = refusal(path, Some(name));
    assert!(foreign.contains("ext4, labelled photos") && foreign.contains("wipefs"), "{foreign}");
    assert!(refusal(Path::new("/dev/null"), Some("/dev/null")).contains("not a block device"));
    let mount = Mount::new(&session, path, "ext4", &[]).unwrap();
    let used = refusal(path, Some(name));
    assert!(used.contains("it is mounted on") && used.contains("umount"), "{used}");
    drop(mount);
    wait_until("the end of all mounts", || BlockDevice::open(path).is_ok());
    // A bcachefs superblock, which some versions of `blkid` do not recognize.
    let magic = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    let bcachefs = |label: &str, uuid: [u8; 16]| {
        let mut start = vec![0; 8192];
        start[4120..4136].copy_from_slice(magic);
        start[4152..4168].copy_from_slice(&uuid);
        start[4168..4168 + label.len()].copy_from_slice(label.as_bytes());
        std::fs::write(path, start).unwrap();
    };
    let bits = u128::from_str_radix(&new_uuid().replace('-', ""), 16).unwrap().to_be_bytes();
    bcachefs("photos", bits);
    let foreign = refusal(path, Some(name));
    assert!(foreign.contains("bcachefs file system, labelled") && foreign.contains("photos"), "{foreign}");
    assert!(!BlockDevice::open(path).unwrap().is_ours().unwrap());
    bcachefs(LABEL, [7; 16]);
    assert!(!BlockDevice::open(path).unwrap().is_ours().unwrap());
    bcachefs(LABEL, bits);
    assert!(BlockDevice::open(path).unwrap().is_ours().unwrap());
    // The label alone does not identify our file systems.
    mkfs(path, LABEL, &[]);
    let foreign = refusal(path, Some(name));
    assert!(foreign.contains("ext4, labelled senesce") && foreign.contains("wipefs"), "{foreign}");
    mkfs(path, LABEL, &["-U", &new_uuid()]);
    assert!(run_tool(command("blockdev").arg("--setro").arg(path), "util-linux").unwrap().status.success());
    let read_only = refusal(path, Some(name));
    assert!(read_only.contains("it is read-only") && read_only.contains("blockdev --setrw"), "{read_only}");
    assert!(run_tool(command("blockdev").arg("--setrw").arg(path), "util-linux").unwrap().status.success());
    let claimed = BlockDevice::claim(path, Some(name)).unwrap();
    assert_eq!((claimed.size_bytes(), claimed.devno()), (16 << 20, device.devno()));
    // A mount in another namespace is not in any mount table of this process.
    let mut elsewhere = victim("mounts_in_its_own_namespace", session.dir(), |c| {
        c.env("SENESCE_TEST_DEVICE", path);
    });
    let busy = refusal(path, Some(name));
    kill(&mut elsewhere);
    assert!(busy.contains("in use"), "{busy}");
    session.cleanup();
}

#[test]
fn cleanup_removes_leftovers_of_a_killed_run() {
    if !is_root() {
        return;
    }
    let run = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let mut child = victim("makes_a_target", run.path(), |c| {
        c.env("SENESCE_TEST_WORK", work.path());
    });
    let cleanup = || {
        let output = itself("teardown::cleans_up", run.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let image = std::fs::canonicalize(work.path()).unwrap().join("disk.img");
    let mounted = || mount_points("self").unwrap().iter().any(|m| m.dir.starts_with(run.path()));
    let said = cleanup();
    assert!(said.contains(&format!("running: process {}", child.id())), "{said}");
    assert!(attached(&image) && mounted());
    kill(&mut child);
    let said = cleanup();
    assert!(said.contains("undone: unmounted"), "{said}");
    assert!(said.contains("failed:") && said.contains("kept"), "{said}");
    assert!(!mounted());
    wait_until_free(&image);
    assert!(!work.path().join("tree").exists() && work.path().join("kept/precious").exists());
    // An unmarked directory is reported until the user deletes it.
    std::fs::remove_dir_all(work.path().join("kept")).unwrap();
    assert!(!cleanup().contains("failed:"));
    assert_eq!(std::fs::read_dir(run.path()).unwrap().count(), 0);
}

#[test]
fn isolated_mounts_end_with_their_process() {
    if !is_root() {
        return;
    }
    let session = begin();
    let dir = tempfile::tempdir().unwrap();
    let device = ext4(&session, dir.path(), "senesce");
    let mut child = victim("mounts_in_its_own_namespace", session.dir(), |c| {
        c.env("SENESCE_TEST_DEVICE", device.device());
    });
    assert!(BlockDevice::open(device.device()).is_err());
    kill(&mut child);
    assert!(BlockDevice::open(device.device()).is_ok());
    session.cleanup();
}

/// Creates a limit in MiB; `None`, with a skip message, if this machine does not support it.
fn limit(session: &std::sync::Arc<Session>, mib: u64) -> Option<MemoryLimit> {
    match MemoryLimit::new(session, mib << 20) {
        Err(error @ Error::NoMemoryController) => {
            testing::skip("memory groups", error);
            None
        }
        result => Some(result.unwrap()),
    }
}

/// The control groups created by the process.
fn groups(pid: u32) -> String {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("senesce-{pid}-*")]).output();
    String::from_utf8(found.unwrap().stdout).unwrap()
}

#[test]
fn memory_limit_holds_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let session = begin();
    // Without a newline, tail keeps all its input in memory.
    let keeps_64_mib = |limit: &MemoryLimit| {
        let mut command = command("sh");
        command.args(["-c", "head -c 64M /dev/zero | tail -n 1 >/dev/null"]).stderr(Stdio::null());
        limit.confine(&mut command).unwrap();
        command.status().unwrap().success()
    };
    let (Some(small), Some(large)) = (limit(&session, 16), limit(&session, 256)) else { return };
    assert_eq!((small.limit_bytes(), large.limit_bytes()), (16 << 20, 256 << 20));
    assert!(!keeps_64_mib(&small) && keeps_64_mib(&large));
    assert_eq!(groups(std::process::id()).lines().count(), 2);
    small.remove().unwrap();
    drop(large);
    assert_eq!(groups(std::process::id()), "");

    let run = tempfile::tempdir().unwrap();
    let mut child = victim("limits_a_process", run.path(), |_| {});
    assert_eq!(groups(child.id()).lines().count(), 1);
    kill(&mut child);
    let said = itself("teardown::cleans_up", run.path()).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("undone: removed the control group"), "{said}");
    assert_eq!(groups(child.id()), "");
}

#[test]
#[ignore = "run by the others, to be killed"]
fn limits_a_process() {
    if !is_started_by_another() {
        return;
    }
    let session = begin();
    let limit = limit(&session, 16).unwrap();
    // `cat` ends with this process, which keeps its standard input open without writing.
    let mut cat = command("cat");
    limit.confine(cat.stdin(Stdio::piped())).unwrap();
    let cat = cat.spawn().unwrap();
    wait_until_stdin_closes((limit, cat));
}

#[test]
#[ignore = "run by the others, to be killed"]
fn makes_a_target() {
    let Some(work) = std::env::var_os("SENESCE_TEST_WORK").map(PathBuf::from) else { return };
    let session = begin();
    let device = ext4(&session, &work, "senesce");
    let mount = Mount::new(&session, device.device(), "ext4", &[]).unwrap();
    let tree = work.join("tree");
    let kept = work.join("kept");
    let entries = [&tree, &kept].map(|path| session.record(Entry::Directory { path: path.clone() }).unwrap());
    std::fs::create_dir_all(tree.join(".senesce")).unwrap();
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("precious"), "").unwrap();
    wait_until_stdin_closes((mount, entries));
}

#[test]
#[ignore = "run by the others, to be killed"]
fn mounts_in_its_own_namespace() {
    let Some(device) = std::env::var_os("SENESCE_TEST_DEVICE") else { return };
    isolate().unwrap();
    let session = begin();
    let mount = Mount::new(&session, Path::new(&device), "ext4", &[]).unwrap();
    wait_until_stdin_closes(mount);
}

#[test]
#[ignore = "run by the others"]
fn cleans_up() {
    if !is_started_by_another() {
        return;
    }
    let cleaned = cleanup().unwrap();
    cleaned.undone.iter().for_each(|s| println!("undone: {s}"));
    cleaned.running.iter().for_each(|s| println!("running: {s}"));
    cleaned.failed.iter().for_each(|s| println!("failed: {s}"));
}

/// Starts `test` in a separate process and waits until it has created its resources.
fn victim(test: &str, run: &Path, set: impl FnOnce(&mut Command)) -> Child {
    let mut command = itself(&format!("teardown::{test}"), run);
    set(&mut command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(ready, "the victim ended before it was killed");
    child
}

fn kill(child: &mut Child) {
    kill_process(Pid::from_child(child), Signal::KILL).unwrap();
    child.wait().unwrap();
}
