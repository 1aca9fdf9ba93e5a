//! Tests of `senesce reproduce`: the list, the status of each figure, shards on several machines, and merged stores.

use crate::common::{Lab, document, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// The built-in figures of the list.
fn built_in(lab: &Lab) -> Vec<Value> {
    let list = lab.json("reproduce --list");
    let figures = list["figures"].as_array().unwrap();
    assert!(figures.len() >= 35);
    figures.iter().filter(|figure| figure["built_in"] == true).cloned().collect()
}

/// The shard with only the k-th cheapest figure: those are simulated and take seconds.
fn cheapest(lab: &Lab, k: usize) -> String {
    let of = built_in(lab).len();
    format!("{}/{of}", of - k)
}

fn figure_status<'s>(status: &'s Value, figure: &str) -> &'s Value {
    let figures = status["figures"].as_array().unwrap();
    figures.iter().find(|one| one["figure"] == figure).unwrap_or_else(|| panic!("{figure}: {status}"))
}

/// The only figure of a shard that was run.
fn only_figure(status: &Value) -> String {
    let figures = status["figures"].as_array().unwrap();
    assert_eq!(figures.len(), 1, "{status}");
    figures[0]["figure"].as_str().unwrap().to_owned()
}

#[test]
fn list_is_complete_and_empty_store_has_no_figure_done() {
    let lab = Lab::new();
    let table = lab.run("reproduce --list");
    let of = built_in(&lab).len();
    let figures = of - 5;
    assert!(table.contains(&format!("{of} in total: {figures} figures, 4 tables, 1 listing")), "{table}");
    for figure in built_in(&lab) {
        assert!(table.contains(figure["figure"].as_str().unwrap()), "{figure}");
        assert!(figure["expected_s"]["small"].as_u64().unwrap() > 0, "needed to balance shards: {figure}");
        let (name, number) = (figure["figure"].as_str().unwrap(), figure["number"].as_u64().unwrap());
        assert!(name.ends_with(&number.to_string()), "{figure}");
        assert_eq!(figure["file"], format!("experiments/{name}.toml"));
        for told in ["work", "title"] {
            assert!(!figure[told].as_str().unwrap().is_empty(), "{figure}");
        }
    }
    let status = lab.json("reproduce --status --work work");
    assert_eq!((&status["of"], &status["done"]), (&of.into(), &0.into()));
    assert_eq!(figure_status(&status, "smith97-fig6")["state"], "not-run");
    let markdown = lab.run("reproduce --status --markdown --work work");
    assert!(markdown.contains("\n| smith97-fig6 | not run | – | "), "{markdown}");
    assert!(!lab.work().exists(), "status must create no files");
    lab.refused("reproduce all fast17-fig1 --work work", "excludes other figures");
    lab.refused("reproduce fast17-fig1 --shard 1/2 --work work", "--shard");
    lab.refused("reproduce all --shard 3/2 --work work", "1/4");
    lab.refused("reproduce all --scale huge --work work", "huge");
}

#[test]
fn killed_shard_resumes_with_the_same_result() {
    let lab = Lab::new();
    let part = cheapest(&lab, 0);
    let line = format!("reproduce all --shard {part} --work work");
    let whole = lab.json(&format!("reproduce all --shard {part} --work other"));
    let figure = only_figure(&whole);
    assert_eq!(figure_status(&whole, &figure)["state"], "done");

    let running = lab.stopped(&line, " days on ");
    let state = || figure_status(&lab.json("reproduce --status --work work"), &figure)["state"].clone();
    assert_eq!(state(), "running");
    running.kill();
    assert_eq!(state(), "broken-off");

    let resumed = lab.json(&line);
    let claims = |status: &Value| {
        let one = figure_status(status, &figure);
        ["state", "holds", "trend_only", "fails", "open", "verdict", "claims"].map(|field| one[field].clone())
    };
    assert_eq!(claims(&resumed), claims(&whole));
    let outcome =
        |work: &str| lab.json(&format!("reproduce {figure} --resume --work {work}"))["checkpoints"].clone();
    assert_eq!(outcome("work"), outcome("other"));

    // A completed figure is not run again.
    let again = lab.try_run(&line);
    assert!(text(&again.stderr).contains("0 figures done, 1 done earlier"), "{}", text(&again.stderr));
    lab.nothing_left();
}

