//! Tests of virtual time: equal results in each run, differences of file systems without repetitions, and refused commands.

use crate::common::{Lab, child_named, digest, document, text, wait_for_end};
use serde_json::Value;

/// A personality that runs for a moment, with the threads and syncs of a mail server.
const TINY: &str = r#"
name = "tiny"
title = "a little of all"
source = "a test"
threads = 4
io_bytes = 65_536
loop = [
    "create files; append 4KiB; fsync; close",
    "open files; read whole; close",
    "delete files",
]

[set.files]
files = 100
mean_bytes = 8_000
width = 20
preallocated = 0.5
"#;

/// A directory with the personality, and an aged file system `a`.
fn aged(fs: &str) -> Lab {
    let lab = Lab::new();
    std::fs::write(lab.path().join("tiny.toml"), TINY).unwrap();
    lab.run(&format!(
        "age --fs {fs} --size 64MiB --fullness 0.5 --profile wang_os --overwrites 2 --name a --work work"
    ));
    lab
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn personality_in_virtual_time_repeats_to_the_byte() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = aged("ext4");
    let image = lab.work().join("a.img");
    let (before, files) = (digest(&image), lab.entries().len());
    let line = "bench personality tiny.toml --on work --clock virtual --operations 2000 --seeds 2";
    let [first, second] = [(); 2].map(|()| lab.json(line));
    assert_eq!(first, second);
    assert_eq!(digest(&image), before);
    assert_eq!(lab.entries().len(), files, "copies must be removed");
    let clock = &first["virtual_clock"];
    assert_eq!(clock["seeds"], serde_json::json!([42, 43]));
    assert!(clock["meaning"].as_str().unwrap().contains("no hardware"), "{clock}");
    for side in ["aged", "unaged"] {
        let runs = first["sides"][side]["runs"].as_array().unwrap();
        assert!(runs.len() == 2 && runs.iter().all(|run| number(&run["operations"]) >= 2000.0), "{side}");
        assert_ne!(runs[0], runs[1], "seeds must differ");
    }
    let longest = &first["ratio"]["latency"]["create"]["max"];
    assert!(number(&longest["median"]) > 0.0, "{longest}");
    let runs = lab.run("export --work work");
    assert!(runs.contains("create_max_us") && runs.contains("unaged"), "{runs}");
    lab.nothing_left();
}

#[test]
fn options_of_mkfs_are_compared_without_repeating_a_run() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = aged("ext4");
    let mut command = lab.command(
        "bench personality tiny.toml --on a --work work --clock virtual --operations 800 --seeds 1 --json"
            .split(' '),
    );
    // Checksums of metadata are computed by the processor, which here has no instruction for them.
    command.args(["--mkfs-opts", "-O ^metadata_csum"]);
    let output = lab.output(command);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let outcome = document("bench tiny.toml", &output);
    let sides: Vec<&String> = outcome["sides"].as_object().unwrap().keys().collect();
    assert_eq!(sides, ["unaged", "unaged, -O ^metadata_csum"]);
    let ratio = &outcome["ratios"]["unaged, -O ^metadata_csum / unaged"];
    assert!(number(&ratio["latency"]["fsync"]["median"]["median"]) < 0.9, "{ratio}");
    assert!(outcome["ratio"].is_null(), "nothing aged is measured");
    lab.nothing_left();
}

#[test]
fn metadata_benchmark_runs_in_virtual_time() {
    needs!("virtual machines");
    needs!("betreefs");
    let lab = aged("betreefs");
    let outcome = lab.json(
        "bench metadata --on a --work work --clock virtual --seeds 1 --data-sets 2 --precreate 20 --iterations 10 --repeats 1",
    );
    for side in ["aged", "unaged"] {
        let phases = outcome["sides"][side][0]["phases"].as_array().unwrap();
        assert!(phases.len() == 3 && phases.iter().all(|phase| phase["errors"] == 0), "{outcome}");
    }
    let benchmark = &outcome["ratios"]["aged / unaged"][1];
    assert_eq!(benchmark["phase"], "benchmark");
    assert!(number(&benchmark["latency"]["stat"]["p99"]["median"]) > 0.0, "{benchmark}");
    let runs = lab.run("export --work work");
    assert!(runs.contains("objects_per_s") && runs.contains("a, unaged"), "{runs}");
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    for said in ["Metadata benchmark on a, aged and unaged, in virtual time", "the time of no hardware"] {
        assert!(page.contains(said), "the page does not say {said:?}");
    }
    lab.nothing_left();
}

#[test]
fn probes_run_in_virtual_time() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = aged("ext4");
    let [first, second] = [(); 2].map(|()| lab.json("probe scan work/a.img --clock virtual"));
    assert_eq!(first, second);
    let scan = &first["scans"][0]["scan"];
    assert!(number(&scan["wall_s"]) > 0.0 && number(&scan["files"]) > 0.0, "{scan}");
    assert!(first["virtual_clock"]["machine"].as_str().unwrap().starts_with("QEMU"), "{first}");
    let said = lab.run("probe new-file work/a.img --size 4MiB --clock virtual");
    assert!(said.starts_with("virtual time") && said.contains("4 MiB in"), "{said}");
    let output = lab.try_run("probe scan work/a.img --clock virtual --causes");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("block requests cannot be recorded"), "{said}");
    assert_eq!(said.matches("senesce: ").count(), 1, "one error must be reported: {said}");
    lab.nothing_left();
}

