//! Killed, interrupted, started twice: nothing is lost, nothing is left.

use crate::common::{Lab, signal, text};
use rustix::process::Signal;
use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const LINE: &str =
    "age --fs ext4 --size 512MiB --profile agrawal --overwrites 12 --seed 9 --name a --work work";

/// Starts the aging and waits until it has replayed for a while.
fn start(lab: &Lab, line: &str) -> Child {
    let child =
        lab.command(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !lab.work().join("a.json").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the aging does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(1500));
    child
}

#[test]
fn interrupted_it_says_how_to_go_on_and_leaves_nothing() {
    needs!("ext4");
    let lab = Lab::new();
    let mut child = start(&lab, LINE);
    signal(&child, Signal::INT);
    let status = child.wait().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(status.code(), Some(1), "{err}");
    assert!(err.contains("--resume goes on"), "{err}");
    lab.nothing_left();
    let resumed = lab.json(&format!("{LINE} --resume"));
    assert_eq!(
        resumed["trace_sha256"],
        lab.json(&LINE.replace("--name a --work work", "--plan-only"))["trace_sha256"]
    );
    assert_eq!(resumed["errors"], 0);
}

#[test]
fn killed_at_any_moment_it_resumes_to_the_same_tree() {
    needs!("ext4");
    needs!("xfs");
    for fs in ["ext4", "xfs"] {
        let lab = Lab::new();
        let line = LINE.replace("ext4", fs);
        let whole = lab.json(&line.replace("--name a", "--name whole"));
        for delay in [0, 700] {
            let begin = if delay == 0 { line.clone() } else { format!("{line} --resume") };
            let mut child = start(&lab, &begin);
            std::thread::sleep(Duration::from_millis(delay));
            signal(&child, Signal::KILL);
            child.wait().unwrap();
            lab.clean_up();
            let store = lab.run("export --work work --format json");
            assert!(serde_json::from_str::<serde_json::Value>(&store).is_ok(), "the store is readable");
        }
        let resumed = lab.json(&format!("{line} --resume"));
        assert_eq!(resumed["errors"], 0, "{fs}: {}", resumed["failures"]);
        assert_eq!(resumed["trace_sha256"], whole["trace_sha256"]);
        assert_eq!(resumed["checker_clean"], true);
        let (a, b) = (lab.list(&lab.work().join("a.img")), lab.list(&lab.work().join("whole.img")));
        assert!(a == b, "{fs}: {} and {} files", a.len(), b.len());
        lab.nothing_left();
    }
}

#[test]
fn a_second_run_on_the_same_work_directory_is_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let mut child = start(&lab, LINE);
    let second = lab.try_run("age --fs ext4 --size 256MiB --profile wang_os --name b --work work");
    signal(&child, Signal::TERM);
    child.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("another run"), "{}", text(&second.stderr));
    assert!(!lab.work().join("b.img").exists());
    lab.nothing_left();
}
