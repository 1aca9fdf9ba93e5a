//! Compares bulk snapshots with snapshots by system calls.

use crate::common::{Loop, run, unmount};
use senesce_probe::{snapshot, snapshot_by_syscalls};
use snapshot::{Snapshot, diff};
use std::fs::{File, FileTimes};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longer than the two seconds, the coarsest timestamp of a file system, in which a change counts as recent.
const RECENT: Duration = Duration::from_millis(2300);

/// Waits until all changes made so far are no longer recent.
fn wait_until_not_recent() {
    let begun = Instant::now();
    testing::wait_until("changes that are no longer recent", || begun.elapsed() > RECENT);
}

/// A new ext4 with options, unmounted on drop.
struct Ext4 {
    at: PathBuf,
    disk: Loop,
    _dir: tempfile::TempDir,
}

impl Ext4 {
    fn new(mkfs: &[&str], mount: &str) -> Ext4 {
        let disk = Loop::new(256 << 20);
        run("mkfs.ext4", &[&["-q", "-F"], mkfs, &[&*disk.device]].concat());
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        run("mount", &["-t", "ext4", "-o", mount, &disk.device, dir.path().to_str().unwrap()]);
        Ext4 { at: dir.path().to_owned(), disk, _dir: dir }
    }

    /// How many of its files the bulk reader returns, and how many there are.
    fn bulk_count(&self, below: &str) -> (usize, usize) {
        let at = self.at.join(below);
        let mount = disk::mount_holding(&at.canonicalize().unwrap()).unwrap().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let files = run("find", &[at.to_str().unwrap(), "!", "-type", "d", "-printf", "%i\n"]);
        let mut inodes: Vec<u64> = files.lines().map(|line| line.parse().unwrap()).collect();
        inodes.sort_unstable();
        let mut bulk_count = 0;
        if let Some(bulk) = fs::bulk_reader(&mount, now) {
            bulk.read(&inodes, &mut |_, facts| bulk_count += usize::from(facts.is_some()));
        }
        (bulk_count, inodes.len())
    }
}

impl Ext4 {
    /// Mounts it read-only. For a moment after its unmount the kernel may still have it mounted for writing.
    fn mount_for_reading(&self) {
        testing::wait_until("a mount for reading", || {
            let mut mount = Command::new("mount");
            mount.args(["-t", "ext4", "-o", "ro", &self.disk.device]).arg(&self.at);
            mount.output().unwrap().status.success()
        });
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        unmount(&self.at);
    }
}

fn make(path: &Path, bytes: usize) -> File {
    std::fs::write(path, vec![7; bytes]).unwrap();
    File::options().write(true).open(path).unwrap()
}

/// Allocates blocks of a file, if the file system supports it, which takes extents.
fn allocate(arguments: &[&str]) {
    Command::new("fallocate").args(arguments).stderr(std::process::Stdio::null()).status().unwrap();
}

/// Creates files of all types.
fn fill(root: &Path) {
    std::fs::create_dir_all(root.join("dir/deeper")).unwrap();
    for (number, bytes) in [0, 1, 59, 60, 200, 4096, 5000, 40_000, 300_000].into_iter().enumerate() {
        make(&root.join(format!("plain{number}")), bytes);
    }
    // More extents than the inode can hold, then more than a block can hold, some of them unwritten.
    for (name, pieces) in [("few", 4), ("several", 9), ("many", 2000)] {
        let file = make(&root.join(name), 0);
        for piece in 0..pieces {
            file.write_all_at(b"x", piece * 16384).unwrap();
        }
        allocate(&["-o", "8192", "-l", "4096", root.join(name).to_str().unwrap()]);
    }
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    make(&root.join("behind"), 100);
    allocate(&["--keep-size", "-o", "1048576", "-l", "65536", &path("behind")]);
    allocate(&["-l", "3000000", &path("unwritten")]);
    make(&root.join("sparse"), 0).set_len(1 << 33).unwrap();
    make(&root.join("dir/p"), 9000);
    for name in ["q", "dir/deeper/r"] {
        std::fs::hard_link(root.join("dir/p"), root.join(name)).unwrap();
    }
    for (name, target) in [("fast", "p".repeat(40)), ("edge", "p".repeat(60)), ("slow", "p/".repeat(300))] {
        std::os::unix::fs::symlink(target, root.join(name)).unwrap();
    }
    run("mkfifo", &[&path("fifo")]);
    run("mknod", &[&path("character"), "c", "1", "3"]);
    run("mknod", &[&path("block"), "b", "7", "200"]);
    drop(std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap());
    for (name, seconds) in
        [("old", -3_000_000_000_i64), ("early", -5), ("far", 6_000_000_000), ("farther", 14_000_000_000)]
    {
        let file = make(&root.join(name), 10);
        let far = Duration::new(seconds.unsigned_abs(), 0);
        let time = if seconds < 0 { UNIX_EPOCH.checked_sub(far) } else { UNIX_EPOCH.checked_add(far) };
        file.set_times(FileTimes::new().set_modified(time.unwrap() + Duration::new(0, 123_456_789))).unwrap();
    }
    let tagged = make(&root.join("tagged"), 10);
    for (name, len) in [("user.in", 20), ("user.out", 700)] {
        rustix::fs::fsetxattr(&tagged, name, &vec![b'v'; len], rustix::fs::XattrFlags::empty()).unwrap();
    }
    std::fs::create_dir(root.join("large")).unwrap();
    for number in 0..1200 {
        make(&root.join(format!("large/{number:020}")), number % 3);
    }
}

