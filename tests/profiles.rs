//! Tests of `senesce profile`, and of the output generated from the argument table.

use crate::common::Lab;
use std::time::{Duration, SystemTime};

#[test]
fn profiles_are_listed_shown_and_plotted() {
    let lab = Lab::new();
    let list = lab.json("profile list");
    assert_eq!(list.as_array().unwrap().len(), 8);
    assert!(lab.run("profile list").contains("wang_lanl"));
    assert!(lab.run("profile show dabre").contains("[depth]"));
    assert!(lab.run("profile show dabre --plot").contains('█'));
    assert_eq!(lab.json("profile show meyer")["year"], 2009);
}

#[test]
fn captured_profile_can_be_aged() {
    let lab = Lab::new();
    let tree = lab.path().join("tree/deep/deeper");
    std::fs::create_dir_all(&tree).unwrap();
    for n in 0..200 {
        let path = tree.join(n.to_string());
        std::fs::write(&path, vec![7; n * 50]).unwrap();
        let age = Duration::from_secs(3 + n as u64 / 20);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    let captured = lab.json("profile capture tree -o mine.toml --age-by modification");
    assert_eq!(captured["files"], 200);
    assert_eq!(lab.json("profile check mine.toml")["name"], "mine");
    assert!(lab.run("profile check mine.toml").contains("mine: valid profile"));
    let text = std::fs::read_to_string(lab.path().join("mine.toml")).unwrap();
    assert!(!text.contains("deeper"));
    let planned = lab.json("age --profile mine.toml --fullness 0.5 --size 64MiB --plan-only");
    assert_eq!(planned["profile"], "mine");
    assert!(planned["live_files"].as_u64().unwrap() > 1000);
    assert!(planned["age_rms_error"].as_f64().unwrap() < 1e-3);
}

#[test]
fn man_pages_and_help_come_from_one_table() {
    let lab = Lab::new();
    lab.run("man pages");
    let page = std::fs::read_to_string(lab.path().join("pages/senesce-age.1")).unwrap();
    for part in [".TH", "overwrites", ".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", ".SH FILES"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(lab.run("age --help").contains("--plan-only"));
    assert!(lab.run("doctor").contains("loop devices"));
    lab.json("doctor");
    lab.json("cleanup");
    assert_eq!(lab.run("cleanup").trim(), "nothing to remove");
}
