//! Modelled disks, through the program: aged and compared on, snapshot and rolled back, logged, broken, killed.

use crate::common::Lab;
use disk::modelled::ModelledDisk;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const AGE: &str = "age --fs ext4 --size 200MiB --profile meyer --seed 3 --name a --work work --disk hdd-7200";

/// Whether FUSE works; if not it says that the test is skipped.
fn works() -> bool {
    let device = std::fs::File::options().read(true).write(true).open("/dev/fuse");
    let works = rustix::process::geteuid().is_root() && device.is_ok();
    if !works {
        eprintln!("skipped: FUSE and loop devices need root and /dev/fuse");
    }
    works
}

/// `senesce disk mount`, and the path that it printed.
fn mount(lab: &Lab, line: &str) -> (Child, PathBuf) {
    let mut child = lab.command(line.split_whitespace()).stdout(Stdio::piped()).spawn().unwrap();
    let mut path = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut path).unwrap();
    assert!(!path.is_empty(), "{line} printed nothing");
    (child, PathBuf::from(path.trim_end()))
}

fn signal(child: &mut Child, signal: rustix::process::Signal) -> Option<i32> {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
    child.wait().unwrap().code()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a server of a store in this lab's directory lives.
fn is_served(lab: &Lab) -> bool {
    let here = lab.path().to_str().unwrap();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("\0disk\0serve\0") && line.contains(here)
    })
}

#[test]
fn an_aging_on_a_modelled_disk_is_compared_in_modelled_time() {
    needs!("ext4");
    if !works() {
        return;
    }
    let lab = Lab::new();
    assert_eq!(lab.json(AGE)["errors"], 0);
    let compared = lab.json("compare --work work --repeat 1 --no-new-file");
    let pair = &compared["pairs"][0];
    for side in ["aged", "unaged"] {
        let side = &pair[side];
        assert_eq!(
            (&side["fs"], &side["disk"], &side["round"]),
            (&"ext4".into(), &"hdd-7200".into(), &0.into())
        );
        assert!(side["modelled_s_per_gib"].as_f64().unwrap() > 1.0, "{side}");
        assert!(side["dynamic_layout_score"].as_f64().is_some(), "{side}");
    }
    let (modelled, priced) = (&pair["modelled_aging_ratio"], &pair["modelled_hdd_aging_ratio"]);
    assert!(modelled.as_f64().unwrap() > 1.3, "{pair}");
    assert!(pair["aging_ratio"].as_f64().is_some());
    // The disk's own clock, and the traced requests priced on a fresh disk, tell the same story.
    assert!((modelled.as_f64().unwrap() / priced.as_f64().unwrap() - 1.0).abs() < 0.2, "{modelled} {priced}");
    // A store is probed as an image is.
    let scan = lab.json("probe scan work/a.disk --reader builtin");
    assert!(scan["scans"][0]["scan"]["wall_s"].as_f64().is_some());
    assert!(!lab.work().join("a.unaged.disk").exists());
    lab.nothing_left();
    assert!(!is_served(&lab));
}

#[test]
fn a_target_on_a_modelled_disk_rolls_back() {
    needs!("xfs");
    if !works() {
        return;
    }
    let lab = Lab::new();
    // SAFETY: the other tests of this program give their run directories to the programs that they start, and read
    // none.
    unsafe { std::env::set_var("SENESCE_RUN_DIR", lab.path().join("run")) };
    ModelledDisk::served_by(std::path::Path::new(env!("CARGO_BIN_EXE_senesce")));
    let session = disk::Session::begin().unwrap();
    let dir = lab.path().join("x.disk");
    let spec = fs::Spec {
        kind: fs::find("xfs").unwrap(),
        place: fs::Place::Modelled { dir, model: "ideal".to_owned(), clock: disk::modelled::Clock::Model },
        size_bytes: 320 << 20,
        mkfs_opts: Vec::new(),
        mount_opts: Vec::new(),
        read_ahead_kb: 128,
    };
    let mut target = fs::make(&session, &spec).unwrap();
    std::fs::write(target.root().join("kept"), "kept").unwrap();
    target.snapshot("aged").unwrap();
    std::fs::write(target.root().join("new"), "new").unwrap();
    std::fs::remove_file(target.root().join("kept")).unwrap();
    target.rollback("aged").unwrap();
    assert_eq!(std::fs::read(target.root().join("kept")).unwrap(), b"kept");
    assert!(!target.root().join("new").exists());
    assert!(target.chill().unwrap().iter().any(|said| said.contains("nothing is cached below")));
    assert!(target.check().unwrap().unwrap().clean);
    target.close().unwrap();
    drop(session);
    // It is there when it is opened again.
    let session = disk::Session::begin().unwrap();
    let target = fs::open(&session, &spec).unwrap();
    assert_eq!(std::fs::read(target.root().join("kept")).unwrap(), b"kept");
    target.close().unwrap();
    lab.nothing_left();
}

#[test]
fn killed_in_the_middle_it_leaves_nothing_and_goes_on() {
    needs!("ext4");
    if !works() {
        return;
    }
    let lab = Lab::new();
    let line = AGE.replace("meyer", "agrawal").replace("hdd-7200", "ideal");
    let mut child = lab.command(line.split_whitespace()).stderr(Stdio::null()).spawn().unwrap();
    until("the manifest", || lab.work().join("a.json").exists());
    std::thread::sleep(Duration::from_millis(1500));
    signal(&mut child, rustix::process::Signal::KILL);
    until("the end of the server", || !is_served(&lab));
    lab.run("cleanup");
    lab.nothing_left();
    let resumed = lab.json(&format!("{line} --resume"));
    assert_eq!(resumed["checker_clean"], true);
}

#[test]
fn a_disk_is_made_mounted_kept_rolled_back_and_broken() {
    if !works() {
        return;
    }
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model ideal");
    lab.refused("disk create d --size 64MiB", "it is not empty");
    lab.refused("disk log d -o log.parquet", "is not in service");
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
    assert_eq!(signal(&mut child, rustix::process::Signal::INT), Some(0));
    lab.nothing_left();
    // What was flushed is there, what was not is lost, and what was kept comes back.
    for expected in [2, 1] {
        let (mut child, device) = mount(&lab, "disk mount d --loop");
        let disk = std::fs::File::open(device).unwrap();
        let mut byte = [0];
        disk.read_exact_at(&mut byte, 8192).unwrap();
        assert_eq!(byte[0], expected);
        drop(disk);
        assert_eq!(signal(&mut child, rustix::process::Signal::INT), Some(0));
        lab.run("disk rollback d one");
    }
    lab.nothing_left();
}

#[test]
fn what_a_killed_mount_leaves_cleanup_takes_down() {
    if !works() {
        return;
    }
    let lab = Lab::new();
    lab.run("disk create d --size 64MiB --model ideal");
    let (mut child, file) = mount(&lab, "disk mount d --loop");
    signal(&mut child, rustix::process::Signal::KILL);
    // Others may be using it, so it stays until it is said to go.
    assert!(is_served(&lab), "{}", file.display());
    let again = lab.try_run("disk mount d");
    assert!(String::from_utf8_lossy(&again.stderr).contains("another process serves it"), "{again:?}");
    lab.run("cleanup");
    until("the end of the server", || !is_served(&lab));
    lab.nothing_left();
}

#[test]
fn nonsense_is_refused() {
    if !works() {
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