/// Asserts that two snapshots are equal and names the differing file.
fn assert_same(bulk: &Snapshot, calls: &Snapshot, what: &str) {
    assert_eq!(bulk.entries().len(), calls.entries().len(), "{what}");
    for place in 0..calls.entries().len() as u32 {
        let facts = |of: &Snapshot| {
            let entry = of.entries()[place as usize].clone();
            (String::from_utf8(of.path(place)).unwrap(), entry, of.extents(place).to_vec())
        };
        assert_eq!(facts(bulk), facts(calls), "{what}");
    }
    let counts = |of: &Snapshot| (of.info().vanished, of.info().unmapped, of.info().other_fs);
    assert_eq!(counts(bulk), counts(calls), "{what}");
}

fn compare(root: &Path, what: &str) {
    let bulk = snapshot(root, "test", 3, None).unwrap();
    assert_same(&bulk, &snapshot_by_syscalls(root, "test", 3, None).unwrap(), what);
}

#[test]
fn bulk_reads_match_system_calls() {
    if !testing::is_root() {
        return;
    }
    // Description, mkfs options, mount options, and the percentage of files that the bulk reader returns.
    let kinds: [(&str, &[&str], &str, RangeInclusive<usize>); 9] = [
        ("default", &["-b", "4096", "-O", "metadata_csum,64bit"], "rw", 99..=100),
        ("small blocks", &["-b", "1024", "-O", "metadata_csum,^64bit"], "rw", 99..=100),
        ("old inodes", &["-I", "128", "-O", "metadata_csum"], "rw", 99..=100),
        ("large inodes", &["-b", "4096", "-I", "1024", "-O", "metadata_csum"], "rw", 99..=100),
        ("without extents", &["-O", "metadata_csum,^extent,^64bit"], "rw", 95..=99),
        ("inline data", &["-O", "metadata_csum,inline_data"], "rw", 20..=40),
        ("own seed", &["-O", "metadata_csum,metadata_csum_seed,large_dir,ea_inode"], "rw", 99..=100),
        ("no checksums", &["-O", "^metadata_csum"], "rw", 0..=0),
        ("lazy times", &["-O", "metadata_csum"], "lazytime", 0..=0),
    ];
    let made: Vec<_> = kinds.iter().map(|(_, mkfs, mount, _)| Ext4::new(mkfs, mount)).collect();
    for (ext4, (kind, ..)) in made.iter().zip(&kinds) {
        fill(&ext4.at.join("."));
        // While all changes are recent.
        compare(&ext4.at, kind);
    }
    wait_until_not_recent();
    for (ext4, (kind, _, _, part)) in made.iter().zip(&kinds) {
        run("sync", &["-f", ext4.at.to_str().unwrap()]);
        let (bulk_count, of) = ext4.bulk_count("");
        assert!(part.contains(&(bulk_count * 100 / of)), "{kind}: {bulk_count} of {of}");
        compare(&ext4.at, kind);
        compare(&ext4.at.join("dir/deeper"), kind);
        // From disk only, too.
        unmount(&ext4.at);
        ext4.mount_for_reading();
        compare(&ext4.at, kind);
    }
}

#[test]
fn files_hidden_by_a_mount_are_not_read() {
    if !testing::is_root() {
        return;
    }
    let ext4 = Ext4::new(&["-O", "metadata_csum"], "rw");
    for name in ["kept", "hidden", "other"] {
        make(&ext4.at.join(name), 10);
    }
    std::fs::create_dir(ext4.at.join("below")).unwrap();
    wait_until_not_recent();
    let at = |name: &str| ext4.at.join(name).to_str().unwrap().to_owned();
    run("mount", &["--bind", &at("other"), &at("hidden")]);
    run("mount", &["-t", "tmpfs", "none", &at("below")]);
    let taken = (snapshot(&ext4.at, "test", 2, None), snapshot_by_syscalls(&ext4.at, "test", 2, None));
    for name in ["hidden", "below"] {
        run("umount", &[&at(name)]);
    }
    let taken = (taken.0.unwrap(), taken.1.unwrap());
    assert_same(&taken.0, &taken.1, "mounted on");
    assert_eq!(taken.0.info().other_fs, 2);
    assert_eq!(ext4.bulk_count(""), (3, 3));
}

/// Ends a thread on drop, even if the test fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn bulk_reads_are_consistent_while_files_change() {
    if !testing::is_root() {
        return;
    }
    let ext4 = Ext4::new(&["-O", "metadata_csum"], "rw");
    std::fs::create_dir(ext4.at.join("still")).unwrap();
    std::fs::create_dir(ext4.at.join("used")).unwrap();
    for number in 0..500 {
        make(&ext4.at.join(format!("still/{number}")), 5000);
        make(&ext4.at.join(format!("used/{number}")), 5000);
    }
    wait_until_not_recent();
    let still = snapshot_by_syscalls(&ext4.at.join("still"), "test", 1, None).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in (0..500).cycle() {
                if ended.load(Relaxed) {
                    return;
                }
                let path = ext4.at.join(format!("used/{turn}"));
                match turn % 4 {
                    0 => drop(std::fs::remove_file(&path)),
                    1 => drop(make(&path, turn * 10)),
                    2 => drop(make(&path, 0).set_len(turn as u64)),
                    _ => drop(std::fs::rename(&path, ext4.at.join(format!("used/{}", turn + 1)))),
                }
            }
        });
        let _end = End(&ended);
        for _ in 0..8 {
            let all = snapshot(&ext4.at, "test", 3, None).unwrap();
            assert_eq!(diff(&all, &all), []);
            // Unchanged files next to changing ones keep their attributes.
            let taken = snapshot(&ext4.at.join("still"), "test", 3, None).unwrap();
            assert_same(&taken, &still, "still");
            assert_eq!(diff(&still, &taken), []);
        }
    });
    wait_until_not_recent();
    compare(&ext4.at, "used");
}
