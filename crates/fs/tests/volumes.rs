//! Creates, fills, checks and removes every file system, compares its free space with other programs, and checks that nothing is left
//! behind.

use disk::{DeviceCounters, Extent, Session, cleanup, command, mount_points, run_dir};
use senesce_fs::{
    DirTarget, FileSystem, Location, Target, VolumeConfig, can_mount, copy_tree, delete_snapshot, find,
    kinds, open, take_snapshot, walk,
};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

/// The file systems of the kernel. The served ones are tested with the command line program.
fn kernel_file_systems() -> impl Iterator<Item = &'static dyn FileSystem> {
    let served = |kind: &&dyn FileSystem| kind.fuse_server(Path::new("/dev/null"), &[]).is_some();
    kinds().iter().copied().filter(move |kind| !served(kind) && is_in_kernel(*kind))
}

fn is_in_kernel(kind: &dyn FileSystem) -> bool {
    let found = can_mount(kind);
    if !found {
        testing::skip(kind.name(), "the kernel does not have it");
    }
    found
}

fn config(kind: &dyn FileSystem, dir: &Path) -> VolumeConfig {
    let image = Location::Image(dir.join(format!("{}.img", kind.name())));
    VolumeConfig { read_ahead_kb: 64, ..VolumeConfig::new(image, kind.name(), 320 * MIB) }
}

fn make(session: &Arc<Session>, config: &VolumeConfig) -> Result<Box<dyn Target>, senesce_fs::Error> {
    senesce_fs::make(session, &mut config.clone(), None)
}

fn attached_in(dir: &Path) -> bool {
    let list = Command::new("losetup").args(["-l", "-n", "-O", "BACK-FILE"]).output().unwrap();
    String::from_utf8_lossy(&list.stdout).contains(dir.to_str().unwrap())
}

/// Creates many files of a few blocks and deletes every other one, to fragment free space.
fn fragment(root: &Path) {
    for i in 0..4000 {
        std::fs::write(root.join(i.to_string()), vec![1; 4096 * (1 + i % 5)]).unwrap();
    }
    rustix::fs::syncfs(std::fs::File::open(root).unwrap()).unwrap();
    for i in (0..4000).step_by(2) {
        std::fs::remove_file(root.join(i.to_string())).unwrap();
    }
}

fn tool(line: &str, last: &Path) -> String {
    let mut words = line.split(' ');
    let output = command(words.next().unwrap()).args(words).arg(last).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn sum(extents: &[Extent]) -> u64 {
    extents.iter().map(|e| e.len_bytes).sum()
}

fn well_formed(extents: &[Extent]) -> bool {
    extents.is_sorted() && extents.windows(2).all(|w| w[0].end_bytes() <= w[1].start_bytes)
}

/// A session, and a directory in memory for images; `None` without root.
fn begin_in_memory() -> Option<(Arc<Session>, tempfile::TempDir)> {
    testing::is_root().then(|| (Session::begin().unwrap(), testing::dir_in_memory()))
}

#[test]
fn each_file_system_is_made_measured_and_removed() {
    testing::in_own_process(|| {
        if !testing::is_root() {
            return;
        }
        let session = Session::begin().unwrap();
        // On a disk, because files in tmpfs cannot be made cold.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for kind in kernel_file_systems() {
            let config = config(kind, dir.path());
            let mut target = make(&session, &config).unwrap();
            let line = target.mkfs_command().unwrap();
            assert!(line.starts_with(&format!("mkfs.{} ", kind.name())), "{line}");
            assert_eq!((target.kind_name(), target.block_bytes()), (kind.name(), 4096));
            assert!(target.version().contains("; Linux ") && !target.version().contains("not installed"));
            fragment(target.root());
            let root = target.root().to_owned();
            let messages = target.drop_caches().unwrap();
            assert!(messages.iter().any(|s| s.ends_with("none left")), "{messages:?}");
            assert_eq!(std::fs::read(root.join("1")).unwrap(), [1; 8192]);
            assert_eq!(read_ahead_kb(target.as_ref()), "64");
            let check = target.check().unwrap().unwrap();
            assert!(check.clean, "{}: {}", check.command, check.output);
            assert!(root.join("1").exists());
            target.close().unwrap();
            assert!(!attached_in(dir.path()) && !root.exists());
            let again = open(&session, &config).unwrap();
            assert!(again.root().join("1").exists() && again.mkfs_command().is_none());
            let copy = make(&session, &config.at(Location::Image(dir.path().join("copy.img")))).unwrap();
            let copied = copy_tree(again.root(), copy.root()).unwrap();
            assert_eq!((copied.files, copied.bytes), (2000, 2000 * 3 * 4096));
            drop((again, copy));
            assert!(!attached_in(dir.path()));
            for image in ["copy", kind.name()] {
                std::fs::remove_file(dir.path().join(format!("{image}.img"))).unwrap();
            }
        }
        assert!(mount_points("self").unwrap().iter().all(|mount| !mount.dir.starts_with(run_dir())));
    });
}

