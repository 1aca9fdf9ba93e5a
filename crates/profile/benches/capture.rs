//! Measures how fast a live tree is captured, compared with the fastest tree walkers that also stat every file.
//!
//! All walkers alternate on the same tree in the page cache: a tree of 320 000 files created in memory, and the trees given as
//! arguments. Skips walkers that are not on the PATH.
//! `cargo bench -p senesce-profile --bench capture [-- TREE …]`

use senesce_profile::{AgeBy, capture};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use testing::{Table, median, verdict};

/// Rounds per walker, after one to warm the cache.
const ROUNDS: usize = 7;

/// Maximum time of a capture relative to the fastest other walker.
const LIMIT: f64 = 1.5;

/// The first argument of a process that runs one capture.
const CAPTURE: &str = "--capture";

/// Threads per processor for the captures.
const THREADS: [usize; 3] = [1, 2, 4];

/// Commands that stat every file, including hidden and ignored ones, and print little. The tree is the last argument.
const PEERS: &[&[&str]] = &[
    &["fd", "--unrestricted", "--size", "+999ti", "."],
    &["dust", "-d", "0"],
    &["pdu", "--max-depth", "1"],
    &["diskus"],
    &["dua", "aggregate"],
    &["erd", "--level", "1", "--hidden", "--no-ignore"],
    &["gdu", "--non-interactive", "--no-progress", "--summarize"],
    &["du", "-s"],
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mark, threads, tree] = &words[..]
        && mark == CAPTURE
    {
        capture(tree.as_ref(), "bench", AgeBy::Birth, threads.parse().expect("the thread count is a number"))
            .expect("the tree can be captured");
        return;
    }
    let temp_tree = TempTree::new();
    compare_walkers("in memory", &temp_tree.0);
    for tree in words.iter().filter(|w| !w.starts_with("--")) {
        compare_walkers(tree, tree.as_ref());
    }
}

/// Runs all walkers in turn on a tree and prints the table.
fn compare_walkers(label: &str, tree: &Path) {
    let program = std::env::current_exe().expect("a running program has a path");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut walkers: Vec<(String, Vec<String>)> = THREADS
        .iter()
        .map(|n| n * processors)
        .map(|n| {
            let words = vec![program.to_string_lossy().into_owned(), CAPTURE.into(), n.to_string()];
            (format!("capture, {n} threads"), words)
        })
        .collect();
    let own = walkers.len();
    walkers.extend(PEERS.iter().map(|p| (p[0].into(), p.iter().map(|&w| w.into()).collect())));
    walkers.retain(|(_, words)| seconds(words, tree).is_some());

    let mut taken = vec![Vec::new(); walkers.len()];
    for round in 0..ROUNDS {
        for i in 0..walkers.len() {
            let i = (i + round) % walkers.len();
            taken[i].push(seconds(&walkers[i].1, tree).expect("a walker that ran before runs again"));
        }
    }
    let median: Vec<f64> = taken.into_iter().map(median).collect();
    let files = capture(tree, "bench", AgeBy::Birth, processors).expect("the tree can be captured").files;
    println!(
        "\n{label}: {files} files, median of {ROUNDS}; limit: {LIMIT} times the time of the fastest other"
    );
    let table = Table::begin([label, "s", "files/s", "capture/walker", "verdict"]);
    let fastest = median[own..].iter().copied().fold(f64::INFINITY, f64::min);
    for ((name, _), &s) in walkers.iter().zip(&median) {
        let verdict = if s == fastest { verdict(median[1] / s <= LIMIT) } else { "" };
        table.row([
            name.clone(),
            format!("{s:.3}"),
            format!("{:.0}", files as f64 / s),
            format!("{:.2}", median[1] / s),
            verdict.into(),
        ]);
    }
    if walkers.len() == own {
        println!("skipped: none of the other walkers is installed");
    }
}

/// The elapsed time of a command; `None` if it is not installed or fails.
fn seconds(words: &[String], tree: &Path) -> Option<f64> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(tree).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status().ok()?;
    status.success().then(|| started.elapsed().as_secs_f64())
}

/// A tree in memory, removed on drop.
struct TempTree(PathBuf);

impl TempTree {
    /// Creates 20 × 20 × 20 directories with 40 files each.
    fn new() -> TempTree {
        let temp_tree = TempTree(Path::new("/dev/shm").join(format!("senesce-bench-{}", std::process::id())));
        for i in 0..8000 {
            let dir = temp_tree.0.join(format!("{}/{}/{}", i / 400, i / 20 % 20, i % 20));
            std::fs::create_dir_all(&dir).expect("a directory can be created in /dev/shm");
            for file in 0..40 {
                std::fs::write(dir.join(file.to_string()), []).expect("a file can be created in /dev/shm");
            }
        }
        temp_tree
    }
}

impl Drop for TempTree {
    fn drop(&mut self) {
        // A failure leaves files in memory only.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
