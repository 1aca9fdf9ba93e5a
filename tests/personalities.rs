//! Tests of personalities and fio job files: their output, their stored results, and that the target is restored afterwards.

use crate::common::{Lab, LoopDevice, Running, digest, document, text};
use rustix::process::Signal;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A personality that runs for a moment.
const TINY: &str = r#"
name = "tiny"
title = "a little of all"
source = "a test"
threads = 4
io_bytes = 65_536
loop = [
    "create files; write whole; close",
    "2 times: open files; read whole; close",
    "open files; append up to 4KiB; fsync; close",
    "delete files",
    "stat files",
    "append 1KiB to log",
]

[set.files]
files = 60
mean_bytes = 8_000
width = 5
preallocated = 0.5

[set.log]
files = 1
mean_bytes = 100
width = 5
preallocated = 1
most_bytes = 100_000
"#;

fn tiny(lab: &Lab) {
    std::fs::write(lab.path().join("tiny.toml"), TINY).unwrap();
}

#[test]
fn personality_in_a_directory_runs_its_loop_and_cleans_up() {
    let lab = Lab::new();
    tiny(&lab);
    std::fs::create_dir(lab.path().join("d")).unwrap();
    std::fs::write(lab.path().join("d/precious"), "mine").unwrap();
    let outcome = lab.json("bench tiny.toml --on d --operations 1600 --repeat 2 --work w");
    assert_eq!((&outcome["kept"], &outcome["personality"]), (&"cleaned-up".into(), &"tiny".into()));
    assert_eq!((outcome["ratio"].is_null(), outcome["modelled_disk"].is_null()), (true, true));
    let side = &outcome["sides"]["alone"];
    assert_eq!(side["operations_per_s"]["n"], 2);
    for run in side["runs"].as_array().unwrap() {
        // Sixteen operations per loop.
        assert_eq!(run["operations"], 1600, "{run}");
        let done = |kind: &str| run["of"][kind]["done"].as_u64().unwrap();
        let counts =
            ["create", "write", "open", "read", "append", "fsync", "close", "delete", "stat"].map(done);
        assert_eq!(counts, [100, 100, 300, 200, 200, 100, 400, 100, 100]);
        let read = &run["of"]["read"]["latency_us"];
        assert!(["median", "p99", "p999", "max"].map(|q| read[q].as_f64().unwrap()).is_sorted());
    }
    let left: Vec<_> = std::fs::read_dir(lab.path().join("d")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let said = lab.run("bench tiny.toml --on d --operations 160");
    assert!(said.contains("p99.9") && said.contains("it cannot be rolled back"), "{said}");
    let csv = lab.run("export --work w");
    assert!(csv.contains("operations_per_s") && csv.contains("read_p999_us"), "{csv}");
    lab.nothing_left();
}

#[test]
fn personality_on_an_aged_image_is_compared_and_image_is_unchanged() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    lab.run("age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --name a --work work");
    let image = lab.work().join("a.img");
    let before = digest(&image);
    let outcome = lab.json("bench tiny.toml --on work --operations 800 --repeat 6");
    assert_eq!((&outcome["kept"], &outcome["sha256"]), (&"copied".into(), &before.clone().into()));
    assert_eq!(digest(&image), before);
    let ratio = &outcome["ratio"];
    assert!(
        ratio["operations_per_s"]["low"].as_f64().unwrap() > 0.0,
        "six repetitions must have an interval"
    );
    assert!(ratio["latency"]["read"]["max"]["median"].as_f64().unwrap() > 0.0);
    for side in ["aged", "unaged"] {
        let runs = outcome["sides"][side]["runs"].as_array().unwrap();
        assert!(runs.len() == 6 && runs.iter().all(|run| run["operations"] == 800));
    }
    let alone = lab.json("bench tiny.toml --on a --work work --against none --operations 160");
    assert!(alone["ratio"].is_null() && alone["sides"]["alone"].is_object());
    // The same image on a modelled disk.
    let on_disk =
        lab.json("bench tiny.toml --on work/a.img --disk ssd-sata --operations 160 --repeat 2 --dirty 1M");
    assert_eq!((&on_disk["modelled_disk"], &on_disk["kept"]), (&"ssd-sata".into(), &"copied".into()));
    let run = &on_disk["sides"]["aged"]["runs"][1];
    assert!(run["disk_share"].as_f64().unwrap() > 0.0, "{run}");
    assert_eq!(digest(&image), before);
    let left: Vec<String> = lab
        .entries()
        .into_iter()
        .filter(|name| name.contains("benchmark") || name.contains("unaged"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    lab.refused("bench fileserver --on work/a.img", "--scale of 0.0");
    lab.nothing_left();
}

/// Starts a run, and waits until its threads have written to the files: the log grows beyond its initial size.
fn running(lab: &Lab, line: &str) -> Running {
    let mut child = lab.start(line);
    let pid = child.id();
    child.until("growth of the log", || log_bytes(lab, pid).is_some_and(|bytes| bytes > 20_000));
    child
}

/// The size of the log in the mount of the process.
fn log_bytes(lab: &Lab, pid: u32) -> Option<u64> {
    let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok()?;
    let here = lab.path().to_str().unwrap();
    let mounted =
        mounts.lines().filter_map(|line| line.split(' ').nth(4)).filter(|dir| dir.starts_with(here));
    let logs = mounted.flat_map(|dir| files_below(Path::new(&format!("/proc/{pid}/root{dir}"))));
    logs.filter(|path| path.components().any(|part| part.as_os_str() == "log"))
        .filter_map(|path| Some(std::fs::metadata(path).ok()?.len()))
        .max()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

/// Waits for the end of a run that must fail, and returns its error output.
fn failed(child: Running) -> String {
    let output = child.wait();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("senesce: ").count(), 1, "one error must be reported: {said}");
    said
}

/// Files of benchmarks that were not removed.
fn made_by_benchmarks(lab: &Lab) -> Vec<String> {
    lab.entries().into_iter().filter(|name| name.contains("benchmark") || name.contains("unaged")).collect()
}

#[test]
fn state_of_a_killed_benchmark_is_reported_and_rolled_back() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    lab.run("age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --disk ideal --name a --work work");
    let image = lab.work().join("a.disk");
    let before = lab.json("bench tiny.toml --on a --work work --against none --operations 160");
    assert_eq!(before["kept"], "rolled-back");
    let line = "bench tiny.toml --on a --work work --against none --time 10min";
    running(&lab, line).kill();
    for refused in ["compare a --work work", "probe layout work/a.disk"] {
        let output = lab.try_run(refused);
        let err = text(&output.stderr);
        assert!(output.status.code() == Some(1) && err.contains("was not rolled back"), "{refused}: {err}");
    }
    let said = lab.run("cleanup");
    assert!(said.contains("rolled back") && said.contains("to its state before a benchmark"), "{said}");
    lab.clean_up();
    lab.run("probe layout work/a.disk --json");
    running(&lab, line).kill();
    let output = lab.try_run("bench tiny.toml --on work/a.disk --against none --operations 160 --json");
    let err = text(&output.stderr);
    assert!(output.status.success() && err.contains("was not rolled back"), "{err}");
    let after = document("bench tiny.toml", &output);
    assert_eq!(after["sha256"], before["sha256"]);
    assert!(!lab.work().join("a.benchmark").exists());
    let disk = lab.json(&format!("disk list {}", image.display()));
    assert_eq!(disk["snapshots"], Value::Array(Vec::new()), "snapshots of benchmarks must be removed");
    lab.clean_up();
}

#[test]
fn image_is_unchanged_however_a_benchmark_ends() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    lab.run("age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --name a --work work");
    let image = lab.work().join("a.img");
    let before = digest(&image);
    let line = "bench tiny.toml --on work/a.img --against none --time 10min";
    running(&lab, line).kill();
    assert_eq!(digest(&image), before);
    let said = lab.run("cleanup");
    assert!(said.contains("removed"), "{said}");
    lab.clean_up();
    assert_eq!(made_by_benchmarks(&lab), Vec::<String>::new());
    let child = running(&lab, line);
    child.signal(Signal::INT);
    let said = failed(child);
    assert!(said.contains("a is unchanged") && said.contains(&before), "{said}");
    // A log without limit fills the file system.
    std::fs::write(
        lab.path().join("full.toml"),
        TINY.replace("append 1KiB to log", "append 1MiB to log").replace("most_bytes", "# "),
    )
    .unwrap();
    let output = lab.try_run("bench full.toml --on work/a.img --time 10min");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("No space left on device").count(), 1, "{said}");
    assert!(said.contains("ended the run") && said.contains("a is unchanged"), "{said}");
    assert_eq!(digest(&image), before);
    assert_eq!(made_by_benchmarks(&lab), Vec::<String>::new());
    lab.nothing_left();
}

