//! Hostile input: it is refused at once with one clear line, nothing is lost, and no number is silently wrong.

use crate::common::{Lab, LoopDevice, document, text};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Barrier;

/// Waits for a program to end; kills one that hangs.
fn run_to_end(command: &mut Command) -> Output {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    struct Killed<'a>(&'a mut std::process::Child);
    impl Drop for Killed<'_> {
        fn drop(&mut self) {
            // Fails if the program has ended, which is fine.
            let _ = self.0.kill();
        }
    }
    {
        let running = Killed(&mut child);
        testing::wait_until("the end of the program", || running.0.try_wait().unwrap().is_some());
    }
    child.wait_with_output().unwrap()
}

/// Checks that the command prints an error with `expected`, exits with status 1 or 2, and plans and prints nothing.
fn refused(command: &mut Command, expected: &str) {
    let output = run_to_end(command);
    let err = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{command:?}: {:?}\n{err}", output.status);
    assert!(err.contains(expected), "{command:?}: no {expected:?} in\n{err}");
    assert!(!err.contains("panicked") && !err.contains("bound:"), "{command:?}\n{err}");
    assert!(output.stdout.is_empty(), "{command:?}");
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

fn words(line: &str) -> std::str::SplitWhitespace<'_> {
    line.split_whitespace()
}

#[test]
fn new_file_has_same_size_on_both_sides_or_is_not_measured() {
    needs!("ext4");
    let lab = Lab::new();
    // An ext4 of this size at the default fullness has no free space for users.
    for (name, fullness) in [("full", "0.8"), ("half", "0.5")] {
        lab.run(&format!(
            "age --fs ext4 --size 256MiB --fullness {fullness} --overwrites 1 --name {name} --work work"
        ));
    }
    let compare = |name: &str| -> (Value, String) {
        let output = lab.try_run(&format!("compare {name} --work work --repeat 1 --json"));
        let err = text(&output.stderr);
        assert!(output.status.success(), "{err}");
        (document("compare", &output)["pairs"][0].take(), err)
    };
    let (full, said) = compare("full");
    for side in ["aged", "unaged"] {
        assert_eq!(full[side]["new_file_bytes"], Value::Null, "{side}");
        assert_eq!(full[side]["new_file_fragments"], Value::Null, "{side}");
    }
    assert!(said.contains("fragments of a new file: not measured, because the aged side has only"), "{said}");
    let (half, _) = compare("half");
    let bytes = |side: &str| half[side]["new_file_bytes"].as_f64().unwrap();
    assert_eq!(bytes("aged"), bytes("unaged"));
    assert!(bytes("aged") > f64::from(1 << 20));
    assert!(half["aged"]["new_file_fragments"].as_f64().unwrap() >= 1.0);
    lab.nothing_left();
}

#[test]
fn sqlite_files_of_other_programs_are_refused() {
    let lab = Lab::new();
    drop(results::Store::open(&lab.path().join("ours.db")).unwrap());
    let ours = std::fs::read(lab.path().join("ours.db")).unwrap();
    // A GeoPackage is identified by its application id at byte 68 (SQLite file format).
    let mut geo = ours.clone();
    geo[68..72].copy_from_slice(b"GPKG");
    let files = [
        ("geo.db", geo, "of another program (application id 0x47504b47)"),
        ("notes.db", b"buy milk\n".repeat(99), "it is not an SQLite database"),
    ];
    for (name, bytes, why) in files {
        let path = lab.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        for line in [
            format!("report --store {name} -o page.html"),
            format!("export --store {name}"),
            format!("reproduce fast17-fig1 --store {name} --work work"),
            format!("store merge ours.db --into {name}"),
            format!("store merge {name} --into ours.db"),
        ] {
            lab.refused(&line, why);
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "{line}");
        }
    }
    std::fs::write(lab.path().join("empty.db"), "").unwrap();
    lab.refused("report --store empty.db -o page.html", "contains no results");
    assert!(std::fs::read(lab.path().join("empty.db")).unwrap().is_empty());
    // An empty store of ours has a different error.
    lab.refused("report --store ours.db -o page.html", "no complete comparison");
}

