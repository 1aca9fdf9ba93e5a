//! Every command with `--json`: the document of a success, as Python reads it, and the object of an error.

use crate::common::{Lab, Mounted, document, error_object, text};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command, arguments with which it succeeds after those above it, and arguments with which it fails.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("doctor", "", "nowhere"),
    ("cleanup", "", "nowhere"),
    (
        "age",
        "--fs ext4 --size 64MiB --fullness 0.5 --overwrites 1 --name a --work work --save-trace a.parquet",
        "--fs nowhere",
    ),
    ("compare", "a --work work --repeat 1", "nowhere --work work"),
    (
        "gate",
        "--learn 5 --against base.json --fs ext4 --size 16MiB --fullness 0.5 --overwrites 1 --no-new-file --work gate",
        "--against nowhere.json",
    ),
    ("compare-layout", "work/a.img work/a.img", "work/a.img nowhere"),
    ("report", "--work work -o page.html", "--work nowhere"),
    ("probe scan", "work/a.img --causes --save-log log.parquet", "nowhere"),
    ("probe layout", "work/a.img", "nowhere"),
    ("probe free-space", "work/a.img", "nowhere"),
    ("probe new-file", "work/a.img --size 1MiB", "nowhere"),
    (
        "probe sequential",
        "--on a --work work --sizes 256KiB --total 4MiB --runs 1",
        "--on nowhere --work work",
    ),
    ("probe hot-files", "--on a --work work --runs 1", "--on nowhere --work work"),
    ("probe transfer-size", "work/a.img --sizes 4KiB --reads 5", "nowhere"),
    ("probe warm-scan", "work/a.img --memory 64MiB --repeat 1", "nowhere --memory 64MiB"),
    (
        "bench metadata",
        "--root objects --data-sets 2 --precreate 5 --iterations 3 --repeats 1",
        "--import nowhere --work work",
    ),
    ("bench fio", "job.fio --on work/a.img", "nowhere --on work/a.img"),
    (
        "bench personality",
        "varmail --on work/a.img --scale 0.001 --operations 100",
        "nowhere --on work/a.img",
    ),
    ("profile list", "", "nowhere"),
    ("profile show", "agrawal", "nowhere"),
    ("profile check", "agrawal", "nowhere"),
    ("profile capture", "tree -o tree.toml", "nowhere -o none.toml"),
    ("snapshot take", "tree a.snap", "nowhere none.snap"),
    ("snapshot stat", "a.snap", "nowhere"),
    ("snapshot diff", "a.snap a.snap", "a.snap nowhere"),
    ("snapshot import", "--from find listing b.snap", "--from find nowhere none.snap"),
    ("trace from-snapshots", "before.snap a.snap -o b.parquet", "a.snap nowhere -o none.parquet"),
    ("trace show", "a.parquet", "nowhere"),
    ("trace stat", "a.parquet", "nowhere"),
    ("trace extract", "--git repository -o c.parquet", "--git nowhere -o none.parquet"),
    ("image save", "a --work work", "nowhere --work work"),
    ("image list", "", "--catalogue nowhere"),
    ("image show", "a", "nowhere"),
    ("image verify", "a", "nowhere"),
    ("image diff", "a a", "a nowhere"),
    ("image restore", "a --to back.img", "nowhere --to none.img"),
    ("probe write-amplification", "mnt-back.img -- true", "nowhere -- true"),
    ("image fetch", "b --catalogue list.toml", "nowhere --catalogue list.toml"),
    ("disk list", "disk", "nowhere"),
    ("disk models", "", "nowhere"),
    ("disk show", "hdd-7200", "nowhere"),
    ("disk check", "model.toml", "nowhere"),
    ("disk price", "log.parquet --model hdd-7200", "nowhere --model hdd-7200"),
    ("activity import", "--from strace calls a.jsonl", "--from strace nowhere none.jsonl"),
    ("activity record", "tree b.jsonl --for 1s", "nowhere none.jsonl"),
    ("activity show", "builtin", "nowhere"),
    ("betreefs check", "betree.img", "nowhere"),
    ("betreefs stat", "betree.img", "nowhere"),
    ("ffs", "--size 16MiB --policy original", "nowhere"),
    ("verify", "a.snap --against a.snap --work verify", "nowhere"),
    ("run", "figure.toml --work figure", "nowhere"),
    ("reproduce", "--list", "nowhere"),
    ("referee", "--repo history --fs ext4 --pulls 100 --work referee", "--repo nowhere"),
    ("store measures", "", "nowhere"),
    ("store merge", "work --into all.db", "nowhere --into none.db"),
    ("demo", "--size 64MiB --agings 1 --repeat 1 --work demo", "--size nowhere"),
];

