//! The file benchmarks of Smith & Seltzer 1997 on the command line: `probe sequential` and `probe hot-files`.

use crate::common::{Lab, text};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Small enough for a test.
const SMALL: &str = "--sizes 16KiB,104KiB --total 2MiB --runs 2";

fn checksum(path: &Path) -> String {
    text(&Command::new("sha256sum").arg(path).output().unwrap().stdout)
}

/// The mean rate according to a clock.
fn mean(rates: &Value, clock: &str) -> f64 {
    rates[clock]["mean"].as_f64().unwrap_or_else(|| panic!("no {clock} rate in {rates}"))
}

/// Creates a directory of ten files, three of which were modified recently.
fn tree(lab: &Lab) -> PathBuf {
    let dir = lab.path().join("tree");
    std::fs::create_dir_all(dir.join("sub")).unwrap();
    for n in 0..10_u64 {
        let path = dir.join(if n % 2 == 0 { format!("f{n}") } else { format!("sub/f{n}") });
        std::fs::write(&path, vec![b'x'; 50_000]).unwrap();
        let age = Duration::from_secs(86_400 * if n < 3 { n } else { 100 + n });
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    dir
}

#[test]
fn directory_is_measured_and_nothing_is_left_in_it() {
    let lab = Lab::new();
    let dir = lab.path().join("dir");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("thesis"), "all of it").unwrap();
    let measured = lab.json(&format!("probe sequential dir {SMALL} --work work"));
    assert_eq!(measured["kept"], "cleaned-up");
    let counts = |n: usize| {
        let size = &measured["sizes"][n];
        ["size_bytes", "files", "directories"].map(|field| size[field].as_u64().unwrap())
    };
    assert_eq!((counts(0), counts(1)), ([16 << 10, 128, 6], [104 << 10, 19, 1]));
    for phase in ["create", "read"] {
        let wall = &measured["sizes"][0][phase]["alone"]["wall"];
        assert!(
            wall["mean"].as_f64().unwrap() > 0.0 && wall["deviation"].is_f64() && wall["n"] == 2,
            "{wall}"
        );
    }
    assert!(measured["sizes"][0]["read_ratio"].is_null());
    let names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis"]);
    assert!(lab.run("export --work work").contains("read_16384_wall_bytes_per_s"));
    assert!(lab.run(&format!("probe sequential dir {SMALL}")).contains("cannot be rolled back"));
    lab.refused("probe sequential", "required");
    lab.refused("probe sequential dir --on work/a.img", "cannot be used with");
    lab.refused("probe sequential nowhere", "nowhere");
    lab.refused("probe sequential dir --sizes 64MiB", "1 to 33554432 bytes");
    lab.refused("probe sequential dir --total 1000TiB", "of free space");
    lab.refused("probe sequential dir --disk drum", "no device model named");
    lab.refused("probe sequential --on none --work work", "no aged file system named none");
    lab.nothing_left();
}

#[test]
fn interrupted_and_killed_runs_leave_nothing_in_a_directory() {
    let lab = Lab::new();
    let dir = lab.path().join("dir");
    std::fs::create_dir(&dir).unwrap();
    let inside = || std::fs::read_dir(&dir).unwrap().count();
    for how in [Signal::INT, Signal::KILL] {
        let line = "probe sequential dir --sizes 16KiB --runs 1000";
        let mut child = lab.start(line);
        // Not between the creation of the directory and that of its marker.
        child.until("files in a directory that is marked", || {
            let scratch = std::fs::read_dir(&dir).unwrap().flatten().next();
            scratch.is_some_and(|scratch| {
                scratch.path().join(disk::MARKER).exists()
                    && std::fs::read_dir(scratch.path()).unwrap().count() > 1
            })
        });
        child.signal(how);
        let output = child.wait();
        if how == Signal::INT {
            assert!(text(&output.stderr).contains("interrupted; dir was written to directly"), "{output:?}");
        } else {
            assert_eq!(inside(), 1);
            lab.clean_up();
        }
        assert_eq!(inside(), 0);
    }
}

#[test]
fn hot_files_are_only_overwritten_on_request() {
    let lab = Lab::new();
    let dir = tree(&lab);
    let contents = |name: &str| std::fs::read(dir.join(name)).unwrap();
    let measured = lab.json("probe hot-files tree --runs 2");
    assert_eq!((&measured["files"], &measured["bytes"]), (&3.into(), &150_000.into()));
    assert_eq!(measured["share_of_files"], 0.3);
    assert_eq!(measured["kept"], "untouched");
    assert!(mean(&measured["sides"]["alone"]["read"], "wall") > 0.0);
    assert!(measured["sides"]["alone"]["overwrite"].is_null());
    assert!(contents("f0") == vec![b'x'; 50_000]);
    let files =
        |options: &str| lab.json(&format!("probe hot-files tree --runs 1 {options}"))["files"].clone();
    assert_eq!(files("--days 1.5"), 2);
    assert_eq!(files("--share 45%"), 5);
    assert_eq!(files("--days 103.5"), 4);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(files(&format!("--now {}", now - 90 * 86_400)), 7);
    let told = lab.try_run("probe hot-files tree --runs 1 --days 1000");
    assert!(text(&told.stderr).contains("all files are hot"), "{}", text(&told.stderr));

    let measured = lab.json("probe hot-files tree --runs 1 --overwrite");
    assert!(mean(&measured["sides"]["alone"]["overwrite"], "wall") > 0.0);
    for name in ["f0", "sub/f1", "f2"] {
        let now = contents(name);
        assert!(now.len() == 50_000 && now != vec![b'x'; 50_000], "{name}");
    }
    assert!(contents("sub/f3") == vec![b'x'; 50_000]);
    lab.refused("probe hot-files tree --now 1000", "no file is hot");
    lab.refused("probe hot-files tree --share 0%", "9.5%");
    lab.refused("probe hot-files tree --share 9% --days 3", "cannot be used with");
    lab.nothing_left();
}