/// An experiment with the personality on a file system that this kernel lacks.
const EXPERIMENT: &str = r#"
figure = "tails"
title = "The slowest operations"
source = "a test"
fs = ["ext4-dax"]
disks = ["ideal"]
round = { label = "overwrites" }

[scale.small]
size_bytes = 67_108_864
rounds = [1]
workload = { kind = "personality", personality = "tiny.toml", profile = "wang_os", fullness = 0.5, dirty_bytes = 1_000_000, time_s = 0.05, clock = "virtual" }

[[plot]]
title = "Slowest fsync"
y = "fsync_max_us"
axis = { label = "latency", unit = "µs" }
"#;

#[test]
fn experiment_in_virtual_time_ages_and_measures_what_this_kernel_lacks() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = Lab::new();
    std::fs::write(lab.path().join("tiny.toml"), TINY).unwrap();
    std::fs::write(lab.path().join("tails.toml"), EXPERIMENT).unwrap();
    let [first, second] = ["one", "two"].map(|work| lab.json(&format!("run tails.toml --work {work}")));
    assert_eq!(first["checkpoints"], second["checkpoints"]);
    let checkpoints = first["checkpoints"].as_array().unwrap();
    for side in ["aged", "unaged"] {
        let found = checkpoints.iter().find(|checkpoint| checkpoint["side"] == side);
        let slowest = &found.unwrap_or_else(|| panic!("{side}: {first}"))["fsync_max_us"];
        assert!(number(slowest) > 0.0, "{side}: {first}");
    }
    lab.run("report --work one -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("the time of no hardware"), "the page does not say what its time is");
    for (from, to, said) in [
        (r#"["ideal"]"#, r#"["ssd-sata"]"#, "needs disks"),
        ("67_108_864", "67_108_000", "not a multiple of 2 MiB"),
    ] {
        std::fs::write(lab.path().join("wrong.toml"), EXPERIMENT.replace(from, to)).unwrap();
        lab.refused("run wrong.toml --work one", said);
    }
    lab.nothing_left();
}

#[test]
fn machine_with_virtual_clock_ends_with_its_program() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = aged("ext4");
    let image = lab.work().join("a.img");
    let before = digest(&image);
    let line = "bench personality tiny.toml --on work --clock virtual --time 10min --seeds 1";
    let started = || {
        let mut running = lab.start(line);
        let program = running.id();
        running.until("a virtual machine", || lab.runs("qemu-system"));
        let qemu = child_named("qemu-system", &running).unwrap_or_else(|| panic!("{program} has no machine"));
        (running, qemu)
    };
    let (running, qemu) = started();
    running.kill();
    wait_for_end(qemu);
    lab.clean_up();
    let (running, qemu) = started();
    let (said, _) = lab.interrupts(running);
    wait_for_end(qemu);
    assert!(said.last().unwrap().contains("interrupted; the image is unchanged"), "{said:?}");
    assert_eq!(digest(&image), before);
    let copies: Vec<String> =
        lab.entries().into_iter().filter(|name| name.contains("virtual-time")).collect();
    assert_eq!(copies, Vec::<String>::new());
}

#[test]
fn error_of_a_machine_with_virtual_clock_is_reported() {
    needs!("virtual machines");
    needs!("ext4");
    let lab = aged("ext4");
    let many = TINY.replace("files = 100", "files = 100_000");
    std::fs::write(lab.path().join("many.toml"), many).unwrap();
    let line = "bench personality many.toml --on a --work work --clock virtual --against none --seeds 1";
    let output = lab.try_run(line);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tiny needs") && said.contains("creates fewer files"), "{said}");
    assert_eq!(said.matches("senesce: ").count(), 1, "one error must be reported: {said}");
    lab.nothing_left();
}

#[test]
fn what_virtual_time_cannot_measure_is_refused() {
    needs!("ext4");
    let lab = aged("ext4");
    std::fs::create_dir(lab.path().join("dir")).unwrap();
    for (line, said) in [
        ("bench virtual-time-job", "runs only in a virtual machine"),
        ("bench personality tiny.toml --on work --kernel vmlinuz", "add --clock virtual"),
        ("bench personality tiny.toml --on work --mkfs-opts=-I128", "add --clock virtual"),
        ("bench personality tiny.toml --on work --clock virtual --disk ssd-sata", "leave --disk out"),
        ("bench personality tiny.toml --on work --clock virtual --repeat 2", "use --seeds"),
        ("bench personality tiny.toml --on dir --clock virtual", "virtual time needs an image"),
        ("bench metadata --root dir --clock virtual", "add --on"),
        (
            "bench metadata --on a --work work --clock virtual --kernel tiny.toml",
            "not an x86 Linux kernel image",
        ),
        ("probe scan dir --clock virtual", "virtual time needs one"),
    ] {
        lab.refused(line, said);
    }
}