#[test]
fn modelled_disk_is_rolled_back_however_a_benchmark_ends() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    lab.run("age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --disk ideal --name a --work work");
    let before = lab.json("bench tiny.toml --on a --work work --against none --operations 160");
    let sha256 = before["sha256"].as_str().unwrap();
    let line = "bench tiny.toml --on a --work work --against none --time 10min";
    let child = running(&lab, line);
    child.signal(Signal::INT);
    let said = failed(child);
    assert!(said.contains("a is rolled back") && said.contains(sha256), "{said}");
    let child = running(&lab, line);
    lab.run("disk fault work/a.disk power-cut");
    let said = failed(child);
    assert!(
        said.contains("ended the run") && said.contains("a is rolled back") && said.contains(sha256),
        "{said}"
    );
    assert_eq!(made_by_benchmarks(&lab), Vec::<String>::new());
    lab.nothing_left();
}

#[test]
fn device_is_restored_block_by_block() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    let device = LoopDevice::new(&lab.path().join("drive"), 64 << 20);
    let name = &device.0;
    lab.run(&format!(
        "age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --device {name} --erase {name} --name a --work work"
    ));
    let before = digest(Path::new(name));
    let outcome = lab.json("bench tiny.toml --on a --work work --operations 800 --repeat 2");
    assert_eq!((&outcome["kept"], &outcome["sha256"]), (&"restored".into(), &before.clone().into()));
    assert!(outcome["restored_bytes"].as_u64().unwrap() > 0);
    let now = || {
        disk::drop_device_cache(Path::new(name)).unwrap();
        digest(Path::new(name))
    };
    assert_eq!(now(), before);
    running(&lab, "bench tiny.toml --on a --work work --against none --time 10min").kill();
    let said = lab.run("cleanup");
    assert!(said.contains("restored"), "{said}");
    assert_eq!(now(), before);
    drop(device);
    lab.nothing_left();
}

