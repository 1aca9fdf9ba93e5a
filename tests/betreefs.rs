//! betreefs as a user sees it: creating, mounting, using, killing, filling and checking; aging and comparing.

use crate::common::{Lab, is_root, text, wait_for_end};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system mounted on a directory of the lab.
pub struct Mounted<'a> {
    lab: &'a Lab,
    dir: PathBuf,
}

impl<'a> Mounted<'a> {
    pub fn new(lab: &'a Lab, image: &str, options: &str) -> Mounted<'a> {
        let dir = lab.path().join("mnt");
        std::fs::create_dir_all(&dir).unwrap();
        lab.run(&format!("betreefs mount {image} mnt {options}"));
        Mounted { lab, dir }
    }

    /// The server process.
    fn server(&self) -> i32 {
        let here = self.dir.to_str().unwrap();
        let ours = |pid: &i32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            text(&line).contains("--foreground") && text(&line).contains(here)
        };
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(ours).expect("a server runs")
    }

    pub fn unmount(self) {
        let server = self.server();
        self.umount();
        // The store is closed when the server has ended.
        wait_for_end(server as u32);
    }

    fn umount(&self) {
        let output = Command::new("umount").arg(&self.dir).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Leftover of a failed test.
        let _ = Command::new("umount").args(["-l", "-q"]).arg(&self.dir).output();
        let _ = self.lab;
    }
}

pub fn has_fuse() -> bool {
    let fuse = Path::new("/dev/fuse").exists();
    if !fuse {
        testing::skip("/dev/fuse", "load the kernel module fuse");
    }
    is_root() && fuse
}

/// Runs a shell script in a directory.
fn shell(dir: &Path, script: &str) -> String {
    let output = Command::new("sh").args(["-euc", script]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{script}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn user_operations_persist() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run("betreefs mkfs disk.img --size 256MiB");
    let mounted = Mounted::new(&lab, "disk.img", "-o cache_mib=32");
    let dir = mounted.dir.clone();
    // A second mount would corrupt the file system.
    lab.refused_with("betreefs mount disk.img mnt", "it is mounted on");
    lab.refused_with("betreefs check disk.img", "another process has it open");
    let make = "mkdir -p a/b; for i in $(seq 200); do echo $i > a/b/$i; done; mv a/b a/c; rm a/c/1??; \
                ln a/c/1 hard; ln -s a/c/2 soft; mkfifo pipe; chmod 640 a/c/3; chown 7:8 a/c/3; touch -d @1.5 a/c/4; \
                touch -d @-0.25 a/c/5; \
                truncate -s 5T sparse; echo end >> sparse; mkdir gone; rmdir gone; cp -a a copy; diff -r a copy";
    shell(&dir, make);
    let name = vec![0xff; 255];
    let odd = dir.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&name));
    std::fs::write(&odd, "odd").unwrap();
    rustix::fs::setxattr(&odd, c"user.x", b"y", rustix::fs::XattrFlags::empty()).unwrap();
    // An open file without a name.
    let mut unnamed = std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(dir.join("unnamed"))
        .unwrap();
    std::fs::remove_file(dir.join("unnamed")).unwrap();
    unnamed.write_all(b"still here").unwrap();
    let mut read = vec![0; 10];
    unnamed.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read, b"still here");
    drop(unnamed);
    mounted.unmount();
    let checked = lab.json("betreefs check disk.img");
    assert_eq!(
        (&checked["clean"], &checked["unmounted"], &checked["files_without_a_name"]),
        (&true.into(), &true.into(), &0.into())
    );
    // A read-only mount does not change the image.
    let before = std::fs::read(lab.path().join("disk.img")).unwrap();
    let mounted = Mounted::new(&lab, "disk.img", "-o ro");
    shell(&dir, "diff -r a copy; cmp hard a/c/1");
    assert!(std::fs::write(dir.join("new"), "").is_err());
    let three = std::fs::metadata(dir.join("a/c/3")).unwrap();
    assert_eq!((three.permissions().mode() & 0o777, three.uid(), three.gid()), (0o640, 7, 8));
    let four = std::fs::metadata(dir.join("a/c/4")).unwrap();
    assert_eq!((four.mtime(), four.mtime_nsec()), (1, 500_000_000));
    // The copy kept what it was given.
    for five in ["a/c/5", "copy/c/5"] {
        let five = std::fs::metadata(dir.join(five)).unwrap();
        assert_eq!((five.mtime(), five.mtime_nsec()), (-1, 750_000_000));
    }
    assert_eq!(std::fs::metadata(dir.join("hard")).unwrap().nlink(), 2);
    assert_eq!(std::fs::read_to_string(dir.join("soft")).unwrap(), "2\n");
    let sparse = std::fs::metadata(dir.join("sparse")).unwrap();
    assert!(sparse.len() == (5 << 40) + 4 && sparse.blocks() < 1024, "{sparse:?}");
    let mut value = [0; 8];
    assert_eq!(rustix::fs::getxattr(&odd, c"user.x", &mut value[..]).unwrap(), 1);
    mounted.unmount();
    assert!(
        std::fs::read(lab.path().join("disk.img")).unwrap() == before,
        "a read-only mount wrote to the image"
    );
    assert!(lab.json("betreefs stat disk.img")["free_slots"].as_u64().unwrap() > 100);
    lab.nothing_left();
}

