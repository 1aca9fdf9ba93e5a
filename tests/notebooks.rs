//! Runs the notebook and the R script that read the store, like their users.

use crate::common::{Lab, text};
use results::{Measurement, NewRun, Store};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn notebooks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../notebooks")
}

/// Creates a store with a figure, comparisons of two agings under each of two conditions, one of which is older, and a checkpoint.
fn store(lab: &Lab) -> PathBuf {
    let figure = include_str!("../experiments/smith97-fig5.toml")
        .replace("placements = 10", "placements = 2, days = 20");
    std::fs::write(lab.path().join("figure.toml"), figure).unwrap();
    lab.run("run figure.toml --work work --agings 2");
    let path = lab.work().join("senesce.db");
    let store = Store::open(&path).unwrap();
    let begin = |kind, seed, parameters| {
        store.begin(&NewRun { kind, name: "desk", command: "senesce compare", seed, parameters }).unwrap()
    };
    // Ratios of 2 and 8 have the geometric mean 4.
    for (options, seed, aged) in
        [("", 1, 9.0), ("", 1, 2.0), ("", 2, 8.0), ("-O ^flex_bg", 1, 3.0), ("-O ^flex_bg", 2, 3.0)]
    {
        let run = begin("compare", Some(seed), json!({ "reader": "grep" }));
        let mkfs_opts: Vec<&str> = options.split_whitespace().collect();
        let manifest = json!({
            "made": { "fs": "ext4", "mkfs_opts": mkfs_opts, "mount_opts": [], "size_bytes": 1 << 30 },
            "legs": [{ "conditions": { "profile": { "name": "agrawal" }, "fullness": 0.8, "overwrites": null } }],
        });
        store.record_document(run, "", "manifest", &manifest).unwrap();
        for repetition in 1..=3 {
            for (subject, cost) in [("aged", aged), ("unaged", 1.0)] {
                // The median of the repetitions is the second.
                let value = cost * (repetition as f64 - 1.0);
                let [subject, measure, unit] = [subject, "scan_s_per_gib", "s/GiB"].map(str::to_owned);
                store.record(run, &Measurement { subject, measure, unit, repetition, value }).unwrap();
            }
        }
        store.end(run, "done", None).unwrap();
    }
    let round = begin("checkpoint", None, json!({ "round": 40 }));
    let [subject, measure, unit] = ["aged", "layout_score", "share"].map(str::to_owned);
    store.record(round, &Measurement { subject, measure, unit, repetition: 1, value: 0.875 }).unwrap();
    store.end(round, "done", None).unwrap();
    path
}

/// Checks the drawings of the store.
fn check_figures(dir: &Path) {
    for name in ["smith97-fig5-small", "compare-forest"] {
        assert!(std::fs::read(dir.join(format!("{name}.pdf"))).unwrap().starts_with(b"%PDF"), "{name}");
        assert!(std::fs::read_to_string(dir.join(format!("{name}.svg"))).unwrap().contains("<svg"), "{name}");
    }
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
    let figures = lab.path().join("figures");
    let variables = json!({ "SENESCE_FIGURES": figures, "MPLBACKEND": "Agg" });
    let program = format!(
        "import os, sys\nos.environ.update({variables}, SENESCE_STORE=sys.argv[1])\n{program}\n\
         print(ratios.reset_index().round(3).to_csv())\n\
         rows, axes = drawn(document(runs[runs.kind == 'experiment'].run.iloc[0], 'outcome'))\n\
         print(*axes, *rows.line.unique(), sep='; ')"
    );
    let Some(printed) = testing::pandas(&program, &store) else { return };
    assert!(printed.contains("ext4 agrawal,scan_s_per_gib,s/GiB,2,5.0,1.0,4.0,0.001,"), "{printed}");
    assert!(
        printed.contains("ext4 agrawal -O ^flex_bg,scan_s_per_gib,s/GiB,2,3.0,1.0,3.0,3.0,3.0"),
        "{printed}"
    );
    assert!(printed.contains("desk") && printed.contains("0.875"), "{printed}");
    let drawn = "5A; 5B: layout score of the benchmark files; read throughput; write throughput";
    assert!(printed.contains(drawn), "{printed}");
    check_figures(&figures);
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
    let figures = lab.path().join("figures");
    let run = |arguments: &[&Path]| Command::new("Rscript").arg(&script).args(arguments).output().unwrap();
    let output = run(&[&store, &figures]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}{}", text(&output.stderr));
    let rows: Vec<String> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let has = |start: &str| rows.iter().any(|row| row.starts_with(start));
    assert!(has("ext4 agrawal scan_s_per_gib s/GiB 2 5 1 4 0.0005"), "{shown}");
    assert!(has("ext4 agrawal -O ^flex_bg scan_s_per_gib s/GiB 2 3 1 3 3 3"), "{shown}");
    check_figures(&figures);
    let listed = text(&run(&[&store]).stdout);
    assert!(listed.contains("smith97-fig5 small") && !listed.contains(".pdf"), "{listed}");
    let none = run(&[&lab.path().join("none")]);
    assert!(!none.status.success() && text(&none.stderr).contains("does not exist"));
}
