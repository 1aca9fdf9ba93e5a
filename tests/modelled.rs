//! Tests of the program on modelled disks: age, compare, snapshot, rollback, log, faults, killed processes.

use crate::common::{Lab, Mounted, Running, has};
use disk::modelled::ModelledDisk;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;
use testing::wait_until;

const AGE: &str = "age --fs ext4 --size 200MiB --profile meyer --overwrites 4 --seed 3 --name a --work work --disk hdd-7200";

/// Whether FUSE works; prints a skip otherwise.
fn has_fuse() -> bool {
    has("FUSE")
}

/// Runs `senesce disk mount` and returns the path that it prints.
fn mount(lab: &Lab, line: &str) -> (Running, PathBuf) {
    let mut child = Running::new(lab.command(line.split_whitespace()).stdout(Stdio::piped()));
    let mut path = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut path).unwrap();
    assert!(!path.is_empty(), "{line} printed nothing");
    (child, PathBuf::from(path.trim_end()))
}

/// Whether a server of a store in the lab's directory is running.
fn is_served(lab: &Lab) -> bool {
    let here = lab.path().to_str().unwrap();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("\0disk\0serve\0") && line.contains(here)
    })
}

#[test]
fn aging_on_a_modelled_disk_is_compared_in_modelled_time() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    assert_eq!(lab.json(AGE)["errors"], 0);
    let compared = lab.json("compare --work work --repeat 3 --no-new-file");
    let pair = &compared["pairs"][0];
    for side in ["aged", "unaged"] {
        let side = &pair[side];
        assert_eq!(
            (&side["fs"], &side["disk"], &side["round"]),
            (&"ext4".into(), &"hdd-7200".into(), &0.into())
        );
        assert!(side["modelled_s_per_gib"].as_f64().unwrap() > 1.0, "{side}");
        // The time of the disk's own clock is reported as well.
        assert!(side["disk_clock_s_per_gib"].as_f64().unwrap() > 1.0, "{side}");
        assert!(side["dynamic_layout_score"].as_f64().is_some(), "{side}");
    }
    let (modelled, priced) = (&pair["modelled_aging_ratio"], &pair["modelled_hdd_aging_ratio"]);
    assert!(modelled.as_f64().unwrap() > 1.3, "{pair}");
    assert!(pair["aging_ratio"].as_f64().is_some());
    // The disk has this model.
    assert_eq!(modelled, priced);
    let costs = repetitions(&lab, "aged", "modelled_s_per_gib");
    assert_eq!(costs.len(), 3);
    if probe::blocktrace::available().is_ok() {
        // This does not hold for the disk's clock, which depends on the number of queued requests.
        let (least, most) = costs.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        assert!(most / least < 1.02, "the same scan costs the same: {costs:?}");
    }
    // A store can be probed like an image.
    let scan = lab.json("probe scan work/a.disk --reader builtin");
    assert!(scan["scans"][0]["scan"]["wall_s"].as_f64().is_some());
    assert!(!lab.work().join("a.unaged.disk").exists());
    lab.nothing_left();
    assert!(!is_served(&lab));
}

/// All values of a measure of one subject, from the export.
fn repetitions(lab: &Lab, subject: &str, measure: &str) -> Vec<f64> {
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&lab.run("export --work work --format json")).unwrap();
    let these = rows.iter().filter(|row| row["subject"] == subject && row["measure"] == measure);
    these.map(|row| row["value"].as_f64().unwrap()).collect()
}

#[test]
fn unaged_copy_uses_the_same_disk_model() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    let mine = lab.path().join("mine.toml");
    let text = lab.run("disk show ssd-sata").replace("ssd-sata", "mine");
    std::fs::write(&mine, &text).unwrap();
    lab.run(
        "age --fs ext4 --size 64MiB --profile meyer --overwrites 1 --name a --work work --disk mine.toml",
    );
    assert_eq!(lab.json("disk list work/a.disk")["disk"]["model"], "mine");
    // The model file changes afterwards.
    std::fs::write(&mine, "name = \"other\"").unwrap();
    let pair = &lab.json("compare --work work --repeat 1 --no-new-file")["pairs"][0];
    assert_eq!(pair["modelled_disk"], "mine");
    for side in ["aged", "unaged"] {
        assert!(pair[side]["disk_clock_s_per_gib"].as_f64().unwrap() > 1.0, "{pair}");
    }
    lab.nothing_left();
}

