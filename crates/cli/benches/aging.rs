//! Compares the speed of `senesce age` with its upper limits: the same operations in a plain loop, with the same syncs and without any.
//!
//! The program ages file systems in memory by its default profile, as users run it, and with each way to give files their blocks. The loops
//! only create, preallocate and delete; everything else, such as open directories and names, is prepared. All alternate. Needs root.
//! `cargo bench -p senesce-cli --bench aging [-- ROUNDS FS…]`

use disk::Session;
use fs::{Location, VolumeConfig};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, mkdirat, openat, syncfs, unlinkat};
use serde_json::Value;
use std::ffi::CString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;
use testing::{Table, median, verdict};
use trace::{BATCH, DirId, Op};
use workload::{Conditions, Method};

const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];
const PROFILE: &str = "agrawal";
const SIZE_BYTES: u64 = 512 << 20;
const FULLNESS: f64 = 0.8;
const SEED: u64 = 42;
const ROUNDS: usize = 3;
/// The ways to give files their blocks (`--data`), the default first.
const DATA: [&str; 3] = ["auto", "fallocate", "write"];
/// The minimum speed of the default in relation to the loop without syncs.
const LEAST: f64 = 0.85;
/// Bytes between two syncs of the program.
const SYNC_BYTES: u64 = 32 << 20;

fn main() {
    if !testing::is_root() {
        return println!("skipped: mounting needs root");
    }
    // Mounts go with this process.
    disk::isolate().expect("root can create a mount namespace");
    disk::catch_interrupts();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let named: Vec<&str> =
        FILE_SYSTEMS.into_iter().filter(|fs| words.iter().any(|word| word == fs)).collect();
    let calls = prepare();
    println!(
        "{} operations by {PROFILE} on {} MiB in memory, median of {rounds}",
        calls.len(),
        SIZE_BYTES >> 20
    );
    let table = Table::begin([
        "file system",
        "`auto` (default)",
        "`fallocate`",
        "`write`",
        "loop, synced",
        "loop",
        "default/loop",
        "limit",
        "verdict",
    ]);
    for fs in if named.is_empty() { &FILE_SYSTEMS[..] } else { &named[..] } {
        let mut turns: Vec<[f64; 5]> = Vec::new();
        for round in 0..rounds {
            let mut turn = [0.0; 5];
            for at in 0..turn.len() {
                let side = (at + round) % turn.len();
                turn[side] = match side {
                    0..3 => program(fs, DATA[side]),
                    _ => plain(fs, &calls, side == 3),
                };
                if disk::interrupted() {
                    return;
                }
            }
            turns.push(turn);
        }
        let rates: [f64; 5] = std::array::from_fn(|side| median(turns.iter().map(|turn| turn[side])));
        let share = median(turns.iter().map(|turn| turn[0] / turn[4]));
        let [auto, fallocate, write, synced, free] = rates.map(|rate| format!("{rate:.0}"));
        let (share, verdict) = (format!("{share:.2}"), verdict(share >= LEAST));
        table.row([
            (*fs).into(),
            auto,
            fallocate,
            write,
            synced,
            free,
            share,
            LEAST.to_string(),
            verdict.into(),
        ]);
    }
}

/// Operations per second of the program with one thread.
fn program(fs: &str, data: &str) -> f64 {
    let dir = testing::dir_in_memory();
    let output = Command::new(env!("CARGO_BIN_EXE_senesce"))
        .args([
            "age",
            "--fs",
            fs,
            "--profile",
            PROFILE,
            "--data",
            data,
            "--threads",
            "1",
            "--no-fill",
            "--json",
        ])
        .args([
            "--size",
            &SIZE_BYTES.to_string(),
            "--fullness",
            &FULLNESS.to_string(),
            "--seed",
            &SEED.to_string(),
        ])
        .arg("--work")
        .arg(dir.path())
        .output()
        .expect("the program was built");
    assert!(output.status.success() || disk::interrupted(), "{}", String::from_utf8_lossy(&output.stderr));
    let aged: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    aged["operations_per_s"].as_f64().unwrap_or(f64::NAN)
}

