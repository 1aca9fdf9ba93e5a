//! The gate: a baseline from pairs of agings, and changes that make file systems worse.

use crate::common::{Lab, text};
use serde_json::Value;

/// How the smallest useful baseline is aged.
const LEARN: &str = "--fs ext4 --size 64MiB --fullness 0.6 --overwrites 2 --work work";

fn regressed(judgement: &Value) -> Vec<String> {
    let measures = judgement["measures"].as_array().unwrap().iter();
    let worse = measures.filter(|of| of["movement"] == "regressed");
    worse.map(|of| format!("{} {}", of["side"].as_str().unwrap(), of["measure"].as_str().unwrap())).collect()
}

#[test]
fn gate_tells_a_regression_from_chance() {
    needs!("ext4");
    let lab = Lab::new();
    let learnt = lab.json(&format!("gate --learn 6 --against base.json {LEARN}"));
    assert_eq!((&learnt["pairs"], &learnt["agings"]), (&6.into(), &4.into()));
    lab.nothing_left();

    // The same again.
    let files = "--junit gate.xml --tap gate.tap --markdown gate.md";
    let same = lab.json(&format!("gate --against base.json --agings 3 --work work {files}"));
    assert_eq!(
        (same["regressed"].as_bool(), &same["seeds"]),
        (Some(false), &serde_json::json!([42, 43, 44]))
    );
    let read = |name: &str| std::fs::read_to_string(lab.path().join(name)).unwrap();
    let count = same["measures"].as_array().unwrap().len();
    assert_eq!(read("gate.xml").matches("<testcase ").count(), count);
    assert!(read("gate.tap").starts_with(&format!("TAP version 14\n1..{count}\nok 1 - aged ")));
    assert!(
        !read("gate.tap").contains("not ok")
            && read("gate.md").starts_with("### gate-ext4-agrawal: passed\n")
    );
    lab.nothing_left();

    // Smaller blocks leave smaller pieces of free space.
    let line = format!("gate --against base.json --agings 3 --mkfs-opts=-b1024 --work work {files}");
    let output = lab.try_run(&line);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("free extents") && shown.contains("regressed"), "{shown}");
    assert!(text(&output.stderr).contains("regressed with mkfs options -b1024: 3 agings against 6 pairs"));
    assert!(read("gate.xml").contains("<failure message=") && read("gate.tap").contains("\nnot ok "));
    assert!(read("gate.md").starts_with("### gate-ext4-agrawal: regressed\n"));
    lab.nothing_left();
}

#[test]
fn comparisons_of_the_user_are_tested() {
    needs!("ext4");
    let lab = Lab::new();
    lab.run(&format!("gate --learn 5 --against base.json {LEARN} --no-new-file"));
    // Never replaced by accident.
    lab.refused_with(&format!("gate --learn 5 --against base.json {LEARN}"), "base.json exists");
    let compare = format!("compare --agings 2 --repeat 1 --no-new-file {LEARN}");
    std::fs::write(lab.path().join("new.json"), lab.json(&compare).to_string()).unwrap();
    let by_file = lab.json("gate new.json --against base.json --work work");
    let by_name = lab.json("gate ext4-agrawal --against base.json --work work");
    assert_eq!(by_file, by_name);
    assert_eq!(by_file["seeds"], serde_json::json!([42, 43]));
    lab.refused_with(
        "gate xfs-agrawal --against base.json --work work",
        "the store has no comparison of xfs-agrawal",
    );

    // Another kernel is tested only if that is what is tested.
    let mut new: Value =
        serde_json::from_slice(&std::fs::read(lab.path().join("new.json")).unwrap()).unwrap();
    for pair in new["pairs"].as_array_mut().unwrap() {
        for fact in pair["condition"].as_array_mut().unwrap() {
            if fact[0] == "kernel" {
                fact[1] = "9.9".into();
            }
        }
    }
    std::fs::write(lab.path().join("new.json"), new.to_string()).unwrap();
    lab.refused_with("gate new.json --against base.json --work work", "--changed kernel");
    let changed = lab.json("gate new.json --against base.json --work work --changed kernel");
    assert_eq!((&changed["changed"][0]["values"][0], regressed(&changed).len()), (&"9.9".into(), 0));
}

#[test]
fn what_is_no_baseline_is_refused() {
    let lab = Lab::new();
    lab.refused("gate --against nowhere.json --work work", "nowhere.json");
    std::fs::write(lab.path().join("broken.json"), "{\"format\": 1, \"seeds\": []}").unwrap();
    lab.refused("gate --against broken.json --work work", "broken.json is no baseline");
    std::fs::write(lab.path().join("newer.json"), "{\"format\": 2}").unwrap();
    lab.refused("gate --against newer.json --work work", "format 2 is not supported");
    lab.refused("gate --learn 5 --against nowhere/a.json --fs ext4", "directory does not exist");
    for (line, why) in [
        ("gate --learn 4 --against a.json --fs ext4", "4"),
        ("gate --learn 5 --against a.json", "--fs"),
        ("gate --against a.json --size 1GiB", "--learn"),
        ("gate new.json --against a.json --mount-opts nodelalloc", "--mount-opts"),
    ] {
        let output = lab.try_run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).contains(why), "{line}: {}", text(&output.stderr));
    }
}

mod soak {
    use super::*;

    /// Ten gates of each file system on which nothing changed, and one on which an option did.
    #[test]
    #[ignore = "soak: learning and 33 gates of three file systems take half an hour"]
    fn gates_of_three_file_systems_raise_no_false_alarm() {
        needs!("ext4");
        needs!("xfs");
        needs!("btrfs");
        let mut alarms = Vec::new();
        for (fs, option) in [
            ("ext4", "--mount-opts nodelalloc"),
            ("xfs", "--mkfs-opts=-bsize=1024"),
            ("btrfs", "--mkfs-opts=--mixed"),
        ] {
            let lab = Lab::new();
            let how = "--size 320MiB --fullness 0.6 --overwrites 3 --work work";
            lab.run(&format!("gate --learn 20 --against base.json --fs {fs} {how}"));
            for turn in 0..10 {
                let output = lab.try_run("gate --against base.json --work work");
                match output.status.code() {
                    Some(0) => {}
                    Some(3) => alarms.push(format!("{fs}, {turn}: {}", text(&output.stdout))),
                    other => panic!("{fs}: status {other:?}: {}", text(&output.stderr)),
                }
            }
            let output = lab.try_run(&format!("gate --against base.json --work work {option}"));
            assert_eq!(output.status.code(), Some(3), "{fs} {option}: {}", text(&output.stdout));
        }
        // At 1 %, thirty gates raise two or more alarms with a probability of 4 %.
        assert!(alarms.len() <= 1, "{alarms:#?}");
    }

    #[test]
    #[ignore = "soak: emulated virtual machines take minutes"]
    fn gates_run_in_virtual_machines() {
        needs!("f2fs");
        let lab = Lab::new();
        let how = "--size 128MiB --fullness 0.3 --overwrites 0.5 --no-new-file --work work";
        lab.run(&format!("gate --learn 5 --against base.json --fs f2fs {how}"));
        let same = lab.json("gate --against base.json --agings 2 --work work");
        assert_eq!(
            (same["regressed"].as_bool(), &same["seeds"]),
            (Some(false), &serde_json::json!([42, 43]))
        );
        lab.nothing_left();
    }
}
