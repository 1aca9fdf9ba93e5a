//! Mounts of other users during a run: they can be unmounted, and their disks are then free, whether the run uses them or not.

use crate::common::{Lab, Mounted, Running, signal};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::wait_until;

/// Mounts a new ext4 image for writing, on behalf of another user.
fn foreign_mount(lab: &Lab, name: &str) -> Mounted {
    let image = lab.path().join(format!("{name}.img"));
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    succeeds(Command::new("mkfs.ext4").arg("-q").arg(&image));
    let dir = lab.path().join(name);
    std::fs::create_dir(&dir).unwrap();
    succeeds(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&dir));
    // systemd makes all mounts shared, so the kernel propagates an unmount itself; in a container it does not.
    succeeds(Command::new("mount").arg("--make-private").arg(&dir));
    Mounted::at(dir)
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Starts a long aging with the working directory `at`, and waits until it has begun.
fn long_aging(lab: &Lab, at: &Path) -> Child {
    let line = "age --fs ext4 --size 256MiB --profile agrawal --overwrites 20000 --seed 9 --name a --work";
    let mut command = lab.command(line.split_whitespace());
    command.arg(lab.work()).current_dir(at).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("the image of the aging", || {
        assert!(child.try_wait().unwrap().is_none(), "the aging has ended");
        lab.loops().iter().any(|device| device.contains("/work/a.img"))
    });
    child
}

/// Whether a process has a mount at this directory.
fn has_mount(process: &Child, dir: &Path) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{}/mountinfo", process.id())).unwrap();
    table.contains(&format!(" {} ", dir.display()))
}

fn interrupt(mut aging: Child) {
    assert!(aging.try_wait().unwrap().is_none(), "the aging must still run");
    signal(&aging, Signal::INT);
    assert_eq!(aging.wait().unwrap().code(), Some(1));
}

/// Unmounts it and waits for its loop device, which is free when no copy of the mount is left.
fn unmount_and_wait(lab: &Lab, mounted: Mounted, name: &str) {
    succeeds(Command::new("umount").arg(&mounted.dir));
    let is_attached = || lab.loops().iter().any(|device| device.contains(&format!("/{name}.img")));
    wait_until("the loop device of an unmounted image", || !is_attached());
}

#[test]
fn image_unmounted_during_a_run_is_free() {
    needs!("ext4");
    let lab = Lab::new();
    let mounted = foreign_mount(&lab, "strange disk");
    let aging = long_aging(&lab, lab.path());
    unmount_and_wait(&lab, mounted, "strange disk");
    // It was written back, because no process holds it any longer.
    succeeds(Command::new("e2fsck").args(["-f", "-n"]).arg(lab.path().join("strange disk.img")));
    interrupt(aging);
    lab.nothing_left();
}

#[test]
fn image_used_by_a_run_is_free_after_unmount() {
    needs!("ext4");
    let lab = Lab::new();
    let (named, hidden) = (foreign_mount(&lab, "named"), foreign_mount(&lab, "hidden"));
    // The path of one is in the arguments, and the other is mounted read-only.
    succeeds(Command::new("mount").args(["-o", "remount,ro"]).arg(&hidden.dir));
    let line = "bench metadata --root named/o --data-sets 3 --precreate 40 --iterations 20 --repeats 1000000";
    let mut command = lab.command(line.split_whitespace());
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the benchmark's first files", || {
        assert!(running.try_wait().unwrap().is_none(), "the benchmark has ended");
        named.dir.join("o").is_dir()
    });
    assert!(has_mount(&running, &named.dir) && has_mount(&running, &hidden.dir));
    unmount_and_wait(&lab, hidden, "hidden");
    assert!(has_mount(&running, &named.dir), "only the unmounted image is released");
    signal(&running, Signal::KILL);
    running.wait().unwrap();
    unmount_and_wait(&lab, named, "named");
    lab.clean_up();
}