/// The relative paths that a walk visits.
fn walked(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    walk(root, |entry| {
        paths.push(entry.path.to_str().unwrap().to_owned());
        Ok(())
    })
    .unwrap();
    paths
}

fn free_bytes(target: &dyn Target) -> u64 {
    sum(&target.free_extents().unwrap().unwrap())
}

#[test]
fn snapshots_of_btrfs_keep_blocks_and_are_not_walked() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        let kind = find("btrfs").unwrap();
        if !is_in_kernel(kind) {
            return;
        }
        let target = make(&session, &config(kind, dir.path())).unwrap();
        let file = target.root().join("file");
        std::fs::write(&file, vec![1; 8 << 20]).unwrap();
        take_snapshot(target.as_ref(), 0x1f).unwrap();
        std::fs::write(&file, "new").unwrap();
        let kept = target.root().join(tree::SNAPSHOTS).join("s1f/file");
        assert_eq!(std::fs::metadata(&kept).unwrap().len(), 8 << 20);
        assert!(std::fs::write(&kept, "").is_err(), "it is read-only");
        assert_eq!(walked(target.root()), ["file"]);
        let again = take_snapshot(target.as_ref(), 0x1f).unwrap_err().to_string();
        assert!(again.contains("taking a snapshot of"), "{again}");

        target.sync().unwrap();
        let before = free_bytes(target.as_ref());
        delete_snapshot(target.as_ref(), 0x1f).unwrap();
        let freed = free_bytes(target.as_ref()) - before;
        assert!(freed >= 8 << 20, "{freed} bytes");
        let gone = delete_snapshot(target.as_ref(), 0x1f).unwrap_err().to_string();
        assert!(gone.contains("deleting a snapshot of"), "{gone}");

        let tree = DirTarget::make(target.root()).unwrap();
        let no_subvolume = take_snapshot(&tree, 1).unwrap_err().to_string();
        assert!(no_subvolume.contains("ubvolume"), "{no_subvolume}");
        target.close().unwrap();
    });
}

#[test]
fn snapshots_are_refused_where_there_are_none() {
    let dir = testing::dir_in_memory();
    let target = DirTarget::open_any(dir.path()).unwrap();
    for refused in [take_snapshot(&target, 1), delete_snapshot(&target, 1)] {
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("tmpfs has no snapshots") && message.contains("use btrfs or zfs"),
            "{message}"
        );
    }
}

#[test]
fn read_ahead_can_be_turned_off() {
    testing::in_own_process(|| {
        // In memory `mkfs` makes requests that the image does not support, so that limits of its device change.
        let Some((session, dir)) = begin_in_memory() else { return };
        for kind in kernel_file_systems() {
            let config = VolumeConfig { read_ahead_kb: 0, ..config(kind, dir.path()) };
            let mut target = make(&session, &config).unwrap();
            assert_eq!(read_ahead_kb(target.as_ref()), "0", "{}", kind.name());
            target.drop_caches().unwrap();
            assert_eq!(read_ahead_kb(target.as_ref()), "0", "{}", kind.name());
            target.close().unwrap();
            std::fs::remove_file(config.location.path()).unwrap();
        }
    });
}