#[test]
fn synced_data_survives_a_kill() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run("betreefs mkfs disk.img --size 128MiB");
    let mounted = Mounted::new(&lab, "disk.img", "");
    let dir = mounted.dir.clone();
    for i in 0..50 {
        let mut file = std::fs::File::create(dir.join(format!("{i}.new"))).unwrap();
        file.write_all(&vec![i; 5000]).unwrap();
        file.sync_all().unwrap();
        std::fs::rename(dir.join(format!("{i}.new")), dir.join(i.to_string())).unwrap();
    }
    std::fs::File::open(&dir).unwrap().sync_all().unwrap();
    let server = mounted.server();
    let pid = rustix::process::Pid::from_raw(server).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for_end(server as u32);
    testing::wait_until("the end of the connection", || std::fs::metadata(dir.join("0")).is_err());
    // `cleanup` removes a mount without a server.
    assert!(lab.run("cleanup").contains("unmounted"));
    std::mem::forget(mounted);
    assert_eq!(lab.json("betreefs check disk.img")["unmounted"], false);
    let mounted = Mounted::new(&lab, "disk.img", "");
    for i in 0..50 {
        assert!(
            std::fs::read(dir.join(i.to_string())).unwrap() == vec![i; 5000],
            "{i} differs from the synced data"
        );
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 50);
    mounted.unmount();
    assert_eq!(lab.json("betreefs check disk.img")["clean"], true);
    lab.nothing_left();
}

#[test]
fn full_file_system_returns_enospc_and_deleting_frees_space() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run("betreefs mkfs disk.img --size 64MiB");
    let mounted = Mounted::new(&lab, "disk.img", "");
    let dir = mounted.dir.clone();
    let fill = || -> usize {
        let mut written = 0;
        for i in 0.. {
            match std::fs::write(dir.join(format!("f{i}")), vec![1; 1 << 20]) {
                Ok(()) => written += 1,
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(28), "{error}");
                    break;
                }
            }
        }
        written
    };
    let first = fill();
    // A small store reserves much of its space for deletions.
    assert!(first >= 16, "{first} MiB fit into 64");
    let room = rustix::fs::statvfs(&dir).unwrap();
    assert!(room.f_bavail * room.f_frsize < 2 << 20);
    shell(&dir, "rm f*");
    // Space is freed at once when the deleted files are out of the tree, which happens in the background.
    let second =
        testing::wait_for("the room of the deleted files", || Some(fill()).filter(|files| *files > 0));
    assert!(second * 10 >= first * 9, "{second} MiB after {first}");
    let mut file = std::fs::File::open(dir.join("f0")).unwrap();
    let mut data = Vec::new();
    file.read_to_end(&mut data).unwrap();
    assert!(data == vec![1; 1 << 20]);
    drop(file);
    mounted.unmount();
    assert_eq!(lab.json("betreefs check disk.img")["clean"], true);
}

#[test]
fn other_files_are_refused_and_unchanged() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("text"), vec![b'x'; 1 << 20]).unwrap();
    std::fs::create_dir(lab.path().join("mnt")).unwrap();
    lab.refused("betreefs mkfs text", "erases all data on it; confirm with --erase text");
    lab.refused("betreefs mkfs new.img", "give --size");
    lab.refused("betreefs mkfs new.img --size 1MiB", "at least 16 MiB");
    lab.refused("betreefs check text", "text");
    lab.refused("betreefs stat text", "text");
    lab.refused("betreefs mount text mnt", "text");
    lab.refused("betreefs mount text mnt -o compress", "unknown betreefs option compress");
    lab.refused("betreefs mount nothing mnt", "nothing");
    assert_eq!(std::fs::read(lab.path().join("text")).unwrap(), vec![b'x'; 1 << 20]);
}