/// Ages a small file system of this kind, runs both benchmarks on it and on an unaged copy, and checks that the image is unchanged.
fn aged_and_unaged(fs: &str) {
    let lab = Lab::new();
    lab.run(&format!(
        "age --fs {fs} --size 320MiB --fullness 0.5 --profile meyer --overwrites 1 --name a --work work"
    ));
    let image = lab.work().join("a.img");
    let before = checksum(&image);
    let measured = lab.json(&format!("probe sequential --on work/a.img {SMALL}"));
    assert_eq!((&measured["kept"], &measured["modelled_disk"]), (&"copied".into(), &"hdd-7200".into()));
    for size in measured["sizes"].as_array().unwrap() {
        for side in ["aged", "unaged"] {
            assert!(mean(&size["create"][side], "wall") > 0.0 && mean(&size["read"][side], "wall") > 0.0);
        }
        assert!(size["read_ratio"]["wall"].as_f64().unwrap() > 0.0);
    }
    let hot = lab.json("probe hot-files --on a --work work --runs 2");
    assert_eq!(hot["kept"], "copied");
    let share = hot["share_of_files"].as_f64().unwrap();
    assert!((0.095..0.1).contains(&share), "{share}");
    for side in ["aged", "unaged"] {
        let side = &hot["sides"][side];
        assert!(mean(&side["read"], "wall") > 0.0 && mean(&side["overwrite"], "wall") > 0.0);
        assert!(side["layout"]["layout_score"].as_f64().unwrap() <= 1.0);
    }
    assert_eq!(checksum(&image), before);
    // Reading needs no copy of the image; writing does, also without an unaged side.
    let alone = lab.json("probe hot-files work/a.img --runs 1 --share 0.2");
    assert_eq!(alone["kept"], "untouched");
    let alone = lab.json("probe hot-files work/a.img --runs 1 --share 0.2 --overwrite");
    assert_eq!(alone["kept"], "copied");
    let alone = lab.json("probe sequential work/a.img --sizes 16KiB --total 1MiB --runs 1");
    assert_eq!(alone["kept"], "copied");
    assert_eq!(checksum(&image), before);
    let left: Vec<String> =
        lab.entries().into_iter().filter(|name| name.contains("senesce-benchmark")).collect();
    assert!(left.is_empty(), "{left:?}");
    let exported = lab.run("export --work work");
    assert!(exported.contains("hot_layout_score") && exported.contains("create_106496_wall_bytes_per_s"));
    lab.nothing_left();
}

#[test]
fn aged_ext4_is_measured_with_its_unaged_copy_and_stays_unchanged() {
    needs!("ext4");
    aged_and_unaged("ext4");
}

#[test]
fn aged_xfs_is_measured_with_its_unaged_copy_and_stays_unchanged() {
    needs!("xfs");
    aged_and_unaged("xfs");
}

#[test]
fn aged_btrfs_is_measured_with_its_unaged_copy_and_stays_unchanged() {
    needs!("btrfs");
    aged_and_unaged("btrfs");
}

#[test]
fn aged_files_cost_more_on_a_modelled_disk_which_is_rolled_back() {
    needs!("ext4");
    let lab = Lab::new();
    lab.run(
        "age --fs ext4 --size 200MiB --fullness 0.6 --profile agrawal --overwrites 8 --disk hdd-7200 --name a --work work",
    );
    let layout = |lab: &Lab| lab.json("probe layout work/a.disk");
    let before = layout(&lab);
    let hot = lab.json("probe hot-files --on a --work work --runs 2");
    assert_eq!((&hot["kept"], &hot["modelled_disk"]), (&"rolled-back".into(), &"hdd-7200".into()));
    let score = |side: &str| hot["sides"][side]["layout"]["layout_score"].as_f64().unwrap();
    assert!(score("aged") < score("unaged"), "{hot}");
    assert!(hot["read_ratio"]["modelled"].as_f64().unwrap() < 1.0, "{hot}");
    assert!(mean(&hot["sides"]["aged"]["overwrite"], "disk_clock") > 0.0);
    let measured = lab.json("probe sequential --on a --work work --sizes 256KiB,1MiB --total 8MiB --runs 2");
    assert_eq!(measured["kept"], "rolled-back");
    let large = &measured["sizes"][1];
    assert!(large["read_ratio"]["modelled"].as_f64().unwrap() < 1.0, "{measured}");
    assert_eq!(layout(&lab), before);
    assert!(!lab.work().join("a.benchmark").exists());
    lab.nothing_left();
}

#[test]
fn hot_files_need_file_data() {
    needs!("ext4");
    let lab = Lab::new();
    lab.run("age --fs ext4 --size 64MiB --profile wang_os --fullness 0.5 --overwrites 1 --no-fill --name a --work work");
    let output = lab.try_run("probe hot-files --on a --work work");
    assert!(text(&output.stderr).contains("not filled with data"), "{}", text(&output.stderr));
    lab.nothing_left();
}
