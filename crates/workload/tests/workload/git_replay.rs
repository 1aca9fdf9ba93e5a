//! Pulling a history with Git and replaying its extracted trace give the same working tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use replay::{Flow, Options, Replay, StopReason};
use senesce_workload::git::{
    ExtractOptions, Extracted, Gc, History, Live, LiveOptions, Order, sample, working_tree_digest,
};
use trace::{SavedLabels, Source, TraceInfo, TraceReader, save_labelled};

/// A sample repository with this number of commits.
fn sample_repository(commits: u64, seed: u64) -> tempfile::TempDir {
    let dir = testing::dir_in_memory();
    sample::make(dir.path(), commits, seed).unwrap();
    dir
}

/// Applies all operations that `source` currently has.
fn apply(replay: &mut Replay, source: &mut dyn Source) {
    let outcome = replay.run(source, None, &mut |_| Flow::Continue).unwrap();
    assert_eq!(outcome.stop_reason, StopReason::EndOfSource);
    assert_eq!(replay.failures(), [], "operations failed");
}

/// Pulls `pulls` commits both ways and compares the trees after every `every` commits.
fn compare(repository: &Path, order: Order, pulls: u64, every: u64, threads: usize, gc: Gc) {
    let history = History::open(repository, order).unwrap();
    let (live_dir, replay_dir, scratch) =
        (testing::dir_in_memory(), testing::dir_in_memory(), testing::dir_in_memory());
    let options = LiveOptions { gc, scratch: scratch.path().into(), source: None };
    let mut live = Live::begin(&history, live_dir.path(), &options).unwrap();
    let mut extracted =
        Extracted::new(&history, ExtractOptions { pulls: Some(pulls), every, objects: false }).unwrap();
    let labels = extracted.labels();
    let mut replay =
        Replay::labelled(replay_dir.path(), &Options { threads, ..Options::default() }, labels).unwrap();
    for pull in (every..=pulls).step_by(every as usize) {
        live.pull(pull).unwrap();
        extracted.pause_after(pull);
        apply(&mut replay, &mut extracted);
        let (aged, replayed) =
            (working_tree_digest(live_dir.path()).unwrap(), working_tree_digest(replay_dir.path()).unwrap());
        assert_eq!(aged, replayed, "after pull {pull}: {}", difference(live_dir.path(), replay_dir.path()));
    }
    drop(live);
    assert_eq!(
        fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "the repository to pull from is left behind"
    );
}

/// The output of `diff` for two trees.
fn difference(one: &Path, other: &Path) -> String {
    let output =
        Command::new("diff").args(["-rq", "--no-dereference", "-x", ".git"]).args([one, other]).output();
    String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
}

#[test]
fn live_and_extracted_give_same_working_tree() {
    let repository = sample_repository(150, 1);
    compare(repository.path(), Order::FirstParent, 120, 10, 2, Gc::Off);
}

#[test]
fn working_trees_match_in_full_order_with_git_gc() {
    let repository = sample_repository(80, 2);
    compare(repository.path(), Order::Full, 80, 8, 1, Gc::Every(40));
}

#[test]
fn working_trees_match_after_every_pull() {
    let repository = sample_repository(50, 3);
    compare(repository.path(), Order::FirstParent, 40, 1, 3, Gc::Auto);
}

#[test]
fn git_directory_has_the_objects_that_git_writes() {
    let repository = sample_repository(60, 4);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let (live_dir, replay_dir) = (testing::dir_in_memory(), testing::dir_in_memory());
    let options = LiveOptions { gc: Gc::Off, scratch: std::env::temp_dir(), source: None };
    let mut live = Live::begin(&history, live_dir.path(), &options).unwrap();
    live.pull(40).unwrap();
    let options = ExtractOptions { pulls: Some(40), objects: true, ..ExtractOptions::default() };
    let mut extracted = Extracted::new(&history, options).unwrap();
    let labels = extracted.labels();
    let options = Options { threads: 2, ..Options::default() };
    let mut replay = Replay::labelled(replay_dir.path(), &options, labels).unwrap();
    apply(&mut replay, &mut trace::ValidatingSource::new(&mut extracted));
    let (real, made) = (below_git(live_dir.path()), below_git(replay_dir.path()));
    assert_eq!(real.loose.keys().collect::<Vec<_>>(), made.loose.keys().collect::<Vec<_>>());
    // Another implementation of the same compression differs by a few bytes per object.
    let bytes = |side: &BelowGit| side.loose.values().sum::<u64>() as f64;
    let ratio = bytes(&made) / bytes(&real);
    assert!((0.9..1.1).contains(&ratio), "{ratio} times the bytes that git writes");
    assert_eq!(real.index_bytes, made.index_bytes);
    assert_eq!(real.packs, made.packs);
    assert!(real.packs > 0 && !real.loose.is_empty(), "the sample must have fetches of both kinds");
}

