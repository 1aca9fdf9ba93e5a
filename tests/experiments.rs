//! Experiments: what they print, what they keep, and what they leave.

use crate::common::Lab;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

const EXPERIMENT: &str = r#"
figure = "small-one"
title = "Files that grow together"
source = "a test"
fs = ["FS"]
disks = ["hdd-7200", "ssd-sata"]
round = { label = "in turn", unit = "%" }

[scale.small]
size_bytes = 335_544_320
rounds = [0, 100]
pictures = [100]
workload = { kind = "intrafile", files = 4 }

[[plot]]
title = "Cost"
y = "modelled_s_per_gib"
axis = { label = "cost", unit = "s/GiB" }

[[check]]
claim = "costs more"
published = "it does"
measure = "modelled_s_per_gib"
disks = ["hdd-7200"]
rule = { grows_above = 1.0 }

[[check]]
claim = "is free"
published = "nobody said so"
measure = "modelled_s_per_gib"
disks = ["hdd-7200"]
rule = { last_below = 0.0 }
"#;

fn lab(fs: &str) -> Lab {
    let lab = Lab::new();
    std::fs::write(lab.path().join("one.toml"), EXPERIMENT.replace("FS", fs)).unwrap();
    lab
}

fn side<'v>(outcome: &'v Value, disk: &str, round: u64, side: &str) -> &'v Value {
    let checkpoints = outcome["checkpoints"].as_array().unwrap();
    let found = checkpoints.iter().find(|c| c["disk"] == disk && c["round"] == round && c["side"] == side);
    found.unwrap_or_else(|| panic!("{disk}, round {round}, {side}: {outcome}"))
}

#[test]
fn an_experiment_says_what_was_measured_and_what_holds() {
    needs!("btrfs");
    let lab = lab("btrfs");
    let outcome = lab.json("run one.toml --work work");
    assert_eq!((&outcome["figure"], &outcome["scale"]), (&"small-one".into(), &"small".into()));
    for disk in ["hdd-7200", "ssd-sata"] {
        for round in [0, 100] {
            for of in ["aged", "unaged"] {
                let side = side(&outcome, disk, round, of);
                for measure in ["dynamic_layout_score", "scan_s_per_gib", "modelled_s_per_gib"] {
                    assert!(side[measure].as_f64().unwrap() > 0.0, "{measure}: {side}");
                }
            }
        }
    }
    let score = |round| side(&outcome, "hdd-7200", round, "aged")["dynamic_layout_score"].as_f64().unwrap();
    assert!(score(100) < score(0), "files that grow together are torn apart");
    assert_eq!(outcome["pairs"].as_array().unwrap().len(), 4);
    assert!(outcome["pairs"][0]["aging_ratio"].as_f64().unwrap() > 0.0);
    assert_eq!(outcome["pictures"][0]["files"].as_array().unwrap().len(), 4);
    let holds: Vec<&Value> = outcome["checks"].as_array().unwrap().iter().map(|c| &c["holds"]).collect();
    assert_eq!(holds, [&Value::Bool(true), &Value::Bool(false)], "{}", outcome["checks"]);
    lab.nothing_left();

    // What is in the store is not measured again, but judged and shown.
    let again = lab.json("run one.toml --work work --resume");
    assert_eq!(again["checkpoints"], outcome["checkpoints"]);
    let anew = lab.json("run one.toml --work work");
    assert_ne!(anew["checkpoints"], outcome["checkpoints"], "wall times never come twice");
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("small-one") && page.contains("nobody said so"));
}

#[test]
fn bad_experiments_are_refused() {
    needs!("xfs");
    let lab = lab("xfs");
    let broken = |from: &str, to: &str| {
        let text = EXPERIMENT.replace("FS", "xfs");
        assert!(text.contains(from));
        std::fs::write(lab.path().join("broken.toml"), text.replace(from, to)).unwrap();
    };
    lab.refused("run none.toml --work work", "none.toml");
    lab.refused("run one.toml --scale huge --work work", "huge");
    lab.refused("reproduce fast17-fig99 --work work", "fast17-fig99");
    broken("files = 4", "sails = 4");
    lab.refused("run broken.toml --work work", "sails");
    broken("hdd-7200", "drum");
    lab.refused("run broken.toml --work work", "drum");
    broken("rounds = [0, 100]", "rounds = [100, 0]");
    lab.refused("run broken.toml --work work", "ascending");
}

#[test]
fn a_cell_that_fails_is_named_and_the_others_go_on() {
    needs!("ext4");
    let lab = Lab::new();
    // Files of no bytes have no layout: the round cannot be made.
    let text = EXPERIMENT.replace("FS", "ext4").replace(
        "[scale.small]",
        "[[option]]\nname = \"none\"\nworkload = { file_bytes = 0 }\n\n[[option]]\nname = \"some\"\n\n[scale.small]",
    );
    std::fs::write(lab.path().join("one.toml"), text).unwrap();
    let output = lab.try_run("run one.toml --work work --json");
    assert_eq!(output.status.code(), Some(1));
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome["failed"].as_array().unwrap().len(), 1);
    assert_eq!(outcome["failed"][0]["cell"], "ext4, none");
    assert!(outcome["checkpoints"].as_array().unwrap().iter().all(|c| c["option"] == "some"));
    assert_eq!(outcome["checkpoints"].as_array().unwrap().len(), 8);
    lab.nothing_left();
}

#[test]
fn interrupted_while_mail_is_served_no_further_cell_begins() {
    needs!("ext4");
    let lab = Lab::new();
    let text = EXPERIMENT
        .replace("FS", "ext4")
        .replace(
            "kind = \"intrafile\", files = 4",
            "kind = \"mail\", live = true, mail = { operations = 1_000_000 }",
        )
        .replace("rounds = [0, 100]", "rounds = [1]")
        .replace("pictures = [100]", "")
        .replace("[scale.small]", "[[option]]\nname = \"a\"\n\n[[option]]\nname = \"b\"\n\n[scale.small]");
    std::fs::write(lab.path().join("one.toml"), text).unwrap();
    let mut child =
        lab.command(["run", "one.toml", "--work", "work"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = said.find(|line| line.contains("(1 of 2)"));
    assert!(first.is_some(), "the first cell does not begin");
    // The server is up and mail goes in; the day never ends.
    std::thread::sleep(Duration::from_secs(3));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = said.collect();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest:#?}");
    assert!(rest.iter().any(|line| line.contains("interrupted; ")), "{rest:#?}");
    assert!(!rest.iter().any(|line| line.contains("(2 of 2)") || line.contains("failed")), "{rest:#?}");
    lab.nothing_left();
}
