//! Measures how fast a Git history is extracted, replayed and pulled, for a given repository or a sample.
//!
//! `cargo bench -p senesce-workload --bench history [-- REPOSITORY]`. All trees are in /dev/shm and are removed at the end or on interruption.

use replay::{Flow, Options, Replay};
use senesce_workload::git::{ExtractOptions, Extracted, Gc, History, Live, LiveOptions, Order, sample};
use std::path::{Path, PathBuf};
use std::time::Instant;
use testing::Table;

/// Number of live pulls; a live pull takes a thousand times as long as an extraction.
const LIVE_PULLS: u64 = 200;

fn main() {
    disk::catch_interrupts();
    let memory = tempfile::tempdir_in("/dev/shm").expect("/dev/shm has space");
    let named = std::env::args().skip(1).find(|word| !word.starts_with("--")).map(PathBuf::from);
    let repository = named.unwrap_or_else(|| {
        let path = memory.path().join("sample");
        sample::make(&path, 1000, 42).expect("Git is installed");
        path
    });
    let history = History::open(&repository, Order::FirstParent).expect("the path is a Git repository");
    println!("{} pulls", history.count());
    let table = Table::begin(["history", "pulls/s"]);
    let source = |pulls| Extracted::new(&history, ExtractOptions { pulls, ..ExtractOptions::default() });
    let replay = |replay: &mut Replay, source: &mut Extracted| {
        let mut go_on = |_: &_| if disk::interrupted() { Flow::Stop } else { Flow::Continue };
        replay.run(source, None, &mut go_on).expect("the history is complete");
        assert!(replay.failures().is_empty(), "{:?}", replay.failures());
    };

    let mut extracted = source(None).expect("the history has commits");
    let report = time(&table, "extract", history.count());
    replay(&mut Replay::null(&Options::default()), &mut extracted);
    if disk::interrupted() {
        return;
    }
    report();

    for threads in [1, 2] {
        let mut extracted = source(None).expect("the history has commits");
        let options = Options { threads, ..Options::default() };
        let root = directory(memory.path(), &format!("replay{threads}"));
        let mut labelled =
            Replay::labelled(&root, &options, extracted.labels()).expect("the directory was just created");
        let report = time(&table, &format!("extract and replay, threads: {threads}"), history.count());
        replay(&mut labelled, &mut extracted);
        if disk::interrupted() {
            return;
        }
        report();
    }

    let pulls = LIVE_PULLS.min(history.count());
    let options = LiveOptions { gc: Gc::Off, scratch: memory.path().into(), source: None };
    let mut live = Live::begin(&history, &memory.path().join("live"), &options).expect("Git is installed");
    let report = time(&table, "pull live", pulls);
    for pull in 1..=pulls {
        if disk::interrupted() {
            return;
        }
        live.pull(pull).expect("the history is complete");
    }
    report();
}

/// Starts timing `pulls` pulls; the returned function prints the rate.
fn time<'a>(table: &'a Table<2>, what: &str, pulls: u64) -> impl FnOnce() + use<'a> {
    let (what, start) = (what.to_owned(), Instant::now());
    move || table.row([what, format!("{:.0}", pulls as f64 / start.elapsed().as_secs_f64())])
}

fn directory(above: &Path, name: &str) -> PathBuf {
    let path = above.join(name);
    std::fs::create_dir(&path).expect("the directory is new");
    path
}