#[test]
fn runs_with_one_seed_give_the_same_tree_and_similar_requests() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    let runs = ["a", "b"].map(|name| {
        lab.run(&format!(
            "age --fs ext4 --size 96MiB --profile meyer --seed 5 --overwrites 2 --name {name} --work work --disk ideal"
        ));
        let disk = format!("work/{name}.disk");
        let scans = lab.json(&format!("probe scan {disk} --reader builtin --repeat 2"));
        let layout = |scan: usize, field: &str| scans["scans"][scan]["dynamic_layout"][field].as_f64().unwrap();
        let (first, second) = (layout(0, "requests"), layout(1, "requests"));
        assert!((first / second - 1.0).abs() < 0.02, "{first} and {second} requests");
        let (mut child, device) = mount(&lab, &format!("disk mount {disk} --loop"));
        let tree = tree(&lab, &device);
        assert_eq!(child.end_by(Signal::INT), Some(0));
        (tree, layout(0, "blocks"))
    });
    let [(tree_a, blocks_a), (tree_b, blocks_b)] = &runs;
    assert!(tree_a.len() > 10 && tree_a == tree_b, "{} and {} files", tree_a.len(), tree_b.len());
    // The number of requests depends on the layout, and thus on when the kernel wrote the files back.
    assert!((blocks_a / blocks_b - 1.0).abs() < 0.01, "{blocks_a} and {blocks_b} blocks are read");
    lab.nothing_left();
}

/// All files of the file system on a device, with their contents.
fn tree(lab: &Lab, device: &std::path::Path) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = lab.path().join("mnt-tree");
    std::fs::create_dir_all(&dir).unwrap();
    let status = Command::new("mount").args(["-o", "ro"]).arg(device).arg(&dir).status().unwrap();
    assert!(status.success());
    let mounted = Mounted::at(dir);
    let mut files = Vec::new();
    let mut dirs = vec![mounted.dir.clone()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(&mounted.dir).unwrap().to_owned();
                files.push((path, std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn missing_fuse_is_reported_and_nothing_is_created() {
    needs!("ext4");
    let lab = Lab::new();
    // A /dev with everything needed except FUSE.
    let without_fuse = "set -e; mount -t tmpfs none newdev; mkdir newdev/shm; mount --rbind /dev/shm newdev/shm; \
                        for n in null zero urandom random loop-control; do : > newdev/$n; mount --bind /dev/$n newdev/$n; \
                        done; mount --move newdev /dev; exec \"$@\"";
    std::fs::create_dir(lab.path().join("newdev")).unwrap();
    let before = lab.entries();
    for line in ["age --fs ext4 --size 64MiB --profile meyer --work work --disk ideal", "disk mount d"] {
        if line.starts_with("disk") {
            lab.run("disk create d --size 64MiB --model ideal");
        }
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", without_fuse, "sh", env!("CARGO_BIN_EXE_senesce")]);
        command.args(line.split(' ')).current_dir(lab.path());
        let output = command.env("SENESCE_RUN_DIR", lab.path().join("run")).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {err}");
        assert!(err.contains("it needs FUSE") && err.contains("modprobe fuse"), "{line}: {err}");
        if line.starts_with("age") {
            assert_eq!(lab.entries(), before, "{line} created a file");
        }
        lab.nothing_left();
    }
    assert!(!is_served(&lab));
}

#[test]
fn full_backing_store_ends_an_aging_that_can_be_resumed() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    let small = Mounted::at(lab.path().join("small"));
    std::fs::create_dir(&small.dir).unwrap();
    let status =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=200m", "none"]).arg(&small.dir).status();
    assert!(status.unwrap().success());
    let line = "age --fs ext4 --size 128MiB --profile agrawal --overwrites 3 --name a --work work --image-dir small --disk ideal";
    let mut child = lab.start(line);
    // Another process uses up all space after the file system was created.
    let (mounts, run) = (format!("/proc/{}/mounts", child.id()), lab.path().join("run"));
    let is_aged = |mount: &str| mount.contains(run.to_str().unwrap()) && mount.contains(" ext4 ");
    child.until("the mount", || std::fs::read_to_string(&mounts).is_ok_and(|all| all.lines().any(is_aged)));
    let other = small.dir.join("other");
    let mut file = std::fs::File::create(&other).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 1 << 16]).is_ok() {}
    let output = child.wait();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("requests failed on the modelled disk") && err.contains("No space left"), "{err}");
    assert_eq!(lab.loops(), Vec::<String>::new());
    assert!(!is_served(&lab));
    drop(file);
    std::fs::remove_file(other).unwrap();
    assert_eq!(lab.json(&format!("{line} --resume"))["checker_clean"], true);
    drop(small);
    lab.nothing_left();
}

