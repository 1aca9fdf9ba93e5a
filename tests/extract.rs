//! `senesce trace extract`: a history becomes a trace that any machine can replay.

use crate::common::Lab;
use std::fs;

#[test]
fn a_history_becomes_a_trace_with_labels_and_contents() {
    let lab = Lab::new();
    ager::git::sample::make(&lab.path().join("repository"), 40, 1).unwrap();
    let line = "trace extract --git repository --pulls 25 --every 10 -o a.parquet --with-contents";
    let made = lab.json(line);
    assert_eq!(made["pulls"], 25);
    for file in ["a.parquet", "a.parquet.labels", "a.parquet.blobs"] {
        assert!(lab.path().join(file).exists(), "{file}");
    }
    let stat = lab.json("trace stat a.parquet");
    assert_eq!(stat["operations"], made["operations"]);
    assert_eq!(stat["by_kind"]["checkpoint"], 3);
    assert!(lab.run("trace show a.parquet").contains("git"));
    // Contents of an earlier trace of the name do not stay with one that keeps none.
    let again = lab.json("trace extract --git repository --order full --objects -o a.parquet");
    assert_eq!(again["pulls"], 40);
    assert!(!lab.path().join("a.parquet.blobs").exists());
}

#[test]
fn what_cannot_be_extracted_is_refused() {
    let lab = Lab::new();
    fs::create_dir(lab.path().join("empty")).unwrap();
    ager::git::sample::make(&lab.path().join("repository"), 5, 1).unwrap();
    for (line, expected) in [
        ("trace extract --git nowhere -o a.parquet", "not a git repository"),
        ("trace extract --git empty -o a.parquet", "not a git repository"),
        ("trace extract --git repository --pulls 0 -o a.parquet", "--pulls"),
        ("trace extract --git repository --pulls 6 -o a.parquet", "5 commits"),
        ("trace extract --git repository -o nowhere/a.parquet", "nowhere"),
        ("trace extract --git repository --order newest -o a.parquet", "newest"),
    ] {
        lab.refused(line, expected);
    }
}
