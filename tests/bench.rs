//! The metadata benchmark: its output, its stored results and its errors.

use crate::common::{Lab, Running, document, text};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const SMALL: &str = "bench metadata --root o --data-sets 3 --precreate 40 --iterations 20 --repeats 2";

/// Files and directories below `root`, sorted.
fn names(root: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
        names.push(entry.path());
        names.extend(self::names(&entry.path()));
    }
    names.sort();
    names
}

/// By kind of operation: the number of successful and failed operations.
type Counts = BTreeMap<String, (u64, u64)>;

/// The operations of each phase.
fn operations(outcome: &Value) -> Vec<(String, Counts)> {
    let phases = outcome["phases"].as_array().unwrap();
    let count = |of: &Value| (of["done"].as_u64().unwrap(), of["errors"].as_u64().unwrap());
    let one = |phase: &Value| {
        let kinds = phase["operations"].as_object().unwrap();
        let kinds = kinds.iter().map(|(name, of)| (name.clone(), count(of))).collect();
        (phase["phase"].as_str().unwrap().to_owned(), kinds)
    };
    phases.iter().map(one).collect()
}

#[test]
fn threads_and_processes_do_the_same_operations() {
    let lab = Lab::new();
    for ranks in [1, 2, 4] {
        let mut seen = Vec::new();
        for how in ["", "--processes"] {
            let made = lab.json(&format!("{SMALL} --ranks {ranks} {how} --phases precreate,benchmark"));
            let left = names(&lab.path().join("o"));
            let cleaned = lab.json(&format!("{SMALL} --ranks {ranks} {how} --phases cleanup"));
            assert_eq!(names(&lab.path().join("o")), Vec::<PathBuf>::new());
            seen.push((operations(&made), operations(&cleaned), left));
        }
        assert!(seen[0] == seen[1], "{ranks} ranks: {seen:?}");
        let (made, cleaned, left) = &seen[0];
        assert_eq!(left.len() as u64, ranks * 3 * 41, "a directory and 40 files each");
        let each = ranks * 3;
        assert_eq!(made[0].1["create"], (each * 40, 0));
        for kind in ["stat", "read", "delete", "create"] {
            assert_eq!(made[1].1[kind], (each * 20, 0), "{kind}");
        }
        assert_eq!(cleaned[0].1["delete"], (each * 40, 0));
    }
}

