//! `senesce trace extract`: converts a git history into a trace that can be replayed on any machine.

use crate::common::{Lab, Mounted, text};
use std::fs;
use workload::git::working_tree_digest;

#[test]
fn history_becomes_a_trace_with_labels_and_contents() {
    let lab = Lab::new();
    workload::git::sample::make(&lab.path().join("repository"), 40, 1).unwrap();
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
    // A trace without contents removes the contents of an earlier trace of the same name.
    let again = lab.json("trace extract --git repository --order full --objects -o a.parquet");
    assert_eq!(again["pulls"], 40);
    assert!(!lab.path().join("a.parquet.blobs").exists());
}

#[test]
fn invalid_extractions_are_refused() {
    let lab = Lab::new();
    fs::create_dir(lab.path().join("empty")).unwrap();
    workload::git::sample::make(&lab.path().join("repository"), 5, 1).unwrap();
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

#[test]
fn extracted_history_ages_like_the_repository() {
    needs!("ext4");
    let lab = Lab::new();
    workload::git::sample::make(&lab.path().join("repository"), 40, 1).unwrap();
    lab.run("trace extract --git repository --pulls 25 --every 10 -o a.parquet --with-contents");
    let on = "--fs ext4 --size 150MiB --work work";
    lab.json(&format!("age --git repository --pulls 25 --live {on} --name live"));
    fs::remove_dir_all(lab.path().join("repository")).unwrap();
    let aged = lab.json(&format!("age --trace a.parquet --every 10 {on} --name replayed"));
    assert_eq!((&aged["workload"], &aged["round"]), (&"trace".into(), &25.into()));
    let rounds: Vec<u64> =
        aged["pairs"].as_array().unwrap().iter().map(|pair| pair["round"].as_u64().unwrap()).collect();
    assert_eq!(rounds, [10, 10, 20, 20, 25, 25]);
    let digest = |name: &str, below: &str| {
        let mounted = Mounted::new(&lab.work().join(format!("{name}.img")), lab.path());
        let _ = fs::remove_dir(mounted.dir.join("lost+found"));
        let tree = tempfile::tempdir().unwrap();
        let copied = std::process::Command::new("cp")
            .args(["-a", "--"])
            .arg(mounted.dir.join(below).join("."))
            .arg(tree.path())
            .status();
        assert!(copied.unwrap().success());
        let _ = fs::remove_dir(tree.path().join("lost+found"));
        working_tree_digest(tree.path()).unwrap()
    };
    assert_eq!(digest("replayed", ""), digest("live", "tree"));
    lab.json(&format!("age --trace a.parquet --rounds 20 {on} --name shorter"));
    lab.refused(&format!("age --trace a.parquet --rounds 15 {on} --name other"), "no checkpoint 15");
    lab.refused(&format!("age --trace a.parquet --every 5 {on} --name other"), "no checkpoint 5");
    // Without labels and checkpoints, files are named by number and the trace is one round.
    fs::write(
        lab.path().join("b.jsonl"),
        "{\"op\":\"create\",\"file\":1,\"dir\":0,\"size\":4096,\"content\":\"auto\"}\n",
    )
    .unwrap();
    assert_eq!(lab.json(&format!("age --trace b.jsonl {on} --name lines"))["round"], 1);
    assert_eq!(lab.list(&lab.work().join("lines.img")), [("f1".to_owned(), 4096)]);
    fs::write(lab.path().join("c.jsonl"), "{\"op\":\"delete\",\"file\":1,\"dir\":0}\n").unwrap();
    lab.refused(&format!("age --trace c.jsonl {on} --name other"), "is impossible");
    lab.nothing_left();
}

#[test]
fn repository_named_by_url_is_cloned_once() {
    let lab = Lab::new();
    let repository = lab.path().join("repository");
    workload::git::sample::make(&repository, 5, 1).unwrap();
    let url = format!("file://{}", repository.display());
    let extract = |url: &str, cache: &str| {
        let mut command = lab.command(["trace", "extract", "--git", url, "-o", "a.parquet"]);
        command.env("XDG_CACHE_HOME", lab.path().join(cache)).output().unwrap()
    };
    let failed = |url: &str, cache: &str, expected: &[&str]| {
        let output = extract(url, cache);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{said}");
        assert_eq!(said.lines().filter(|line| line.starts_with("senesce:")).count(), 1, "{said}");
    };
    let clones = lab.path().join("cache/senesce/repositories");
    let listed = |end: &str| {
        let entries = fs::read_dir(&clones).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|is| is == end)).collect::<Vec<_>>()
    };
    let first = extract(&url, "cache");
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stderr).contains("cloning file://"));
    let [clone] = &listed("git")[..] else { panic!("one clone: {:?}", listed("git")) };
    // What a killed run leaves.
    let part = clone.with_extension("part");
    fs::rename(clone, &part).unwrap();
    fs::remove_file(part.join("HEAD")).unwrap();
    let after_kill = extract(&url, "cache");
    assert!(text(&after_kill.stderr).contains("cloning file://"), "{}", text(&after_kill.stderr));
    assert!(clone.exists() && !part.exists());
    // The clone is enough.
    fs::remove_dir_all(&repository).unwrap();
    let second = extract(&url, "cache");
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert!(text(&second.stderr).contains("remove that directory to clone it anew"));
    // Two runs at once make one clone.
    let other = lab.path().join("other");
    workload::git::sample::make(&other, 40, 1).unwrap();
    let url = format!("file://{}", other.display());
    std::thread::scope(|scope| {
        let runs = ["b.parquet", "c.parquet"].map(|file| {
            let mut command = lab.command(["trace", "extract", "--git", &url, "-o", file]);
            command.env("XDG_CACHE_HOME", lab.path().join("cache"));
            scope.spawn(move || command.output().unwrap())
        });
        let said: String = runs.map(|run| text(&run.join().unwrap().stderr)).concat();
        assert_eq!(said.matches("cloning file://").count(), 1, "{said}");
    });
    let nowhere = format!("file://{}", lab.path().join("nowhere").display());
    failed(&nowhere, "cache", &["cloning file://", "nowhere", "check the URL"]);
    failed("https://me:geheim@localhost:1/a.git", "cache", &["cloning https://localhost:1/a.git", "network"]);
    failed("ext://a", "cache", &["cannot clone", "https://"]);
    fs::write(lab.path().join("file"), "").unwrap();
    failed(&url, "file", &["cannot write to", "XDG_CACHE_HOME"]);
    let leaked = extract("https://me:geheim@localhost:1/a.git", "cache");
    assert!(!text(&leaked.stderr).contains("geheim"));
    assert!(listed("part").is_empty());
}