#[test]
fn foreign_device_is_refused() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    let device = LoopDevice::new(&lab.path().join("drive"), 16 << 20);
    let made = Command::new("mkfs.ext4").args(["-q", "-L", "precious", &device.0]).status().unwrap();
    assert!(made.success());
    let before = digest(Path::new(&device.0));
    std::fs::write(lab.path().join("job.fio"), "[j]\nrw=write\nsize=1m\n").unwrap();
    for what in ["tiny.toml", "fio job.fio"] {
        if what.starts_with("fio") && !testing::has_tool("fio") {
            continue;
        }
        let line = format!("bench {what} --on {}", device.0);
        lab.refused_with(&line, "its file system was not created by senesce");
    }
    disk::drop_device_cache(Path::new(&device.0)).unwrap();
    assert_eq!(digest(Path::new(&device.0)), before);
    drop(device);
    lab.nothing_left();
}

#[test]
fn missing_fio_is_named_with_its_package() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("d")).unwrap();
    std::fs::write(lab.path().join("job.fio"), "[j]\nrw=write\nsize=1m\n").unwrap();
    let output =
        lab.command("bench fio job.fio --on d".split_whitespace()).env("PATH", "/nowhere").output().unwrap();
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("fio is not on the PATH: apt install fio"),
        "{said}"
    );
}