#[test]
fn each_phase_is_reported_and_stored() {
    let lab = Lab::new();
    let outcome = lab.json(&format!("{SMALL} --ranks 2 --work work --name mine"));
    let phases = outcome["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["precreate", "benchmark", "benchmark", "cleanup"]);
    for phase in phases {
        for field in ["objects", "objects_per_s", "operations_per_s", "mib_per_s", "balance", "iteration"] {
            assert!(phase[field].is_number(), "{field} in {phase}");
        }
        assert_eq!(phase["errors"], 0);
    }
    let read = &phases[1]["latency_us"]["read"];
    let ordered =
        ["min", "q1", "median", "q3", "p90", "p99", "p999", "max"].map(|q| read[q].as_f64().unwrap());
    assert!(ordered.is_sorted() && ordered[0] > 0.0, "{read}");
    let csv = lab.run("export --work work");
    assert!(csv.lines().any(|line| line.contains("benchmark,objects_per_s")), "{csv}");
    assert!(!lab.path().join("senesce-metadata.json").exists(), "the progress file must be removed");
}

#[test]
fn text_output_can_be_imported() {
    let lab = Lab::new();
    let own = lab.run(&format!("{SMALL} --ranks 2"));
    std::fs::write(lab.path().join("own.txt"), &own).unwrap();
    let other = "benchmark process max:0.9s min:0.9s mean: 0.9s balance:99.1 stddev:0.0 rate:44444.4 iops/s \
                 objects:10000 rate:11111.1 obj/s tp:82.6 MiB/s op-max:1.0e-02s (3 errs)\n";
    std::fs::write(lab.path().join("other.txt"), other).unwrap();
    let imported = lab.json("bench metadata --import own.txt other.txt --work work");
    let own = imported[0]["phases"].as_array().unwrap();
    assert_eq!(own.len(), 4);
    assert!(own[1]["objects_per_s"].as_f64().unwrap() > 0.0 && own[1]["errors"] == 0);
    assert_eq!(imported[1]["phases"][0]["objects_per_s"], 11111.1);
    assert_eq!(imported[1]["phases"][0]["errors"], 3);
    let csv = lab.run("export --work work");
    assert!(csv.lines().any(|line| line.contains("11111.1")), "{csv}");
    std::fs::write(lab.path().join("nothing.txt"), "a\nb\n").unwrap();
    lab.refused("bench metadata --import nothing.txt --work none", "nothing.txt");
}

#[test]
fn corrupt_and_missing_objects_are_errors_and_cleanup_works() {
    let lab = Lab::new();
    lab.json(&format!("{SMALL} --phases precreate"));
    let set = lab.path().join("o/0_1");
    std::fs::remove_file(set.join("file-3")).unwrap();
    let mut bytes = std::fs::read(set.join("file-5")).unwrap();
    bytes[1000] ^= 1;
    std::fs::write(set.join("file-5"), bytes).unwrap();
    let output =
        lab.try_run(&format!("{} --phases benchmark --json", SMALL.replace("--repeats 2", "--repeats 1")));
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    for named in
        ["stat of object 3 in data set 0_1", "read of object 5 in data set 0_1", "2 operations failed"]
    {
        assert!(err.contains(named), "no {named:?} in {err}");
    }
    let outcome = document("bench metadata", &output);
    assert_eq!(outcome["phases"][0]["errors"], 2);
    lab.try_run(&format!("{SMALL} --phases cleanup --json"));
    assert_eq!(names(&lab.path().join("o")), Vec::<PathBuf>::new());
}

#[test]
fn killed_rank_is_named_and_ends_the_run() {
    let lab = Lab::new();
    let line =
        "bench metadata --root o --ranks 3 --processes --precreate 100 --iterations 50 --repeats 100000";
    let mut child = lab.start(line);
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    // Rank 0 is the main process.
    let ranks = || {
        let list = std::fs::read_to_string(&children).unwrap_or_default();
        list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()).collect::<Vec<_>>()
    };
    child.until("objects of all ranks", || ranks().len() >= 2 && names(&lab.path().join("o")).len() >= 3000);
    let pid = rustix::process::Pid::from_raw(ranks()[0]).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    // The run ends because of the lost rank: the repeats would take hours.
    let output = child.wait();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("rank 1"), "{err}");
    // The progress of the ranks is unknown: cleanup reports missing objects, and removes everything.
    lab.try_run(&format!("{line} --phases cleanup"));
    assert_eq!(names(&lab.path().join("o")), Vec::<PathBuf>::new());
}

#[test]
fn cleanup_removes_objects_after_interrupt() {
    let lab = Lab::new();
    let line = "bench metadata --root o --ranks 2 --precreate 100 --iterations 50 --repeats 100000";
    let mut child = lab.start(line);
    child.until("objects", || names(&lab.path().join("o")).len() >= 2000);
    child.signal(Signal::INT);
    let output = child.wait();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("--phases cleanup"), "{err}");
    lab.run(&format!("{line} --phases cleanup"));
    assert_eq!(names(&lab.path().join("o")), Vec::<PathBuf>::new());
}

