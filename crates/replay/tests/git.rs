//! Pulling a history with real git and replaying what was extracted from it give the same working tree.

use std::fs;
use std::path::Path;
use std::process::Command;

use ager::git::{
    ExtractOptions, Extracted, Gc, History, Live, LiveOptions, Order, sample, working_tree_digest,
};
use senesce_replay::{Ended, Flow, Options, Replay};
use trace::Source;

/// A sample repository of so many commits.
fn sample_repository(commits: u64, seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    sample::make(dir.path(), commits, seed).unwrap();
    dir
}

/// Applies all that `source` gives now.
fn apply(replay: &mut Replay, source: &mut dyn Source) {
    let outcome = replay.run(source, None, &mut |_| Flow::Go).unwrap();
    assert_eq!(outcome.ended, Ended::Source);
    assert_eq!(replay.errors(), [], "operations failed");
}

/// Pulls `pulls` commits both ways and compares the trees after every `every` of them.
fn compare(repository: &Path, order: Order, pulls: u64, every: u64, threads: usize, gc: Gc) {
    let history = History::open(repository, order).unwrap();
    let (live_dir, replay_dir, scratch) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = LiveOptions { gc, scratch: scratch.path().into() };
    let mut live = Live::begin(&history, live_dir.path(), &options).unwrap();
    let mut extracted = Extracted::new(&history, ExtractOptions { pulls: Some(pulls), every }).unwrap();
    let labels = extracted.labels();
    let mut replay = Replay::labelled(
        replay_dir.path(),
        &Options { threads, ..Options::default() },
        labels,
        Default::default(),
    )
    .unwrap();
    for pull in (every..=pulls).step_by(every as usize) {
        live.pull(pull).unwrap();
        extracted.until(pull);
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

/// What `diff` says of two trees.
fn difference(one: &Path, other: &Path) -> String {
    let output =
        Command::new("diff").args(["-rq", "--no-dereference", "-x", ".git"]).args([one, other]).output();
    String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
}

#[test]
fn live_and_extracted_give_one_working_tree() {
    let repository = sample_repository(200, 1);
    compare(repository.path(), Order::FirstParent, 170, 10, 2, Gc::Off);
}

#[test]
fn also_in_full_order_and_while_git_cleans_up() {
    let repository = sample_repository(120, 2);
    compare(repository.path(), Order::Full, 120, 8, 1, Gc::Every(40));
}

#[test]
fn also_after_every_single_pull() {
    let repository = sample_repository(60, 3);
    compare(repository.path(), Order::FirstParent, 50, 1, 3, Gc::Auto);
}