/// The contents of `.git`.
struct BelowGit {
    loose: BTreeMap<String, u64>,
    packs: usize,
    index_bytes: u64,
}

fn below_git(root: &Path) -> BelowGit {
    let git = root.join(".git");
    let mut loose = BTreeMap::new();
    for fan in fs::read_dir(git.join("objects")).unwrap() {
        let fan = fan.unwrap();
        let name = fan.file_name().into_string().unwrap();
        if name.len() == 2 {
            for object in fs::read_dir(fan.path()).unwrap() {
                let object = object.unwrap();
                let size = object.metadata().unwrap().len();
                loose.insert(format!("{name}{}", object.file_name().into_string().unwrap()), size);
            }
        }
    }
    let packs = fs::read_dir(git.join("objects/pack")).unwrap();
    let packs = packs.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "pack"));
    BelowGit { loose, packs: packs.count(), index_bytes: fs::metadata(git.join("index")).unwrap().len() }
}

#[test]
fn saved_history_replays_without_its_repository() {
    let dir = testing::dir_in_memory();
    let path = dir.path().join("history.parquet");
    let info = TraceInfo {
        tool: "test".into(),
        seed: None,
        source: "git".into(),
        parameters: "{}".into(),
        block_size: 4096,
    };
    let trees = [testing::dir_in_memory(), testing::dir_in_memory()];
    {
        let repository = sample_repository(50, 5);
        let history = History::open(repository.path(), Order::FirstParent).unwrap();
        let extracted = || Extracted::new(&history, ExtractOptions::default()).unwrap();
        let mut source = extracted();
        let labels = source.labels();
        save_labelled(&mut source, &*labels, true, &path, &info, &mut |_| Ok(())).unwrap();
        let mut source = extracted();
        let mut replay = Replay::labelled(trees[0].path(), &Options::default(), source.labels()).unwrap();
        apply(&mut replay, &mut source);
    }
    let mut reader = TraceReader::open(&path).unwrap();
    let labels = SavedLabels::load(&path, &reader.summary().sha256).unwrap().expect("the trace has labels");
    assert!(labels.has_contents());
    let options = Options { threads: 2, ..Options::default() };
    let mut replay = Replay::labelled(trees[1].path(), &options, Arc::new(labels)).unwrap();
    apply(&mut replay, &mut reader);
    let [one, other] = trees.each_ref().map(|tree| working_tree_digest(tree.path()).unwrap());
    assert_eq!(one, other);
}

#[test]
fn unlabelled_files_have_numbers_and_same_sizes() {
    let repository = sample_repository(40, 6);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let extracted = || Extracted::new(&history, ExtractOptions::default()).unwrap();
    let (named, numbered) = (testing::dir_in_memory(), testing::dir_in_memory());
    let mut source = extracted();
    let mut replay = Replay::labelled(named.path(), &Options::default(), source.labels()).unwrap();
    apply(&mut replay, &mut source);
    let mut replay = Replay::posix(numbered.path(), &Options::default()).unwrap();
    apply(&mut replay, &mut extracted());
    let sizes = |root: &Path| {
        let mut sizes = Vec::new();
        let mut left = vec![root.to_owned()];
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                match entry.metadata().unwrap() {
                    metadata if metadata.is_dir() => left.push(entry.path()),
                    metadata => sizes.push((metadata.is_symlink(), metadata.len())),
                }
            }
        }
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(sizes(named.path()), sizes(numbered.path()));
    assert!(numbered.path().join("f0").exists());
}

#[test]
fn interrupted_replay_can_be_redone() {
    let repository = sample_repository(60, 7);
    let history = History::open(repository.path(), Order::FirstParent).unwrap();
    let extracted = || Extracted::new(&history, ExtractOptions::default()).unwrap();
    let (once, twice) = (testing::dir_in_memory(), testing::dir_in_memory());
    let mut source = extracted();
    let mut replay = Replay::labelled(once.path(), &Options::default(), source.labels()).unwrap();
    apply(&mut replay, &mut source);
    let mut cut = 0;
    for most in [Some(700), None] {
        let mut source = extracted();
        let options = Options { redo_first: cut, threads: 2, ..Options::default() };
        let mut replay = Replay::labelled(twice.path(), &options, source.labels()).unwrap();
        cut = replay.run(&mut source, most, &mut |_| Flow::Continue).unwrap().operations;
        assert_eq!(replay.failures(), []);
    }
    assert_eq!(working_tree_digest(once.path()).unwrap(), working_tree_digest(twice.path()).unwrap());
}