#[test]
fn fio_runs_its_jobs_on_an_aged_image() {
    needs!("ext4");
    if !testing::has_tool("fio") {
        return;
    }
    let lab = Lab::new();
    std::fs::write(lab.path().join("job.fio"), "[j]\nrw=randrw\nsize=1m\nbs=4k\nioengine=psync\n").unwrap();
    lab.run("age --fs ext4 --size 64MiB --fullness 0.5 --profile wang_os --name a --work work");
    let before = digest(&lab.work().join("a.img"));
    let outcome = lab.json("bench fio job.fio --on work/a.img --repeat 2");
    assert_eq!(outcome["sha256"], before.clone());
    let jobs = outcome["jobs"].as_array().unwrap();
    assert_eq!(
        jobs.iter().map(|job| job["direction"].as_str().unwrap()).collect::<Vec<_>>(),
        ["read", "write"]
    );
    for side in ["aged", "unaged"] {
        assert!(jobs[0]["sides"][side]["iops"]["median"].as_f64().unwrap() > 0.0);
    }
    assert!(jobs[1]["iops_ratio"]["median"].as_f64().unwrap() > 0.0);
    assert_eq!(digest(&lab.work().join("a.img")), before);
    let csv = lab.run("export --work work");
    assert!(csv.contains("j_read_iops") && csv.contains("j_write_p99_us"), "{csv}");
    std::fs::write(lab.path().join("far.fio"), "[j]\nrw=write\nsize=1m\nfilename=/etc/fio\n").unwrap();
    lab.refused("bench fio far.fio --on work/a.img", "is outside the directory of the job");
    std::fs::write(lab.path().join("bad.fio"), "[j]\nrw=sideways\n").unwrap();
    lab.refused("bench fio bad.fio --on work/a.img", "fio of");
    lab.nothing_left();
}

#[test]
fn bad_personalities_are_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("d")).unwrap();
    std::fs::write(lab.path().join("bad.toml"), TINY.replace("read whole", "read half")).unwrap();
    let changed = |name: &str, from: &str, to: &str| {
        assert!(TINY.contains(from));
        std::fs::write(lab.path().join(name), TINY.replace(from, to)).unwrap();
    };
    changed("unknown.toml", "threads = 4", "treads = 4");
    changed("idle.toml", "threads = 4", "threads = 0");
    changed("gamma.toml", "mean_bytes = 8_000", "mean_bytes = 8_000\nshape = 0.5");
    changed("empty.toml", &TINY[TINY.find("[set.files]").unwrap()..], "");
    for (line, expected) in [
        ("bench fileserver", "--on"),
        ("bench personality mailserver --on d", "fileserver, varmail, webserver"),
        (
            "bench bad.toml --on d",
            "bad.toml is not a personality: line 9: step \"2 times: open files; read half; close\"",
        ),
        ("bench unknown.toml --on d", "unknown.toml is not a personality: line 5: unknown field `treads`"),
        (
            "bench idle.toml --on d",
            "idle.toml is not a personality: line 5: it must have 1 to 4096 threads, not 0",
        ),
        (
            "bench gamma.toml --on d",
            "gamma.toml is not a personality: line 19: set \"files\" has the shape 0.5",
        ),
        ("bench empty.toml --on d", "empty.toml is not a personality: line 1: missing field `set`"),
        ("bench missing.toml --on d", "missing.toml"),
        ("bench fileserver --on nothing --work w", "no aged file system named nothing"),
        ("bench fileserver --on nothing/here", "no aged file system named here"),
        ("bench varmail --on d --threads 0", "--threads"),
        ("bench varmail --on d --scale 0", "--scale"),
        ("bench varmail --on d --disk ssd-sata", "is a directory"),
        ("bench varmail --on d --dirty 8M", "it is a directory on a shared disk"),
        ("bench varmail --on d --disk nothing", "no device model named"),
    ] {
        lab.refused(line, expected);
    }
    if testing::has_tool("fio") {
        lab.refused("bench fio missing.fio --on d", "missing.fio");
    }
}

