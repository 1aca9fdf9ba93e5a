//! Runs the notebook and the R script that read the store, like their users.

use crate::common::{Lab, text};
use results::{Measurement, NewRun, Store};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn notebooks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks")
}

/// Creates a store with a comparison of six repetitions, an older comparison of the same name, and a checkpoint.
fn store(lab: &Lab) -> PathBuf {
    let path = lab.path().join("senesce.db");
    let store = Store::open(&path).unwrap();
    let begin = |kind, name, parameters| {
        store.begin(&NewRun { kind, name, command: "senesce compare", seed: None, parameters }).unwrap()
    };
    for cost in [9.0, 1.0] {
        let run = begin("compare", "desk", json!({}));
        for repetition in 1..=6 {
            for (subject, cost) in [("aged", 3.0 * cost), ("unaged", cost)] {
                let value = cost + repetition as f64 / 100.0;
                let [subject, measure, unit] = [subject, "scan_s_per_gib", "s/GiB"].map(str::to_owned);
                store.record(run, &Measurement { subject, measure, unit, repetition, value }).unwrap();
            }
        }
        store.end(run, "done", None).unwrap();
    }
    let round = begin("checkpoint", "series", json!({ "round": 40 }));
    let [subject, measure, unit] = ["aged", "layout_score", "share"].map(str::to_owned);
    store.record(round, &Measurement { subject, measure, unit, repetition: 1, value: 0.875 }).unwrap();
    store.end(round, "done", None).unwrap();
    path
}

#[test]
fn python_notebook_reads_the_store() {
    let lab = Lab::new();
    let store = store(&lab);
    let notebook = std::fs::read_to_string(notebooks().join("store.ipynb")).unwrap();
    let notebook: Value = serde_json::from_str(&notebook).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter().filter(|cell| cell["cell_type"] == "code");
    let mut program = String::new();
    for cell in cells {
        assert_eq!(
            (&cell["outputs"], &cell["execution_count"]),
            (&json!([]), &Value::Null),
            "the notebook must be stored without outputs"
        );
        program.extend(cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()));
        program.push('\n');
    }
    program += "print(medians.to_string())\n";
    let program = format!("import os, sys\nos.environ['SENESCE_STORE'] = sys.argv[1]\n{program}");
    let Some(printed) = testing::pandas(&program, &store) else { return };
    assert!(printed.contains("desk aged 3.035 s/GiB [3.010, 3.060]"), "{printed}");
    assert!(printed.contains("desk unaged 1.035 s/GiB [1.010, 1.060]"), "{printed}");
    assert!(printed.contains("2.932367"), "the ratio: {printed}");
    assert!(printed.contains("series 40") && printed.contains("0.875"), "{printed}");
}

#[test]
fn r_script_reads_the_store() {
    let loaded = Command::new("Rscript").args(["-e", "library(RSQLite)"]).output();
    if !loaded.is_ok_and(|loaded| loaded.status.success()) {
        return testing::skip("R with RSQLite", "Rscript cannot load it; scripts/setup installs it");
    }
    let lab = Lab::new();
    let store = store(&lab);
    let script = notebooks().join("store.R");
    let output = Command::new("Rscript").arg(&script).arg(&store).output().unwrap();
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let row = shown.lines().map(words).find(|row| row.first().is_some_and(|name| name == "desk"));
    assert_eq!(row.unwrap(), ["desk", "scan_s_per_gib", "s/GiB", "3.035", "1.035", "2.932"], "{shown}");
    // Two of the 924 ways to choose 6 of 12.
    assert!(shown.contains("desk : p = 0.002165"), "{shown}");
    let none = Command::new("Rscript").arg(&script).arg(lab.path().join("none")).output().unwrap();
    assert!(!none.status.success() && text(&none.stderr).contains("does not exist"));
}
