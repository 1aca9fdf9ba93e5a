//! The table of measures, and what is generated from it.

use crate::common::Lab;
use results::measures::MEASURES;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `docs/measures.md` is the table in words: `UPDATE_EXPECT=1` writes it.
#[test]
fn the_documentation_lists_every_measure() {
    let lab = Lab::new();
    let table = lab.run("store measures --markdown");
    let page = format!(
        "# Measures\n\nEverything that the result store holds a number of, as `senesce store measures --markdown` prints it. `*` stands for an \
         operation, a phase, a job or a size.\nA measure for one disk model has the model in its name: `modelled_s_per_gib on hdd-7200`.\n\n{table}"
    );
    expect_test::expect_file![sources().join("docs/measures.md")].assert_eq(&page);
    let listed = lab.json("store measures");
    let scan = listed.as_array().unwrap().iter().find(|measure| measure["name"] == "scan_s_per_gib").unwrap();
    assert_eq!((scan["unit"].as_str(), scan["better"].as_str()), (Some("s/GiB"), Some("lower")));
    assert!(lab.run("store measures").contains("scan_s_per_gib"));
    lab.nothing_left();
}

/// A measure is named once: everything else takes its name from the table. In the script of the page and in its data, no identifier
/// is the name of a measure either.
#[test]
fn no_source_names_a_measure_but_the_table() {
    // Names of one word are those of other things too, and so are these: a document and a setting.
    let is_distinct =
        |name: &&str| name.contains('_') && !name.contains('*') && !["hot_files", "time_s"].contains(name);
    let names: Vec<&str> = MEASURES.iter().map(|measure| measure.name).filter(is_distinct).collect();
    assert!(names.len() > 60, "{names:?}");
    let mut found = Vec::new();
    for crate_dir in std::fs::read_dir(sources().join("crates")).unwrap() {
        look(&crate_dir.unwrap().path().join("src"), &mut |path, code| {
            let quoted = names.iter().filter(|name| code.contains(&format!("\"{name}\"")));
            found.extend(quoted.map(|name| format!("{}: {name}", path.display())));
        });
    }
    let page = sources().join("crates/report");
    let mut seen = 0;
    for part in ["web/src", "src/data", "src/data.rs"] {
        look(&page.join(part), &mut |path, code| {
            seen += 1;
            let words: HashSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let used = names.iter().filter(|name| words.contains(*name));
            found.extend(used.map(|name| format!("{}: {name}", path.display())));
        });
    }
    assert!(seen > 20, "{seen} files of the page");
    assert!(found.is_empty(), "{found:#?}");
}

/// Calls `see` with every source below a directory, or with the only one, without its tests.
fn look(path: &Path, see: &mut impl FnMut(&Path, &str)) {
    if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
        for entry in std::fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), see);
        }
    } else if is_source(path) {
        let text = std::fs::read_to_string(path).unwrap();
        see(path, text.split("#[cfg(test)]").next().unwrap());
    }
}

/// Whether a file is code of the program, and not the table itself or a test.
fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "rs" || ext == "js")
        && !["measures/table.rs", "tests.rs"].iter().any(|other| path.ends_with(other))
}