#[test]
fn number_of_agings_is_chosen() {
    let lab = Lab::new();
    let outcome = lab.json("reproduce smith97-tab1 --agings 2 --work work");
    let checkpoints = outcome["checkpoints"].as_array().unwrap();
    let seeds: BTreeSet<u64> = checkpoints.iter().map(|at| at["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [42, 43].into());
    for (line, state) in [
        ("reproduce --status --agings 2 --work work", "done"),
        ("reproduce --status --agings 5 --work work", "other-version"),
    ] {
        assert_eq!(figure_status(&lab.json(line), "smith97-tab1")["state"], state, "{line}");
    }
    lab.refused("reproduce smith97-tab1 --agings 0 --work work", "--agings");
}

#[test]
fn failed_figure_does_not_stop_the_rest_and_is_reported() {
    let lab = Lab::new();
    let of_all = built_in(&lab).len();
    // Without mkfs programs, only simulated figures succeed. The first figure of the shard, the most expensive one, fails.
    let part = |number: usize| {
        let mut command =
            lab.command(format!("reproduce all --shard {number}/{of_all} --work work --json").split(' '));
        command.env("PATH", "/nonexistent").output().unwrap()
    };
    let failed = part(1);
    assert_eq!(failed.status.code(), Some(1));
    let status = document("reproduce", &failed);
    let figure = only_figure(&status);
    let message = text(&failed.stderr);
    assert!(
        message.contains(&format!("1 figures failed; the results of the others are stored: {figure} (")),
        "{message}"
    );
    assert!(part(of_all).status.success());
    lab.nothing_left();
}

#[test]
fn stores_of_shards_merge_into_one_report() {
    let lab = Lab::new();
    let mut figures = Vec::new();
    for (k, work) in [(0, "a"), (1, "b")] {
        let part = cheapest(&lab, k);
        figures.push(only_figure(&lab.json(&format!("reproduce all --shard {part} --work {work}"))));
    }
    let merged = lab.json("store merge a b --into all.db");
    assert!(
        merged["merged"].as_array().unwrap().iter().all(|one| one["taken"].as_u64().unwrap() > 1),
        "{merged}"
    );
    let status = lab.json("reproduce --status --store all.db");
    assert_eq!(status["done"], 2);
    for figure in &figures {
        assert_eq!(figure_status(&status, figure)["state"], "done");
    }
    let again = lab.json("store merge a b --into all.db");
    assert!(again["merged"].as_array().unwrap().iter().all(|one| one["taken"] == 0), "{again}");
    lab.run("report --store all.db -o page.html");
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(figures.iter().all(|figure| page.contains(figure.as_str())));
    lab.refused("store merge a nowhere --into new.db", "nowhere contains no results");
}

const EXPERIMENT: &str = r#"
figure = "FIGURE"
title = "Files that grow together"
source = "a test"
fs = ["ext4"]
disks = ["hdd-7200"]
round = { label = "in turn", unit = "%" }
scale.small = { size_bytes = 335_544_320, rounds = [0, 50, 100], workload = { kind = "intrafile", files = 4 } }
plot = [{ title = "Cost", y = "modelled_s_per_gib", axis = { label = "cost" } }]

[[claim]]
where = "nowhere"
states = "is torn apart"
measure = "dynamic_layout_score"
over = [{ at = "first" }]
trend = { below = 1.5 }
"#;

#[test]
fn concurrent_experiments_are_independent_and_lock_their_directory() {
    needs!("ext4");
    let lab = Lab::new();
    for figure in ["one", "two"] {
        let path = lab.path().join(format!("{figure}.toml"));
        std::fs::write(path, EXPERIMENT.replace("FIGURE", figure)).unwrap();
    }
    // Each has its own work directory, and both use one store.
    let run = |name: &str| format!("run {name}.toml --work {name} --store both.db --json");
    let two = lab.start(&run("two"));
    let one = lab.stopped(&run("one"), "round 50, aging");
    let second = lab.try_run("run one.toml --work one");
    let message = text(&second.stderr);
    let expected =
        format!("another run (process {}) is using one; wait for it or choose another --work", one.id());
    assert!(second.status.code() == Some(1) && message.contains(&expected), "{message}");
    // Another directory, but the same experiment and store.
    let same = lab.try_run("run one.toml --work other --store both.db");
    assert!(
        text(&same.stderr).contains("is already running in another process with this store"),
        "{}",
        text(&same.stderr)
    );
    assert!(!lab.path().join("other").exists(), "a refused run must leave no directory");
    lab.go_on();
    for child in [one, two] {
        let output = child.wait();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let outcome = document("run", &output);
        assert_eq!(outcome["failed"].as_array().unwrap().len(), 0, "{outcome}");
        assert_eq!(outcome["checkpoints"].as_array().unwrap().len(), 6);
        // Each has recorded only the requests of its own device.
        let alone = outcome["checkpoints"].as_array().unwrap().iter().all(|at| {
            let read = at["scan_read_bytes"].as_f64().unwrap();
            (1.6e6..8e6).contains(&read)
        });
        assert!(alone, "{outcome}");
    }
    let count = |line: &str| lab.json(line)["checkpoints"].as_array().unwrap().len();
    assert_eq!(count("run two.toml --work new --store both.db --resume"), 6);
    lab.nothing_left();
}

#[cfg(not(feature = "postgres"))]
#[test]
fn postgresql_store_without_feature_is_refused() {
    let lab = Lab::new();
    lab.refused("reproduce smith97-fig6 --work work --store postgres://host/db", "--features postgres");
    lab.refused("report --store postgres://me:geheim@host/db", "--features postgres");
    assert!(!text(&lab.try_run("report --store postgres://me:geheim@host/db").stderr).contains("geheim"));
}

#[test]
fn reproduce_all_in_a_used_directory_is_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("place")).unwrap();
    lab.run("age --dir place --size 16MiB --profile wang_os --overwrites 1 --work work");
    // Any process can hold the lock.
    let lock = std::fs::File::open(lab.work().join(".senesce.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let output = lab.try_run("reproduce all --work work");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.matches("is using work").count(), 1, "{message}");
}