/// A figure of two personalities at a size that runs for a moment.
#[test]
fn experiment_ages_a_file_system_once_for_all_settings() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    let experiment = r#"
figure = "mine"
title = "tiny"
source = "a test"
fs = ["ext4"]
disks = ["ssd-sata"]
round = { label = "overwrites" }
option = [{ name = "one", workload = { threads = 1 } }, { name = "two", workload = { threads = 2 } }]
scale.small = { size_bytes = 67_108_864, rounds = [25], workload = { kind = "personality", personality = "tiny.toml", profile = "wang_os", fullness = 0.5, time_s = 0.2 } }
plot = [{ title = "rate", y = "operations_per_s", axis = { label = "rate" } }]
"#;
    std::fs::write(lab.path().join("mine.toml"), experiment).unwrap();
    // The run fails if it ages for that setting, because it cannot create the file of the stop.
    for (setting, succeeds) in [("one", false), ("two", true)] {
        let work = format!("run mine.toml --work {setting}");
        let mut command = lab.command(work.split(' '));
        command.env("SENESCE_TEST_STOP_AT", format!("missing/stop {setting}: aging"));
        let output = lab.output(command);
        assert_eq!(output.status.success(), succeeds, "{}", String::from_utf8_lossy(&output.stderr));
    }
    lab.nothing_left();
}

/// A figure of personalities at a size that runs for a moment.
#[test]
fn experiment_runs_personalities_on_aged_file_systems() {
    needs!("ext4");
    let lab = Lab::new();
    tiny(&lab);
    let experiment = r#"
figure = "mine"
title = "tiny"
source = "a test"
fs = ["ext4"]
disks = ["ssd-sata"]
round = { label = "overwrites" }
scale.small = { size_bytes = 67_108_864, rounds = [25], repeat = 2, workload = { kind = "personality", personality = "tiny.toml", profile = "wang_os", fullness = 0.5, time_s = 2 } }
plot = [{ title = "rate", y = "operations_per_s", axis = { label = "rate" } }]

[[claim]]
where = "nowhere"
states = "it runs"
measure = "operations_ratio"
trend = { above = 0.0 }

[[claim]]
where = "nowhere"
states = "one file system changes its rank"
measure = "operations_per_s"
reorders = true
"#;
    std::fs::write(lab.path().join("mine.toml"), experiment).unwrap();
    let outcome = lab.json("run mine.toml --work w");
    assert_eq!(outcome["failed"], Value::Array(Vec::new()), "{outcome}");
    let claims = outcome["claims"].as_array().unwrap();
    let verdicts: Vec<&Value> = claims.iter().map(|claim| &claim["verdict"]).collect();
    assert_eq!(verdicts, ["holds", "does_not_hold"], "{claims:?}");
    let aged = &outcome["checkpoints"][0];
    assert_eq!(aged["side"], "aged");
    for measure in
        ["operations_per_s", "operations_ratio", "mib_per_s", "disk_share", "read_p999_us", "fsync_max_us"]
    {
        assert!(aged[measure].as_f64().is_some_and(|value| value > 0.0), "{measure} in {aged}");
    }
    let again = lab.json("run mine.toml --work w --resume");
    assert_eq!(
        again["checkpoints"], outcome["checkpoints"],
        "a resumed experiment must measure nothing again"
    );
    lab.nothing_left();
}