/// A prepared system call.
enum Call {
    Mkdir { parent: usize, name: CString },
    Create { parent: usize, name: CString, size: u64 },
    Delete { parent: usize, name: CString },
}

/// The operations of the aging. The number of a directory is its place in the order of creation, after the root.
fn prepare() -> Vec<Call> {
    let conditions = Conditions {
        method: Method::Planned,
        profile: profile::load(PROFILE).expect("the profile is built in"),
        capacity_bytes: SIZE_BYTES,
        fullness: FULLNESS,
        seed: SEED,
        overwrites: None,
        churn: None,
    };
    let mut planner = workload::begin(&conditions).expect("the conditions are valid");
    let (mut calls, mut batch) = (Vec::new(), Vec::with_capacity(BATCH));
    let mut dirs = 1;
    loop {
        planner.advance(BATCH, &mut batch);
        if batch.is_empty() {
            return calls;
        }
        for op in &batch {
            let place = |dir: DirId| dir.0 as usize;
            calls.push(match *op {
                Op::Mkdir { dir, parent } => {
                    assert_eq!(place(dir), dirs, "directories are numbered consecutively");
                    dirs += 1;
                    Call::Mkdir { parent: place(parent), name: name(dir) }
                }
                Op::Create { file, parent, size, .. } => {
                    Call::Create { parent: place(parent), name: name(file), size }
                }
                Op::Delete { file, parent } => Call::Delete { parent: place(parent), name: name(file) },
                _ => unreachable!("an aging by a profile has no other operations"),
            });
        }
    }
}

fn name(name: impl ToString) -> CString {
    CString::new(name.to_string()).expect("names contain no NUL")
}

/// Calls per second of a plain loop on a new file system.
fn plain(fs: &str, calls: &[Call], synced: bool) -> f64 {
    let dir = testing::dir_in_memory();
    let session = Arc::new(Session::begin().expect("the run directory is writable"));
    let image = Location::Image(dir.path().join("image"));
    let target = fs::make(&session, &mut VolumeConfig::new(image, fs, SIZE_BYTES), None)
        .expect("the file system can be made");
    let sync = openat(CWD, target.root(), OFlags::RDONLY, Mode::empty()).expect("the root can be opened");
    let begun = Instant::now();
    make(target.root(), calls, synced.then_some(&sync));
    let seconds = begun.elapsed().as_secs_f64();
    drop(sync);
    target.close().expect("the file system can be unmounted");
    calls.len() as f64 / seconds
}

fn make(root: &Path, calls: &[Call], sync: Option<&OwnedFd>) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dirs = vec![open(CWD, root)];
    let mut bytes = 0;
    for call in calls {
        match call {
            Call::Mkdir { parent, name } => {
                mkdirat(&dirs[*parent], name, Mode::from_raw_mode(0o755))
                    .expect("a directory can be created");
                let dir = open(&dirs[*parent], name);
                dirs.push(dir);
            }
            Call::Create { parent, name, size } => {
                let file = openat(&dirs[*parent], name, flags, Mode::from_raw_mode(0o644))
                    .expect("a file can be created");
                if *size > 0 {
                    fallocate(&file, FallocateFlags::empty(), 0, *size).expect("the file system has space");
                }
                let before = bytes / SYNC_BYTES;
                bytes += size;
                if before != bytes / SYNC_BYTES {
                    if disk::interrupted() {
                        return;
                    }
                    sync.map_or(Ok(()), syncfs).expect("the file system can be synced");
                }
            }
            Call::Delete { parent, name } => {
                unlinkat(&dirs[*parent], name, AtFlags::empty()).expect("the file exists");
            }
        }
    }
}

fn open(dir: impl AsFd, path: impl rustix::path::Arg) -> OwnedFd {
    openat(dir, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .expect("the directory exists")
}