#[test]
fn unused_extents_can_be_overwritten() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        for kind in kernel_file_systems() {
            let config = config(kind, dir.path());
            let target = make(&session, &config).unwrap();
            fragment(target.root());
            target.close().unwrap();
            let target = open(&session, &config.read_only()).unwrap();
            let unused = target.unused_extents().unwrap();
            target.close().unwrap();
            let Some(unused) = unused else {
                println!("{} does not tell what it does not use", kind.name());
                continue;
            };
            assert!(
                sum(&unused) > 200 * MIB && sum(&unused) < 320 * MIB,
                "{}: {}",
                kind.name(),
                sum(&unused)
            );
            let path = config.location.path();
            let image = std::fs::File::options().write(true).open(path).unwrap();
            for extent in &unused {
                let bytes = vec![0x5a; extent.len_bytes as usize];
                std::os::unix::fs::FileExt::write_all_at(&image, &bytes, extent.start_bytes).unwrap();
            }
            drop(image);
            let mut target = open(&session, &config).unwrap();
            for i in (1..4000).step_by(2) {
                let read = std::fs::read(target.root().join(i.to_string())).unwrap();
                assert_eq!(read, vec![1; 4096 * (1 + i % 5)], "{}: {i}", kind.name());
            }
            // Reuse the free space.
            for i in (0..4000).step_by(2) {
                std::fs::write(target.root().join(i.to_string()), [2; 5000]).unwrap();
            }
            let check = target.check().unwrap().unwrap();
            assert!(check.clean, "{}: {}", check.command, check.output);
            target.close().unwrap();
            std::fs::remove_file(path).unwrap();
        }
    });
}

#[test]
fn dirty_limit_throttles_writes() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        for kind in kernel_file_systems() {
            if kind.name() == "bcachefs" {
                println!("{} cannot be limited", kind.name());
                continue;
            }
            let target = make(&session, &config(kind, dir.path())).unwrap();
            let setting = kind.bdi_dir(target.root()).unwrap().join("strict_limit");
            let is_strict = || std::fs::read_to_string(&setting).unwrap().trim() == "1";
            let (_, devno) = target.device().unwrap();
            let written = || DeviceCounters::read(devno).unwrap().written_bytes;
            let before = written();
            let limit = target.limit_dirty(4 * MIB).unwrap();
            assert!(is_strict(), "{}", kind.name());
            std::fs::write(target.root().join("much"), vec![7; 64 * MIB as usize]).unwrap();
            let reached = written() - before;
            assert!(reached > 32 * MIB, "{}: of 64 MiB {reached} bytes were written", kind.name());
            drop(limit);
            assert!(!is_strict(), "{}", kind.name());
            target.close().unwrap();
        }
        let others = DirTarget::open_any(dir.path()).unwrap();
        assert!(others.limit_dirty(MIB).unwrap_err().to_string().contains("name an image"));
    });
}

/// The read-ahead of the tree: that of the device, or of the file system if it has its own.
fn read_ahead_kb(target: &dyn Target) -> String {
    let (device, _) = target.device().unwrap();
    let own = || {
        if target.kind_name() == "bcachefs" {
            let settings = std::fs::read_dir("/sys/class/bdi").unwrap().map(|entry| entry.unwrap().path());
            let number = |path: &PathBuf| path.to_str()?.split_once("bcachefs-")?.1.parse::<u64>().ok();
            let newest = settings.max_by_key(number).unwrap();
            return std::fs::read_to_string(newest.join("read_ahead_kb"));
        }
        let id = tool("blkid -o value -s UUID", &device);
        std::fs::read_to_string(format!("/sys/fs/btrfs/{}/bdi/read_ahead_kb", id.trim()))
    };
    let name = device.file_name().unwrap().to_str().unwrap();
    let device = || std::fs::read_to_string(format!("/sys/block/{name}/queue/read_ahead_kb")).unwrap();
    own().unwrap_or_else(|_| device()).trim().to_owned()
}

#[test]
fn ext4_free_space_matches_e2freefrag() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        let mut target = make(&session, &config(find("ext4").unwrap(), dir.path())).unwrap();
        fragment(target.root());
        // e2freefrag reads the device, not the mounted file system; and unmounting releases space that was preallocated for growth.
        target.drop_caches().unwrap();
        let free = target.free_extents().unwrap().unwrap();
        assert!(well_formed(&free) && free.len() > 500, "{}", free.len());
        let device = target.device().unwrap().0;
        let report = tool("e2freefrag", &device);
        let blocks: u64 = number_after(&report, "Free blocks:");
        assert_eq!(sum(&free), blocks * 4096, "{report}");
        // e2freefrag splits extents at block groups, of which this file system has three.
        let count = number_after(&report, "Num. free extent:") as i64;
        assert!((count - free.len() as i64).abs() <= 3, "{count} {}\n{report}", free.len());
    });
}