#[test]
fn directory_on_a_user_image_is_aged_and_probed() {
    needs!("ext4");
    let lab = Lab::new();
    let mounted = foreign_mount(&lab, "disk");
    std::fs::create_dir(mounted.dir.join("place")).unwrap();
    lab.run("age --dir disk/place --size 32MiB --profile wang_os --overwrites 2 --name d --work work");
    assert_eq!(
        std::fs::read_dir(mounted.dir.join("place")).unwrap().count(),
        1,
        "the aging must create one subdirectory"
    );
    let link = lab.path().join("link");
    std::os::unix::fs::symlink(&mounted.dir, &link).unwrap();
    let files = |line: &str| lab.json(line)["files"].as_u64().unwrap();
    let at = files("probe layout disk/place");
    assert!(at > 0);
    assert_eq!(files("probe layout link/place"), at);
    // Its processes get the path through a pipe, not through their command lines.
    let bench = "bench metadata --root link/o --data-sets 3 --precreate 40 --iterations 20 --ranks 2";
    for how in ["--processes", "--memory 64MiB"] {
        if how == "--processes" || disk::MemoryLimit::available().is_ok() {
            let phases = lab.json(&format!("{bench} {how}"))["phases"].clone();
            assert!(
                phases.as_array().unwrap().iter().any(|phase| phase["phase"] == "cleanup"),
                "{how}: {phases}"
            );
        }
    }
    unmount_and_wait(&lab, mounted, "disk");
    lab.nothing_left();
}

/// In a chroot the paths of mounts, programs and loop devices differ from those of the mount namespace. The chroot is a copy of the root
/// directory, except for /mnt, which is a directory of the lab.
#[test]
fn paths_are_resolved_in_a_chroot() {
    needs!("ext4");
    needs!("FUSE");
    let lab = Lab::new();
    let (root, inside) = (lab.path().join("root"), lab.path().join("inside"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&inside).unwrap();
    let enter =
        r#"mount --rbind / "$1" && mount --bind "$2" "$1/mnt" && exec chroot "$1" sh -c "cd /mnt && $3""#;
    let chrooted = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", enter, "sh"]).args([&root, &inside]).arg(script);
        command.env("SENESCE", env!("CARGO_BIN_EXE_senesce")).env("SENESCE_RUN_DIR", "/mnt/run");
        succeeds(&mut command);
    };
    chrooted(
        "$SENESCE age --fs ext4 --size 200MiB --profile meyer --overwrites 1 --name a --work work --disk hdd-7200",
    );
    chrooted(
        "$SENESCE bench metadata --root o --data-sets 3 --precreate 40 --iterations 20 --ranks 2 --processes",
    );
    chrooted(
        "$SENESCE age --fs ext4 --size 64MiB --fullness 0.5 --overwrites 1 --no-fill --name b --work work",
    );
    chrooted(
        "device=$(losetup --find --show work/b.img) && \
         ! $SENESCE image save b --work work --to c.aged 2>said; losetup --detach $device; grep 'already attached' said",
    );
    assert!(!inside.join("c.aged").exists());
    lab.nothing_left();
}

const EXPERIMENT: &str = r#"
figure = "small-one"
title = "Files that grow together"
source = "a test"
fs = ["ext4"]
disks = ["hdd-7200"]
round = { label = "in turn", unit = "%" }

[scale.small]
size_bytes = 67_108_864
rounds = [0]
workload = { kind = "intrafile", files = 4 }

[[plot]]
title = "Cost"
y = "modelled_s_per_gib"
axis = { label = "cost", unit = "s/GiB" }
"#;

/// The directories in which a process stores images of an experiment.
fn cells(lab: &Lab, process: u32) -> Vec<PathBuf> {
    let names = [PathBuf::from("/dev/shm"), lab.work()]
        .into_iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()));
    let of = format!(".senesce-cell-{process}-");
    names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&of)).collect()
}

/// Starts the experiment, which stops when its file system is mounted.
fn stopped(lab: &Lab) -> Running {
    std::fs::write(lab.path().join("one.toml"), EXPERIMENT).unwrap();
    lab.stopped("run one.toml --work work", "round 0, aging")
}

#[test]
fn resume_removes_images_of_a_killed_experiment_only() {
    needs!("ext4");
    let (lab, other) = (Lab::new(), Lab::new());
    let (living, killed) = (stopped(&other), stopped(&lab));
    let (living_id, killed_id) = (living.id(), killed.id());
    killed.kill();
    let left = cells(&lab, killed_id);
    assert!(left.len() == 1 && left[0].join("aged.img").exists(), "{left:?}");
    let resumed = lab.try_run("run one.toml --work work --resume");
    let messages = String::from_utf8_lossy(&resumed.stderr).into_owned();
    assert!(resumed.status.success(), "{messages}");
    assert!(messages.contains(&format!("removed {}", left[0].display())), "{messages}");
    assert_eq!(cells(&lab, killed_id), [] as [PathBuf; 0]);
    assert_eq!(cells(&other, living_id).len(), 1, "a running process keeps its images");
    other.interrupts(living);
    assert_eq!(cells(&other, living_id), [] as [PathBuf; 0]);
    lab.nothing_left();
}
