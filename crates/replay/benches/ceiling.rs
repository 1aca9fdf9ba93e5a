//! Compares replay with its upper limit: the same system calls in a plain loop, with everything prepared.
//!
//! Creates of 4 to 64 KiB with fallocate, deletes, and syncs, in 500 directories of a new file system in memory; replay and
//! the plain loop alternate. Needs root. Leaves no mount and no image in memory, even if interrupted or killed.
//! `cargo bench -p senesce-replay [-- ROUNDS FS...]`

#[path = "../tests/replay/common/churn.rs"]
mod churn;
#[path = "../tests/replay/common/image.rs"]
mod image;

use std::ffi::CString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use churn::churn;
use image::Image;
use replay::{Data, Flow, Options, Replay};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, mkdirat, openat, syncfs, unlinkat};
use senesce_replay as replay;
use trace::Op;

/// The minimum speed of replay relative to the plain loop.
const LEAST: f64 = 0.85;
const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
/// The sync interval of replay.
const SYNC_BYTES: u64 = 32 << 20;
const DIRS: u64 = 500;
const LIVE: u64 = 20_000;
const CHURN: u64 = 100_000;

fn main() {
    disk::isolate().expect("root can create a mount namespace");
    disk::catch_interrupts();
    let rounds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(5);
    let trace = churn(DIRS, LIVE + CHURN, LIVE as usize, u64::MAX, |_, below| 4096 + below(60 << 10));
    println!(
        "{:<6} {:>7} {:>14} {:>14} {:>6}  limit >= {LEAST}",
        "fs", "threads", "replay ops/s", "plain ops/s", "ratio"
    );
    let null = rate(trace.len(), || replay_into(None, &trace, 1));
    println!("{:<6} {:>7} {:>14.0}", "null", 1, null);
    let null = rate(trace.len(), || replay_into(None, &trace, 2));
    println!("{:<6} {:>7} {:>14.0}", "null", 2, null);
    let named = |fs: &str| std::env::args().any(|word| word == fs);
    let all = !FILE_SYSTEMS.iter().any(|fs| named(fs));
    for fs in FILE_SYSTEMS.into_iter().filter(|fs| all || named(fs)) {
        for threads in [1, 2] {
            match (0..rounds)
                .map(|round| turn(fs, threads, &trace, round % 2 == 0))
                .collect::<Option<Vec<_>>>()
            {
                Some(turns) => {
                    let replay = median(turns.iter().map(|turn| turn.0));
                    let plain = median(turns.iter().map(|turn| turn.1));
                    let ratio = median(turns.iter().map(|turn| turn.0 / turn.1));
                    let verdict = if ratio >= LEAST { "PASS" } else { "MISS" };
                    println!("{fs:<6} {threads:>7} {replay:>14.0} {plain:>14.0} {ratio:>6.2}  {verdict}");
                }
                None if disk::interrupted() => return println!("interrupted"),
                None => println!("{fs:<6} {threads:>7} skipped"),
            }
        }
    }
}

/// Operations per second of a replay and of the plain loop, each on its own file system.
fn turn(fs: &str, threads: usize, trace: &[Op], replay_first: bool) -> Option<(f64, f64)> {
    let replay = || {
        let image = Image::new(fs, 2048, &["-q"])?;
        whole(rate(trace.len(), || replay_into(Some(&image.root()), trace, threads)))
    };
    let plain = || {
        let image = Image::new(fs, 2048, &["-q"])?;
        whole(plain(&image.root(), trace, threads))
    };
    Some(if replay_first {
        let replay = replay()?;
        (replay, plain()?)
    } else {
        let plain = plain()?;
        (replay()?, plain)
    })
}

/// The rate of a run that was not interrupted.
fn whole(rate: f64) -> Option<f64> {
    (!disk::interrupted()).then_some(rate)
}

fn replay_into(root: Option<&Path>, trace: &[Op], threads: usize) {
    let options = Options { threads, data: Data::Fallocate, ..Options::default() };
    let mut replay = match root {
        Some(root) => Replay::posix(root, &options).expect("the root can be opened"),
        None => Replay::null(&options),
    };
    let mut source = Vec::from(trace).into_iter();
    let mut go_on = |_: &_| if disk::interrupted() { Flow::Stop } else { Flow::Continue };
    let outcome = replay.run(&mut source, None, &mut go_on).expect("a list of operations does not fail");
    assert!(outcome.operations == trace.len() as u64 || disk::interrupted());
    assert_eq!(replay.failures(), []);
}

/// A prepared system call.
struct Call {
    dir: usize,
    name: CString,
    /// The size of a file to create; `None` to delete it.
    size: Option<u64>,
}

fn plain(root: &Path, trace: &[Op], threads: usize) -> f64 {
    let root = open(CWD, root);
    let mut dirs = Vec::new();
    let mut calls: Vec<Vec<Call>> = (0..threads).map(|_| Vec::new()).collect();
    for op in trace {
        let (parent, file, size) = match *op {
            Op::Mkdir { dir, .. } => {
                mkdirat(&root, dir.to_string(), Mode::from_raw_mode(0o755))
                    .expect("a directory can be created");
                dirs.push(open(&root, dir.to_string()));
                continue;
            }
            Op::Create { file, parent, size, .. } => (parent, file, Some(size)),
            Op::Delete { file, parent } => (parent, file, None),
            _ => unreachable!("the trace has no other operations"),
        };
        let dir = parent.0 as usize - 1;
        let name = CString::new(file.to_string()).expect("names contain no NUL");
        calls[dir % threads].push(Call { dir, name, size });
    }
    let (sync, bytes) = (
        openat(&root, ".", OFlags::RDONLY, Mode::empty()).expect("the root can be opened"),
        AtomicU64::new(0),
    );
    rate(trace.len(), || {
        thread::scope(|scope| {
            let (here, others) = calls.split_first().expect("at least one thread");
            others.iter().for_each(|calls| drop(scope.spawn(|| make(&dirs, calls, &sync, &bytes))));
            make(&dirs, here, &sync, &bytes);
        })
    })
}

fn make(dirs: &[OwnedFd], calls: &[Call], sync: &OwnedFd, bytes: &AtomicU64) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for call in calls {
        let dir = &dirs[call.dir];
        match call.size {
            Some(size) => {
                let fd = openat(dir, &call.name, flags, Mode::from_raw_mode(0o644))
                    .expect("a file can be created");
                fallocate(&fd, FallocateFlags::empty(), 0, size).expect("the file system has space");
                let before = bytes.fetch_add(size, Relaxed);
                if before / SYNC_BYTES != (before + size) / SYNC_BYTES {
                    if disk::interrupted() {
                        return;
                    }
                    syncfs(sync).expect("the file system can be synced");
                }
            }
            None => unlinkat(dir, &call.name, AtFlags::empty()).expect("the file exists"),
        }
    }
}

fn open(dir: impl rustix::fd::AsFd, path: impl rustix::path::Arg) -> OwnedFd {
    openat(dir, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .expect("the directory exists")
}

fn rate(operations: usize, work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    operations as f64 / started.elapsed().as_secs_f64()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