#[test]
fn invalid_benchmarks_are_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("full")).unwrap();
    std::fs::write(lab.path().join("full/precious"), "").unwrap();
    for (line, expected) in [
        ("bench metadata", "--root"),
        ("bench metadata --root full", "not empty"),
        ("bench metadata --root o --ranks 0", "--ranks"),
        ("bench metadata --root o --data-sets 0", "data set"),
        ("bench metadata --root o --iterations 20 --precreate 10", "20 iterations"),
        ("bench metadata --root o --object-size 9..1", "object-size"),
        ("bench metadata --root o --waiting often", "waiting"),
        ("bench metadata --root o --phases benchmark", "senesce-metadata.json"),
        ("bench metadata --root o --free-memory 1MiB", "too few"),
        ("bench metadata --import missing.txt --work w", "missing.txt"),
    ] {
        lab.refused(line, expected);
    }
}

/// A checksum of an image.
fn checksum(path: &Path) -> u64 {
    use std::hash::{DefaultHasher, Hasher as _};
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read(path).unwrap());
    hasher.finish()
}

const ON: &str = "--data-sets 3 --precreate 40 --iterations 20 --repeats 2 --ranks 2";

#[test]
fn aged_image_is_compared_and_stays_unchanged() {
    needs!("ext4");
    let lab = Lab::new();
    lab.run("age --intrafile --fs ext4 --size 64MiB --name a --work work");
    let image = lab.work().join("a.img");
    let before = checksum(&image);
    let on = lab.json(&format!("bench metadata --on work/a.img {ON}"));
    assert_eq!(on["kept"], "copied");
    assert_eq!(on["pairs"].as_array().unwrap().len(), 4);
    assert!(on["pairs"][1]["rate_ratio"].as_f64().unwrap() > 0.0);
    assert!(on["pairs"][1]["latency_ratio"]["read"]["p99"].as_f64().unwrap() > 0.0);
    assert!(on["aged"]["phases"][0]["objects"] == 240 && on["unaged"]["phases"][0]["objects"] == 240);
    assert_eq!(checksum(&image), before);
    let left: Vec<String> = lab.entries().into_iter().filter(|name| name.contains("benchmark")).collect();
    assert!(left.is_empty(), "{left:?}");
    lab.nothing_left();
    let csv = lab.run("export --work work");
    assert!(csv.contains("a, aged") && csv.contains("a, unaged"), "each side must be a separate run");
    lab.refused("bench metadata --on none --work work", "no aged file system named none");
}

#[test]
fn modelled_disk_is_rolled_back_even_after_a_kill() {
    needs!("ext4");
    let lab = Lab::new();
    lab.run("age --intrafile --fs ext4 --size 64MiB --disk ideal --name a --work work");
    let scan = |lab: &Lab| lab.json("probe layout work/a.disk")["files"].clone();
    let files = scan(&lab);
    let line = format!("bench metadata --on a --work work {ON}").replace("--repeats 2", "--repeats 500");
    let mut command = lab.command(line.split_whitespace());
    let mut child = Running::new(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The aged side runs first.
    assert!(lines.any(|line| line.starts_with("precreate")));
    child.kill();
    lab.clean_up();
    assert_eq!(scan(&lab), files, "cleanup must roll back the disk");
    let on = lab.json(&format!("bench metadata --on a --work work {ON}"));
    assert_eq!(on["kept"], "rolled-back");
    assert_eq!(scan(&lab), files);
    assert!(!lab.work().join("a.benchmark").exists());
    lab.nothing_left();
}

#[test]
fn control_group_limits_memory() {
    if let Err(why) = disk::MemoryLimit::available() {
        return testing::skip("memory controller", why);
    }
    let lab = Lab::new();
    let outcome = lab.json(&format!("{SMALL} --ranks 2 --memory 64MiB"));
    assert_eq!(outcome["memory"]["by"], "control-group");
    assert_eq!(outcome["memory"]["limit_bytes"], 64 << 20);
    assert!(outcome["memory"]["free_bytes"].as_u64().unwrap() <= 64 << 20);
    assert_eq!(outcome["phases"].as_array().unwrap().len(), 4);
    assert_eq!(names(&lab.path().join("o")), Vec::<PathBuf>::new());
    lab.nothing_left();
}