#[test]
fn xfs_free_space_matches_xfs_spaceman() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        let mut target = make(&session, &config(find("xfs").unwrap(), dir.path())).unwrap();
        fragment(target.root());
        // XFS frees deleted space in the background.
        target.drop_caches().unwrap();
        let free = target.free_extents().unwrap().unwrap();
        assert!(well_formed(&free) && free.len() > 500, "{}", free.len());
        let output = command("xfs_spaceman").args(["-c", "freesp -s"]).arg(target.root()).output().unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let reported =
            (number_after(&report, "total free extents"), number_after(&report, "total free blocks") * 4096);
        assert_eq!((free.len() as u64, sum(&free)), reported, "{report}");
    });
}

#[test]
fn btrfs_free_space_matches_data_block_groups() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        let target = make(&session, &config(find("btrfs").unwrap(), dir.path())).unwrap();
        let compare = |least: usize| {
            let free = target.free_extents().unwrap().unwrap();
            assert!(well_formed(&free) && free.len() >= least, "{}", free.len());
            let report = tool("btrfs filesystem df -b", target.root());
            let line = report.lines().find(|l| l.starts_with("Data")).unwrap();
            assert_eq!(sum(&free), number_after(line, "total=") - number_after(line, "used="), "{report}");
        };
        compare(1);
        fragment(target.root());
        compare(500);
        let tree = tool("btrfs inspect-internal dump-tree -t 10", &target.device().unwrap().0);
        assert!(tree.contains("FREE_SPACE_BITMAP"), "the test must cover bitmaps");
    });
}

fn number_after(text: &str, label: &str) -> u64 {
    let rest = &text[text.find(label).unwrap_or_else(|| panic!("no {label} in {text}")) + label.len()..];
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

#[test]
fn failed_make_leaves_nothing_behind() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        for kind in kernel_file_systems() {
            let small = VolumeConfig { size_bytes: MIB, ..config(kind, dir.path()) };
            let message = make(&session, &small).err().unwrap().to_string();
            assert!(message.starts_with(&format!("{} needs at least", kind.name())), "{message}");
            let wrong = VolumeConfig { mkfs_opts: vec!["--nonsense".into()], ..config(kind, dir.path()) };
            let message = make(&session, &wrong).err().unwrap().to_string();
            assert!(message.contains("--nonsense") && message.contains("option"), "{message}");
            let wrong = VolumeConfig { mount_opts: vec!["nonsense".into()], ..config(kind, dir.path()) };
            // bcachefs ignores unknown options.
            if kind.name() != "bcachefs" {
                let message = make(&session, &wrong).err().unwrap().to_string();
                assert!(message.contains("mounting /dev/loop") && message.contains("nonsense"), "{message}");
            }
            let least = VolumeConfig { size_bytes: kind.min_size_bytes(), ..config(kind, dir.path()) };
            make(&session, &least).unwrap().close().unwrap();
            std::fs::remove_file(dir.path().join(format!("{}.img", kind.name()))).unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(!attached_in(dir.path()));
    });
}

#[test]
fn oversized_copy_reports_no_space() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        std::fs::write(dir.path().join("large"), vec![1; 40 << 20]).unwrap();
        let images = testing::dir_in_memory();
        let small = VolumeConfig { size_bytes: 32 * MIB, ..config(find("ext4").unwrap(), images.path()) };
        let target = make(&session, &small).unwrap();
        let message = copy_tree(dir.path(), target.root()).unwrap_err().to_string();
        assert!(message.contains("no space left after"), "{message}");
    });
}