#[test]
fn real_clock_delays_reads_by_their_modelled_time() {
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model hdd-7200 --clock real");
    let (mut child, path) = mount(&lab, "disk mount d");
    let file = std::fs::File::open(&path).unwrap();
    let begun = Instant::now();
    for n in 0..20u64 {
        file.read_exact_at(&mut [0; 4096], n * 13 % 16 * 4 * 1_048_576).unwrap();
    }
    let took_s = begun.elapsed().as_secs_f64();
    lab.run("disk log d -o log.parquet");
    let priced_s = lab.json("disk price log.parquet --model hdd-7200")["total_s"].as_f64().unwrap();
    // The disk rotates between two reads of the program, so waits differ by up to one revolution.
    assert!(priced_s > 0.04 && took_s > 0.6 * priced_s, "{took_s} s for {priced_s} s modelled");
    drop(file);
    assert_eq!(child.end_by(Signal::INT), Some(0));
    lab.nothing_left();
}

#[test]
fn target_on_a_modelled_disk_rolls_back() {
    needs!("xfs");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    // With its own run directory.
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "modelled::target_that_rolls_back", "--ignored", "--nocapture"]);
    command.env("SENESCE_RUN_DIR", lab.path().join("run")).current_dir(lab.path());
    let output = lab.started(command).wait();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
    lab.nothing_left();
}

#[test]
#[ignore = "run by the test above, with its own run directory"]
fn target_that_rolls_back() {
    ModelledDisk::set_server_program(std::path::Path::new(env!("CARGO_BIN_EXE_senesce")));
    let session = disk::Session::begin().unwrap();
    let dir = std::env::current_dir().unwrap().join("x.disk");
    let clock = disk::modelled::Clock::Model;
    let location = fs::Location::Modelled { dir, model: "ideal".to_owned(), clock };
    let mut volume = fs::VolumeConfig::new(location, "xfs", 320 << 20);
    let mut target = fs::make(&session, &mut volume, None).unwrap();
    std::fs::write(target.root().join("kept"), "kept").unwrap();
    target.snapshot("aged").unwrap();
    std::fs::write(target.root().join("new"), "new").unwrap();
    std::fs::remove_file(target.root().join("kept")).unwrap();
    target.rollback("aged").unwrap();
    assert_eq!(std::fs::read(target.root().join("kept")).unwrap(), b"kept");
    assert!(!target.root().join("new").exists());
    assert!(target.drop_caches().unwrap().iter().any(|said| said.contains("no cache below")));
    assert!(target.check().unwrap().unwrap().clean);
    target.close().unwrap();
    drop(session);
    // The restored state persists after reopening.
    let session = disk::Session::begin().unwrap();
    let target = fs::open(&session, &volume).unwrap();
    assert_eq!(std::fs::read(target.root().join("kept")).unwrap(), b"kept");
    target.close().unwrap();
}

#[test]
fn killed_aging_leaves_nothing_and_can_be_resumed() {
    needs!("ext4");
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    let line = AGE.replace("meyer", "agrawal").replace("hdd-7200", "ideal");
    lab.stopped(&line, "aging@2000").kill();
    wait_until("the end of the server", || !is_served(&lab));
    lab.run("cleanup");
    lab.nothing_left();
    let resumed = lab.json(&format!("{line} --resume"));
    assert_eq!(resumed["checker_clean"], true);
}

