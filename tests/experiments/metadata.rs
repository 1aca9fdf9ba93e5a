//! Experiments with the metadata benchmark.

use super::side;
use crate::common::Lab;
use serde_json::Value;

const METADATA: &str = r#"
figure = "small-objects"
title = "Small objects"
source = "a test"
fs = ["ext4"]
disks = ["hdd-7200", "ssd-sata"]
round = { label = "processes", log = true }

[[option]]
name = "much"

[[option]]
name = "little"
workload = { memory_bytes = 33_554_432 }

[scale.small]
size_bytes = 67_108_864
rounds = [1, 2]
workload = { kind = "metadata", data_sets = 2, precreate = 40, iterations = 10, repeats = 2 }

[[plot]]
title = "Rates"
y = "benchmark_objects_per_s"
axis = { label = "rate", unit = "objects/s", log = true }
panels = "fs"

[[claim]]
where = "nowhere"
states = "does something"
measure = "benchmark_objects_per_s"
options = ["little"]
side = ""
over = [{ disk = "hdd-7200" }]
trend = { above = 0.0 }

[[claim]]
where = "nobody said so"
states = "is free"
measure = "precreate_objects_per_s"
disks = ["hdd-7200"]
options = ["much"]
side = ""
trend = { below = 0.0 }
"#;

#[test]
fn metadata_benchmark_is_measured_on_modelled_disks() {
    needs!("ext4");
    let lab = Lab::new();
    let write = |text: &str| std::fs::write(lab.path().join("meta.toml"), text).unwrap();
    write(METADATA);
    let outcome = lab.json("run meta.toml --work work");
    assert_eq!(outcome["failed"].as_array().unwrap().len(), 0, "{outcome}");
    assert_eq!(outcome["checkpoints"].as_array().unwrap().len(), 8);
    for disk in ["hdd-7200", "ssd-sata"] {
        for round in [1, 2] {
            let at = side(&outcome, disk, round, "");
            for phase in ["precreate", "benchmark", "cleanup"] {
                assert!(at[format!("{phase}_objects_per_s")].as_f64().unwrap() > 0.0, "{at}");
                assert!((0.0..=1.0).contains(&at[format!("{phase}_disk_share")].as_f64().unwrap()), "{at}");
            }
        }
    }
    let verdicts: Vec<&Value> = outcome["claims"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
    assert_eq!(verdicts, ["holds", "does_not_hold"], "{}", outcome["claims"]);
    lab.nothing_left();

    assert_eq!(lab.json("run meta.toml --work work --resume")["checkpoints"], outcome["checkpoints"]);
    // Adding a number of processes keeps the results of the others.
    write(&METADATA.replace("rounds = [1, 2]", "rounds = [1, 2, 3]"));
    let more = lab.json("run meta.toml --work work --resume");
    assert_eq!(side(&more, "ssd-sata", 2, ""), side(&outcome, "ssd-sata", 2, ""));
    assert!(side(&more, "ssd-sata", 3, "")["cleanup_objects_per_s"].as_f64().unwrap() > 0.0);
    lab.run("report --work work -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("small-objects") && page.contains("does something"));
}

#[test]
fn repeats_of_the_metadata_benchmark_are_rounds_of_one_run() {
    needs!("ext4");
    let lab = Lab::new();
    let text = METADATA
        .replace("rounds = [1, 2]", "rounds = [1, 2, 4]")
        .replace("repeats = 2", "processes = 2")
        .replace("disks = [\"hdd-7200\", \"ssd-sata\"]\nround", "disks = [\"hdd-7200\"]\nround");
    std::fs::write(lab.path().join("meta.toml"), text).unwrap();
    let outcome = lab.json("run meta.toml --work work");
    let rates = |measure: &str| {
        let all = outcome["checkpoints"].as_array().unwrap().iter().filter(|at| at["option"] == "much");
        all.map(|at| at[measure].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let benchmark = rates("benchmark_objects_per_s");
    assert!(benchmark.len() == 3 && benchmark[0] != benchmark[1], "{benchmark:?}");
    let precreate = rates("precreate_objects_per_s");
    assert!(precreate.iter().all(|rate| *rate == precreate[0]), "one run made the objects: {precreate:?}");
    lab.nothing_left();
}

#[test]
fn file_system_has_parameters_of_its_own_and_rounds_are_left_out() {
    needs!("ext4");
    let lab = Lab::new();
    let text =
        METADATA.replace("\n[[plot]]", "override = [{ fs = [\"ext4\"], processes_max = 1 }]\n\n[[plot]]");
    assert!(text != METADATA);
    std::fs::write(lab.path().join("meta.toml"), text).unwrap();
    let outcome = lab.json("run meta.toml --work work");
    let rounds: Vec<&Value> =
        outcome["checkpoints"].as_array().unwrap().iter().map(|at| &at["round"]).collect();
    assert!(rounds.len() == 4 && rounds.iter().all(|round| **round == 1), "{rounds:?}");
    lab.nothing_left();
}

#[test]
fn invalid_metadata_experiments_are_refused_and_interrupted_cell_does_not_fail() {
    needs!("ext4");
    let lab = Lab::new();
    for (from, to, said) in [
        ("iterations = 10", "iterations = 50", "50 iterations exceed the 40 objects"),
        ("33_554_432", "33_554", "memory_bytes = 33554 is too small"),
        ("precreate = 40", "precreates = 40", "precreates"),
        ("over = [{ disk = \"hdd-7200\" }]", "over = [{ disk = \"drum\" }]", "drum"),
        ("rounds = [1, 2]", "rounds = [0, 2]", "a run needs at least one rank"),
        ("rounds = [1, 2]", "rounds = [1, 2]\npictures = [1]", "supports neither memory_bytes nor pictures"),
    ] {
        assert!(METADATA.contains(from), "{from}");
        std::fs::write(lab.path().join("meta.toml"), METADATA.replace(from, to)).unwrap();
        lab.refused("run meta.toml --work work", said);
    }
    let long = METADATA.replace("precreate = 40, iterations = 10", "precreate = 4_000, iterations = 4_000");
    let long = long.replace("repeats = 2", "repeats = 100_000").replace("67_108_864", "268_435_456");
    std::fs::write(lab.path().join("meta.toml"), long).unwrap();
    let (rest, _) = lab.interrupted("run meta.toml --work work", ": benchmark 1");
    assert!(rest.iter().any(|line| line.contains("interrupted; ")), "{rest:#?}");
    assert!(!rest.iter().any(|line| line.contains("failed")), "{rest:#?}");
}
