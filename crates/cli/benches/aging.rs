//! Compares the speed of `senesce age` with its upper limits: the same operations in a plain loop, with the same system calls and syncs, and
//! by preallocation without syncs.
//!
//! The program ages file systems in memory by its default profile, as users run it, and with each way to give files their blocks. In the loops
//! everything else, such as open directories and names, is prepared. All alternate. Needs root.
//! `cargo bench -p senesce-cli --bench aging [-- ROUNDS FS…]`

use disk::Session;
use fs::{Location, VolumeConfig};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, fstat, ftruncate, mkdirat, openat, syncfs,
    unlinkat,
};
use rustix::io::pwrite;
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
/// The minimum speed of the default in relation to each loop.
const LEAST: f64 = 0.85;
const BLOCK_BYTES: u64 = 4096;
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
        "loop, same calls",
        "loop",
        "default/same calls",
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
                    3 => plain(fs, &calls, Calls::Same),
                    _ => plain(fs, &calls, Calls::Least),
                };
                if disk::interrupted() {
                    return;
                }
            }
            turns.push(turn);
        }
        let rates: [f64; 5] = std::array::from_fn(|side| median(turns.iter().map(|turn| turn[side])));
        let [same, least] = [3, 4].map(|side| median(turns.iter().map(|turn| turn[0] / turn[side])));
        let [auto, fallocate, write, beside_same, beside_least] = rates.map(|rate| format!("{rate:.0}"));
        let verdict = verdict(same >= LEAST && least >= LEAST).to_owned();
        let [same, least] = [same, least].map(|share| format!("{share:.2}"));
        let limit = LEAST.to_string();
        table.row([
            (*fs).into(),
            auto,
            fallocate,
            write,
            beside_same,
            beside_least,
            same,
            least,
            limit,
            verdict,
        ]);
    }
}

/// Options of mkfs. Btrfs as small as this is full before its data is, unless data and metadata share their block groups.
fn mkfs_opts(fs: &str) -> Vec<String> {
    if fs == "btrfs" { vec!["--mixed".to_owned()] } else { Vec::new() }
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
        .args(mkfs_opts(fs).iter().map(|option| format!("--mkfs-opts={option}")))
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

/// The system calls of a plain loop.
enum Calls {
    /// Those of the program by default, with its syncs.
    Same,
    /// Preallocation without syncs.
    Least,
}

/// How a loop gives a file its blocks, see `replay::Data::Auto`.
enum Blocks {
    Written,
    /// By a direct write that fails after the allocation.
    AsWritten,
    Preallocated,
}

/// Operations per second of a plain loop on a new file system.
fn plain(fs: &str, calls: &[Call], which: Calls) -> f64 {
    let dir = testing::dir_in_memory();
    let session = Arc::new(Session::begin().expect("the run directory is writable"));
    let image = Location::Image(dir.path().join("image"));
    let mut config = VolumeConfig::new(image, fs, SIZE_BYTES);
    config.mkfs_opts = mkfs_opts(fs);
    let target = fs::make(&session, &mut config, None).expect("the file system can be made");
    let kind = fs::find(fs).expect("the file system is known");
    let (inline, grouped) = (kind.inline_limit_bytes(), kind.grouped_limit_bytes(BLOCK_BYTES));
    let blocks = |size: u64| match which {
        Calls::Same if size <= inline => Blocks::Written,
        Calls::Same if size <= grouped => Blocks::AsWritten,
        _ => Blocks::Preallocated,
    };
    let sync = openat(CWD, target.root(), OFlags::RDONLY, Mode::empty()).expect("the root can be opened");
    let begun = Instant::now();
    make(target.root(), calls, blocks, matches!(which, Calls::Same).then_some(&sync));
    let seconds = begun.elapsed().as_secs_f64();
    drop(sync);
    target.close().expect("the file system can be unmounted");
    calls.len() as f64 / seconds
}

fn make(root: &Path, calls: &[Call], blocks: impl Fn(u64) -> Blocks, sync: Option<&OwnedFd>) {
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
                create(&dirs[*parent], name, flags, *size, blocks(*size));
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

fn create(dir: &OwnedFd, name: &CString, flags: OFlags, size: u64, blocks: Blocks) {
    let direct = if let Blocks::AsWritten = blocks { OFlags::DIRECT } else { OFlags::empty() };
    let file = openat(dir, name, flags | direct, Mode::from_raw_mode(0o644)).expect("a file can be created");
    match blocks {
        _ if size == 0 => {}
        Blocks::Preallocated => {
            fallocate(&file, FallocateFlags::empty(), 0, size).expect("the file system has space");
        }
        Blocks::AsWritten => {
            ftruncate(&file, size).expect("the size can be set");
            let end = size.next_multiple_of(BLOCK_BYTES);
            let mut at = 0;
            while at < end {
                // SAFETY: the kernel checks the address before it reads there, and no memory is ever mapped at it.
                unsafe { libc::pwrite(file.as_raw_fd(), std::ptr::null(), (end - at) as usize, at as i64) };
                let before = at;
                at = fstat(&file).expect("the file is open").st_blocks as u64 * 512;
                assert!(at > before, "the file system has space");
            }
        }
        Blocks::Written => {
            pwrite(&file, &[1; BLOCK_BYTES as usize][..size as usize], 0).expect("the file system has space");
        }
    }
}

fn open(dir: impl AsFd, path: impl rustix::path::Arg) -> OwnedFd {
    openat(dir, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .expect("the directory exists")
}