#[test]
fn read_only_mount_does_not_change_the_image() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        for kind in kernel_file_systems() {
            let written = config(kind, dir.path());
            let target = make(&session, &written).unwrap();
            std::fs::write(target.root().join("file"), "contents").unwrap();
            let image = written.location.path();
            // A copy while mounted has the state after a crash.
            rustix::fs::syncfs(std::fs::File::open(target.root()).unwrap()).unwrap();
            let unclean = dir.path().join("unclean.img");
            std::fs::copy(image, &unclean).unwrap();
            target.close().unwrap();
            let read_only = |image: PathBuf| config(kind, dir.path()).at(Location::Image(image)).read_only();
            let before = std::fs::read(image).unwrap();
            let target = open(&session, &read_only(image.to_owned())).unwrap();
            assert_eq!(std::fs::read(target.root().join("file")).unwrap(), b"contents");
            target.close().unwrap();
            assert!(std::fs::read(image).unwrap() == before, "{} wrote to it", kind.name());
            if let Err(refused) = open(&session, &read_only(unclean.clone())) {
                assert!(refused.to_string().contains("mount it once"), "{refused}");
            }
            for image in [image, &unclean] {
                std::fs::remove_file(image).unwrap();
            }
        }
    });
}

#[test]
fn devices_require_erase_and_foreign_ones_open_read_only() {
    testing::in_own_process(|| {
        let Some((session, dir)) = begin_in_memory() else { return };
        let image = disk::Image::create(&dir.path().join("disk.img"), 64 * MIB).unwrap();
        let disk = disk::LoopDevice::attach(&session, image.path(), 128).unwrap();
        let name = disk.device().to_str().unwrap().to_owned();
        let device = Location::Device(disk.device().to_owned());
        let device =
            VolumeConfig { size_bytes: 32 * MIB, ..config(find("ext4").unwrap(), dir.path()) }.at(device);
        let make = |erase: Option<&str>| senesce_fs::make(&session, &mut device.clone(), erase);
        assert!(make(None).err().unwrap().to_string().contains("--erase"));
        let target = make(Some(&name)).unwrap();
        assert!(rustix::fs::statvfs(target.root()).unwrap().f_blocks * 4096 < 32 * MIB);
        assert!(make(Some(&name)).err().unwrap().to_string().contains("mounted"));
        target.close().unwrap();
        // The label is that of this program, so it may be written without `--erase`.
        let target = open(&session, &device).unwrap();
        std::fs::write(target.root().join("file"), "").unwrap();
        drop(target);
        assert!(command("e2label").arg(&name).arg("photos").status().unwrap().success());
        let target = open(&session, &device).unwrap();
        assert!(std::fs::write(target.root().join("file"), "").is_err());
        let ahead =
            std::fs::read_to_string(format!("/sys/block/{}/queue/read_ahead_kb", &name[5..])).unwrap();
        assert_eq!(ahead.trim(), "64");
        target.close().unwrap();
        let ahead =
            std::fs::read_to_string(format!("/sys/block/{}/queue/read_ahead_kb", &name[5..])).unwrap();
        assert_eq!(ahead.trim(), "128");
    });
}

#[test]
fn cleanup_removes_the_file_system_of_a_killed_run() {
    if !testing::is_root() {
        return;
    }
    let dir = testing::dir_in_memory();
    let run = testing::dir_in_memory();
    let run_test = |test: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--ignored", "--nocapture"]);
        command.env("SENESCE_RUN_DIR", run.path()).env("SENESCE_TEST_DIR", dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    };
    let mut child = run_test("makes_file_system_and_waits").spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("ready")));
    assert!(attached_in(dir.path()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(run_test("cleans_up").status().unwrap().success());
    assert!(!attached_in(dir.path()));
    assert!(mount_points("self").unwrap().iter().all(|m| !m.dir.starts_with(run.path())));
    assert_eq!(std::fs::read_dir(run.path()).unwrap().count(), 0);
}

#[test]
#[ignore = "run and killed by another test"]
fn makes_file_system_and_waits() {
    let Some(dir) = std::env::var_os("SENESCE_TEST_DIR") else { return };
    let target = make(&Session::begin().unwrap(), &config(find("xfs").unwrap(), Path::new(&dir))).unwrap();
    println!("ready");
    // Waits until it is killed.
    std::io::stdin().read_line(&mut String::new()).unwrap();
    drop(target);
}

#[test]
#[ignore = "run by another test"]
fn cleans_up() {
    assert_eq!(cleanup().unwrap().failed, [""; 0]);
}