/// Creates what the commands read.
fn prepare(lab: &Lab) {
    let write = |name: &str, text: &str| std::fs::write(lab.path().join(name), text).unwrap();
    for dir in ["tree", "objects"] {
        std::fs::create_dir(lab.path().join(dir)).unwrap();
    }
    write("tree/file", &"7".repeat(9000));
    write("listing", "d\t1\t2\t60\t0\t1.0\t1.0\t1.0\t\0f\t2\t1\t5\t8\t1.0\t1.0\t1.0\ta\0");
    write("calls", "1 1700000000.0 openat(AT_FDCWD</d>, \"a\", O_WRONLY|O_CREAT, 0644) = 3</d/a>\n");
    write("job.fio", "[j]\nrw=read\nsize=1m\n");
    write("model.toml", include_str!("../devices/hdd-7200.toml"));
    write("figure.toml", include_str!("../experiments/smith97-tab1.toml"));
    workload::git::sample::make(&lab.path().join("repository"), 3, 1).unwrap();
    workload::git::sample::make(&lab.path().join("history"), 120, 1).unwrap();
    lab.run("snapshot take tree before.snap");
    lab.run("disk create disk --size 64MiB");
    lab.run("betreefs mkfs --size 64MiB betree.img");
}

/// Writes the catalogue with the saved image `a`.
fn write_catalogue(lab: &Lab) {
    let saved = lab.path().join("library/a.aged");
    let sum = disk::checksum(&saved).unwrap();
    let text = format!("[[image]]\nname = \"b\"\nat = {saved:?}\nsha256 = \"{sum}\"\n");
    std::fs::write(lab.path().join("list.toml"), text).unwrap();
}

/// A line with the option `--json`.
fn with_json(line: &str) -> String {
    match line.split_once(" -- ") {
        Some((own, other)) => format!("{own} --json -- {other}"),
        None => format!("{line} --json"),
    }
}

/// Parses a document with Python.
fn read_by_python(line: &str, document: &[u8]) {
    let mut python = Command::new("python3");
    python.args(["-m", "json.tool"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut python = python.spawn().unwrap();
    python.stdin.take().unwrap().write_all(document).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "senesce {line}: {}", text(&output.stderr));
}

/// The commands with the option, as in the names of their help files.
fn documented() -> BTreeSet<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/help");
    let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let with_json = files.filter(|file| std::fs::read_to_string(file).unwrap().contains("--json"));
    let name = |file: std::path::PathBuf| file.file_stem().unwrap().to_string_lossy().replace("senesce-", "");
    with_json.map(name).collect()
}

#[test]
fn every_command_prints_a_document_or_an_error_object() {
    needs!("ext4");
    if !testing::has_tool("fio") || !testing::has_tool("python3") {
        return;
    }
    let listed = COMMANDS.iter().map(|(command, ..)| command.replace(' ', "-")).collect::<BTreeSet<_>>();
    assert_eq!(listed, documented());
    let lab = Lab::new();
    prepare(&lab);
    for (command, succeeding, failing) in COMMANDS {
        if *command == "image fetch" {
            write_catalogue(&lab);
        }
        let image = lab.path().join("back.img");
        let mounted = (*command == "probe write-amplification").then(|| Mounted::new(&image, lab.path()));
        let line = format!("{command} {succeeding}");
        let mut run = lab.command(with_json(&line).split_whitespace());
        if *command == "demo" {
            run.env("PATH", lab.only_ext4());
        }
        let output = lab.output(run);
        assert!(output.status.success(), "senesce {line}\n{}", text(&output.stderr));
        document(&line, &output);
        read_by_python(&line, &output.stdout);
        drop(mounted);
        let line = format!("{command} {failing}");
        let output = lab.try_run(&with_json(&line));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(!output.status.success() && out.is_empty(), "senesce {line}\n{out}\n{err}");
        let error = error_object(err.lines().last().unwrap_or_default());
        assert_eq!(error["status"].as_i64(), output.status.code().map(i64::from), "senesce {line}: {error}");
        assert!(error["error"].as_str().unwrap().contains("nowhere"), "senesce {line}: {error}");
    }
    lab.nothing_left();
}