#[test]
fn mount_helper_works() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    lab.run("betreefs mkfs disk.img --size 32MiB");
    let dir = lab.path().join("mnt");
    std::fs::create_dir(&dir).unwrap();
    // The way `mount -t fuse.betreefs` calls /sbin/mount.fuse.betreefs.
    let helper = lab.path().join("mount.fuse.betreefs");
    symlink(env!("CARGO_BIN_EXE_senesce"), &helper).unwrap();
    let mut command = Command::new(&helper);
    command.arg(lab.path().join("disk.img")).arg(&dir).args(["-o", "rw,nosuid,noatime"]);
    let output = command.env("SENESCE_RUN_DIR", lab.path().join("run")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mounted = Mounted { lab: &lab, dir: dir.clone() };
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().find(|line| line.contains(dir.to_str().unwrap())).unwrap();
    assert!(line.contains("nosuid") && line.contains("fuse.betreefs"), "{line}");
    mounted.unmount();
}

#[test]
fn betreefs_is_aged_and_compared() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    needs!("ext4");
    lab.run("age --fs betreefs --size 256MiB --disk hdd-7200 --intrafile 50 --every 50 --work work");
    lab.nothing_left();
    lab.run("age --fs betreefs --size 128MiB --profile agrawal --fullness 0.25 --overwrites 1 --name b --work work");
    let compared = lab.json("compare b --work work");
    assert!(compared.to_string().contains("aged"), "{compared}");
    let probed = lab.json("probe scan work/b.img");
    assert!(probed["census"]["files"].as_u64().unwrap() > 50, "{probed}");
    lab.refused_with("probe layout work/b.img", "does not report file extents");
    lab.refused_with("probe free-space work/b.img", "does not report free extents");
    assert_eq!(lab.json("betreefs check work/b.img")["clean"], true);
    lab.nothing_left();
}

#[test]
fn fusermount_mounts_without_root() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    if !testing::has_tool("fusermount3") {
        return;
    }
    // In a private mount namespace every user may open the FUSE device, as with the default rules of udev. The program is bound to a path
    // that the user can reach.
    let script = "mknod -m 666 fuse c 10 229; mount --bind fuse /dev/fuse; touch senesce; mount --bind $SENESCE senesce
        mkdir mnt run; chmod 755 .; chown 65534:65534 . mnt run
        somebody() { setpriv --reuid=65534 --regid=65534 --clear-groups env SENESCE_RUN_DIR=$PWD/run HOME=$PWD \"$@\"; }
        somebody ./senesce betreefs mkfs disk.img --size 64MiB
        somebody ./senesce betreefs mount disk.img mnt
        grep fuse.betreefs /proc/self/mountinfo | grep user_id=65534
        somebody sh -euc 'mkdir mnt/a; echo text > mnt/a/b; chmod 600 mnt/a/b; mv mnt/a mnt/c; ln mnt/c/b mnt/d; stat -c %u:%a mnt/d'
        if ls mnt; then echo others see it; exit 1; fi
        somebody fusermount3 -u mnt
        tries=0
        again() { tries=$((tries + 1)); [ $tries -lt 12000 ]; sleep 0.01; }
        until somebody ./senesce betreefs check disk.img; do again; done
        setpriv --reuid=65534 --regid=65534 --clear-groups env SENESCE_RUN_DIR=$PWD/run ./senesce betreefs mount --foreground -o ro disk.img mnt & server=$!
        until grep -q \" $PWD/mnt \" /proc/self/mountinfo; do again; done
        somebody cat mnt/d
        kill $server
        wait $server
        if grep \" $PWD/mnt \" /proc/self/mountinfo; then exit 1; fi";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", script]).current_dir(lab.path());
    let output = command.env("SENESCE", env!("CARGO_BIN_EXE_senesce")).output().unwrap();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{complained}");
    assert!(said.contains("65534:600") && said.ends_with("text\n"), "{said}{complained}");
}

/// Set `SENESCE_TEST_FILES=10000000` for that many files.
#[test]
fn memory_stays_within_budget_for_any_number_of_files() {
    let lab = Lab::new();
    if !has_fuse() {
        return;
    }
    let files: u64 = std::env::var("SENESCE_TEST_FILES").map_or(30_000, |n| n.parse().unwrap());
    lab.run(&format!("betreefs mkfs disk.img --size {}GiB", 2 + files / 400_000));
    let mounted = Mounted::new(&lab, "disk.img", "-o cache_mib=64");
    for i in 0..files {
        let dir = mounted.dir.join((i / 2000).to_string());
        if i % 2000 == 0 {
            std::fs::create_dir(&dir).unwrap();
        }
        std::fs::write(dir.join(i.to_string()), "a small file").unwrap();
    }
    // Reads the attributes of all files once more.
    assert_eq!(shell(&mounted.dir, "find . -type f -size -2 | wc -l").trim(), files.to_string());
    let status = std::fs::read_to_string(format!("/proc/{}/status", mounted.server())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kib * 5 < (64 << 10) * 6, "{kib} KiB with a budget of 64 MiB");
    mounted.unmount();
}
