//! Kills, interrupts and concurrent runs: no result is lost and nothing is left behind.

use crate::common::{Lab, text};
use rustix::process::Signal;

const LINE: &str = "age --fs ext4 --size 320MiB --fullness 0.5 --profile agrawal --overwrites 3 --seed 9 --name a --work work";

#[test]
fn interrupt_prints_how_to_resume_and_leaves_nothing() {
    needs!("ext4");
    let lab = Lab::new();
    let (said, _) = lab.interrupted(LINE, "aging@9000");
    assert!(
        said.iter().any(|line| line.contains("continue with the same command and --resume")),
        "{said:#?}"
    );
    let resumed = lab.json(&format!("{LINE} --resume"));
    assert_eq!(
        resumed["trace_sha256"],
        lab.json(&LINE.replace("--name a --work work", "--plan-only"))["trace_sha256"]
    );
    assert_eq!(resumed["errors"], 0);
}

#[test]
fn killed_run_resumes_to_the_same_tree() {
    needs!("ext4");
    needs!("xfs");
    for fs in ["ext4", "xfs"] {
        let lab = Lab::new();
        let line = LINE.replace("ext4", fs);
        let whole = lab.json(&line.replace("--name a", "--name whole"));
        for (resume, step) in [("", "aging@2000"), (" --resume", "aging@9000"), (" --resume", "filling@1")] {
            lab.stopped(&format!("{line}{resume}"), step).kill();
            lab.clean_up();
            let store = lab.run("export --work work --format json");
            assert!(serde_json::from_str::<serde_json::Value>(&store).is_ok(), "the store is not readable");
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
fn second_run_in_the_same_work_directory_is_refused() {
    needs!("ext4");
    let lab = Lab::new();
    let mut first = lab.stopped(LINE, "aging@1");
    let second = lab.try_run("age --fs ext4 --size 256MiB --profile wang_os --name b --work work");
    first.end_by(Signal::TERM);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("another run"), "{}", text(&second.stderr));
    assert!(!lab.work().join("b.img").exists());
    lab.nothing_left();
}