#[test]
fn disk_commands_create_mount_snapshot_rollback_and_fault() {
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model ideal");
    lab.refused("disk create d --size 64MiB", "it is not empty");
    lab.refused("disk log d -o log.parquet", "is not served");
    lab.refused("disk snapshot nowhere s", "nowhere");
    let (mut child, file) = mount(&lab, "disk mount d");
    let disk = std::fs::File::options().read(true).write(true).open(&file).unwrap();
    disk.write_all_at(&[1; 4096], 8192).unwrap();
    let byte = || {
        let mut byte = [0];
        disk.read_exact_at(&mut byte, 8192).map(|()| byte[0]).map_err(|e| e.raw_os_error())
    };
    lab.run("disk snapshot d one");
    lab.run("disk log d -o log.parquet");
    let small = lab.try_run("disk price log.parquet --model hdd-7200 --size 4KiB");
    assert!(String::from_utf8_lossy(&small.stderr).contains("beyond a disk of 4 KiB"), "{small:?}");
    let priced = lab.json("disk price log.parquet --model hdd-7200");
    assert!(priced.to_string().contains("requests"), "{priced}");
    disk.write_all_at(&[2; 4096], 8192).unwrap();
    let busy = lab.try_run("disk rollback d one");
    assert!(String::from_utf8_lossy(&busy.stderr).contains("its disk is in use"), "{busy:?}");
    lab.run("disk fault d read-error --at 8192");
    assert_eq!(byte(), Err(Some(5)));
    lab.run("disk fault d none");
    assert_eq!(byte(), Ok(2));
    disk.sync_all().unwrap();
    disk.write_all_at(&[3; 4096], 8192).unwrap();
    lab.run("disk fault d power-cut");
    assert_eq!(byte(), Err(Some(5)));
    let list = lab.json("disk list d");
    assert_eq!(list["status"]["cut"], true);
    assert_eq!(list["snapshots"][0]["name"], "one");
    drop(disk);
    assert_eq!(child.end_by(Signal::INT), Some(0));
    lab.nothing_left();
    // Flushed data persists, unflushed data is lost, and the snapshot restores its state.
    for expected in [2, 1] {
        let (mut child, device) = mount(&lab, "disk mount d --loop");
        let disk = std::fs::File::open(device).unwrap();
        let mut byte = [0];
        disk.read_exact_at(&mut byte, 8192).unwrap();
        assert_eq!(byte[0], expected);
        drop(disk);
        assert_eq!(child.end_by(Signal::INT), Some(0));
        lab.run("disk rollback d one");
    }
    lab.nothing_left();
}

#[test]
fn cleanup_removes_what_a_killed_mount_left() {
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model ideal");
    let (mut child, file) = mount(&lab, "disk mount d --loop");
    child.end_by(Signal::KILL);
    // Other processes may use it, so it stays until cleanup.
    assert!(is_served(&lab), "{}", file.display());
    let again = lab.try_run("disk mount d");
    assert!(String::from_utf8_lossy(&again.stderr).contains("another process serves it"), "{again:?}");
    lab.run("cleanup");
    wait_until("the end of the server", || !is_served(&lab));
    lab.nothing_left();
}

#[test]
fn invalid_disk_options_are_refused() {
    if !has_fuse() {
        return;
    }
    let lab = Lab::new();
    for (line, expected) in [
        ("disk create d --size 1GiB --model nothing", "no device model named"),
        ("disk create d --size 1001", "sectors of 512 bytes"),
        ("disk mount nowhere", "nowhere"),
        ("disk mount .", "disk create"),
        ("age --disk nothing --work work", "no device model named"),
        ("age --disk ideal --dir . --work work", "cannot be used with"),
        ("age --clock real --work work", "--disk"),
    ] {
        lab.refused(line, expected);
    }
}

#[test]
fn flash_is_preconditioned_and_shown() {
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model ssd-crucial-m4");
    let flash = |line: &str| lab.json(line)["flash"].clone();
    assert_eq!(flash("disk list d")["mapped_share"], 0.0);
    let shown = lab.run("disk precondition d filled");
    assert!(shown.contains("write amplification") && shown.contains("100.000 %"), "{shown}");
    assert_eq!(flash("disk list d")["mapped_share"], 1.0);
    lab.run("disk precondition d aged --overwrites 3 --seed 7");
    let aged = flash("disk list d");
    assert!(aged["write_amplification"].as_f64().unwrap() > 2.0, "{aged}");
    lab.run("disk snapshot d aged");
    lab.run("disk precondition d fresh");
    lab.run("disk rollback d aged");
    assert_eq!(flash("disk list d"), aged);
    lab.run("disk create hdd --size 64MiB --model hdd-7200");
    lab.refused("disk precondition hdd filled", "hdd-7200 has no flash translation layer");
    assert_eq!(flash("disk list hdd"), serde_json::Value::Null);
    lab.refused("disk precondition d aged --overwrites 1001", "must be between 0 and 1000");
}