#[test]
fn names_that_are_not_utf_8_are_refused_at_once() {
    let lab = Lab::new();
    let strange = OsStr::from_bytes(b"z\xff");
    let said = r#"argument "z\xFF" is not UTF-8"#;
    for line in [
        "age --size 64MiB --work",
        "age --size 64MiB --work work --image-dir",
        "age --size 64MiB --work work --dir",
        "age --size 64MiB --work work --save-trace",
        "age --size 64MiB --work work --git",
        "age --size 64MiB --work work --snapshots",
        "compare --work",
        "bench fio job --on",
        "bench metadata --on",
        "reproduce fast17-fig1 --work",
        "run",
        "verify --builtin --work",
        "demo --work",
    ] {
        refused(lab.command(words(line)).arg(strange), said);
    }
    let dir = lab.path().join(strange);
    std::fs::create_dir(&dir).unwrap();
    refused(lab.command(words("age --size 64MiB --work work")).current_dir(&dir), "is not UTF-8");
    // A symbolic link to the same directory.
    std::os::unix::fs::symlink(&dir, lab.path().join("link")).unwrap();
    for line in ["age --size 64MiB --work link/work", "age --size 64MiB --work work --image-dir link"] {
        refused(&mut lab.command(words(line)), "is not UTF-8");
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    assert!(!lab.work().exists());
    // Commands that record nothing accept any file name.
    std::fs::write(dir.join(OsStr::from_bytes(b"p\xff.toml")), lab.run("profile show agrawal")).unwrap();
    let output =
        run_to_end(lab.command(["profile", "check"]).arg(dir.join(OsStr::from_bytes(b"p\xff.toml"))));
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn fifos_are_refused() {
    let lab = Lab::new();
    run("mkfifo", &[lab.path().join("fifo").to_str().unwrap()]);
    let said = "it is a FIFO (named pipe), not ";
    for line in [
        "age --profile fifo --plan-only",
        "age --disk fifo --plan-only",
        "age --snapshots fifo --work work",
        "age --trace fifo --work work",
        "profile check fifo",
        "profile show fifo",
        "trace stat fifo",
        "trace show fifo",
        "trace convert fifo out.jsonl",
        "snapshot stat fifo",
        "snapshot diff fifo fifo",
        "snapshot import --from find fifo out.parquet",
        "activity show fifo",
        "activity import --from strace fifo out.jsonl",
        "disk check fifo",
        "bench fio fifo --on .",
        "betreefs check fifo",
        "ffs fifo",
        "verify fifo --against fifo",
        "run fifo --work work",
        "serve --token-file fifo",
    ] {
        refused(&mut lab.command(words(line)), said);
    }
    std::fs::create_dir_all(lab.path().join("run")).unwrap();
    run("mkfifo", &[lab.path().join("run/1.json").to_str().unwrap()]);
    let output = run_to_end(&mut lab.command(["cleanup"]));
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    std::fs::remove_file(lab.path().join("run/1.json")).unwrap();
    std::fs::create_dir(lab.work()).unwrap();
    run("mkfifo", &[lab.work().join("a.json").to_str().unwrap()]);
    refused(&mut lab.command(words("compare a --work work")), said);
}

#[test]
fn full_work_directory_is_reported_before_copying() {
    needs!("ext4");
    let lab = Lab::new();
    let small = Mount::tmpfs(&lab.path().join("small"), "80m");
    lab.run("age --fs ext4 --size 64MiB --work small/work");
    let work = small.0.join("work");
    let before = lab.entries();
    let refusals = [
        ("compare --work small/work --repeat 1", "the unaged copy needs "),
        ("probe sequential --on small/work/ext4-agrawal-42", "the unaged copy needs "),
    ];
    for (line, said) in refusals {
        let output = run_to_end(&mut lab.command(words(line)));
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains(said) && err.contains(work.to_str().unwrap()), "{err}");
        assert!(err.contains(" free; free some space"), "{err}");
    }
    assert_eq!(lab.entries(), before);
    drop(small);
    lab.nothing_left();
}

/// A mount made by the test. Unmounted on drop.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(dir: &Path, size: &str) -> Mount {
        std::fs::create_dir(dir).unwrap();
        run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "none", dir.to_str().unwrap()]);
        Mount(dir.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn out_of_range_numbers_are_refused() {
    let lab = Lab::new();
    for bad in ["inf", "-inf", "NaN", "1e308", "1e7", "0", "-1"] {
        let line = format!("age --size 64MiB --plan-only --overwrites={bad}");
        refused(&mut lab.command(words(&line)), "must be a number above 0 and at most 1000000");
    }
    refused(&mut lab.command(words("probe hot-files . --now NaN")), "must be a number of seconds since 1970");
    let good = lab.run("profile show agrawal");
    for (from, to, said) in [
        ("weight = [1.0,", "weight = [1e308,", "[age] weight 1e308 exceeds 1e15"),
        ("weight = [1.0,", "weight = [inf,", "weight inf"),
        ("weight = [1.0,", "weight = [nan,", "weight NaN"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        std::fs::write(lab.path().join("bad.toml"), bad).unwrap();
        refused(&mut lab.command(words("age --profile bad.toml --plan-only")), said);
    }
}

#[test]
fn devices_are_checked_before_planning() {
    needs!("ext4");
    let lab = Lab::new();
    let image = lab.path().join("disk.img");
    let device = LoopDevice::new(&image, 320 << 20);
    let name = device.0.as_str();
    let age = |name: &str, fs: &str, size: &str| {
        let line = format!(
            "age --fs {fs} --size {size} --fullness 0.2 --profile wang_os --overwrites 0.4 --work work --device {name} --erase {name}"
        );
        lab.command(words(&line))
    };
    refused(&mut age("/dev/nothing", "ext4", "64MiB"), "opening the device /dev/nothing: No such file");
    refused(&mut age("/dev/null", "ext4", "64MiB"), "cannot use /dev/null: it is not a block device");
    refused(&mut age(name, "ext4", "321MiB"), "choose a smaller --size");
    run("blockdev", &["--setro", name]);
    let said = format!("cannot use {name}: it is read-only; make it writable");
    refused(&mut age(name, "ext4", "64MiB"), &said);
    run("blockdev", &["--setrw", name]);
    assert!(!lab.work().exists());

    // The label alone does not identify our file systems.
    for kind in ["ext4", "xfs", "btrfs"] {
        run(&format!("mkfs.{kind}"), &["-q", "-L", "senesce", name]);
        let before = disk::checksum(&image).unwrap();
        refused(&mut age(name, "ext4", "64MiB"), &format!("it contains data ({kind}, labelled senesce)"));
        disk::drop_device_cache(Path::new(name)).unwrap();
        assert_eq!(disk::checksum(&image).unwrap(), before, "{kind} was written to");
        let probe = format!("probe new-file {name} --size 1MiB");
        refused(&mut lab.command(words(&probe)), "Read-only file system");
        run("wipefs", &["--all", "--quiet", name]);
    }

    // The program recognizes its own file systems of every kind, and replaces them if confirmed.
    for (kind, size) in [("ext4", "64MiB"), ("btrfs", "128MiB"), ("xfs", "300MiB"), ("ext4", "64MiB")] {
        let output = run_to_end(&mut age(name, kind, size));
        assert!(output.status.success(), "{kind}: {}", text(&output.stderr));
        lab.run(&format!("probe new-file {name} --size 1MiB"));
        std::fs::remove_dir_all(lab.work()).unwrap();
    }
    drop(device);
    lab.nothing_left();
}

#[test]
fn all_of_500_concurrent_requests_are_answered() {
    const REQUESTS: usize = 500;
    let lab = Lab::new();
    std::fs::create_dir(lab.work()).unwrap();
    drop(results::Store::open(&lab.work().join("senesce.db")).unwrap());
    let mut command = lab.command(words("serve --work work"));
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let together = Barrier::new(REQUESTS);
    let ask = || {
        together.wait();
        let mut stream = TcpStream::connect(&address)?;
        write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok::<_, std::io::Error>(text(&answer))
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..REQUESTS).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    server.kill().unwrap();
    server.wait().unwrap();
    for answer in answers {
        let answer = answer.expect("no connection is reset");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("No runs yet."), "{answer}");
    }
}
