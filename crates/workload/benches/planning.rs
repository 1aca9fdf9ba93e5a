//! Planning speed and memory: every profile on the smallest power of two of 2 GiB that takes seconds to plan,
//! and one file system of ten million live files.
//!
//! Each case runs in its own process, so that the kernel's VmHWM is the peak resident memory of that case.
//! Times are processor seconds: planning is single-threaded and does no I/O, so other load on the machine
//! matters less.
//! `cargo bench -p senesce-workload --bench planning [-- agrawal …]`

use rustix::time::{ClockId, clock_gettime};
use senesce_workload as workload;
use std::process::{Command, Stdio};
use testing::{Table, verdict};
use trace::BATCH;
use workload::{Conditions, Method};

/// Operations that take seconds to plan.
const MANY: u64 = 10_000_000;

/// Live files of the largest case.
const LARGE: u64 = 10_000_000;

/// A case ends after this many operations; the largest would run for minutes at the same speed.
const MOST: u64 = 200_000_000;

const MIN_RATE: f64 = 5e6;
const MAX_BYTES_PER_FILE: f64 = 64.0;

/// The argument that marks the process of one case.
const CASE: &str = "--case";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [mark, profile, size] = &words[..]
        && mark == CASE
    {
        return run(profile, size.parse().expect("the size is a number"));
    }
    let wanted: Vec<&str> = words.iter().map(String::as_str).filter(|w| !w.starts_with("--")).collect();
    println!("limits: {:.0} M operations/s, {MAX_BYTES_PER_FILE} bytes a file", MIN_RATE / 1e6);
    let table = Table::begin(["profile, GiB", "live files", "M operations/s", "bytes a file", "verdict"]);
    for name in profile::builtin() {
        if wanted.is_empty() || wanted.contains(&name) {
            start(&table, name, size_with(name, |plan| plan.operations >= MANY));
        }
    }
    if wanted.is_empty() {
        start(&table, "agrawal", size_with("agrawal", |plan| plan.live_files >= LARGE));
    }
}

/// Runs a case in its own process, and prints its row.
fn start(table: &Table<5>, profile: &str, size: u64) {
    let program = std::env::current_exe().expect("the program's path is known");
    let output =
        Command::new(program).args([CASE, profile, &size.to_string()]).stderr(Stdio::inherit()).output();
    let output = output.expect("this program starts");
    assert!(output.status.success(), "{profile} at {size} bytes failed");
    let told = String::from_utf8_lossy(&output.stdout);
    let [files, rate, bytes] = told.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{told}") };
    let (rate, bytes): (f64, f64) = (rate.parse().expect("a rate"), bytes.parse().expect("bytes a file"));
    table.row([
        format!("{profile}, {}", size >> 30),
        files.into(),
        format!("{:.1}", rate / 1e6),
        format!("{bytes:.1}"),
        verdict(rate >= MIN_RATE && bytes <= MAX_BYTES_PER_FILE).into(),
    ]);
}

fn conditions(profile: &str, capacity_bytes: u64) -> Conditions {
    Conditions {
        method: Method::Planned,
        profile: profile::load(profile).expect("a built-in profile loads"),
        capacity_bytes,
        fullness: 0.8,
        seed: 1,
        overwrites: None,
        churn: None,
    }
}

/// The smallest power of two of 2 GiB whose plan is `large`.
fn size_with(profile: &str, large: impl Fn(&workload::Plan) -> bool) -> u64 {
    let mut size = 2 << 30;
    while !large(workload::begin(&conditions(profile, size)).expect("the conditions are valid").plan()) {
        size *= 2;
    }
    size
}

/// Plans an aging, and prints its live files, its operations per second, and its bytes of memory a file.
fn run(profile: &str, size: u64) {
    let conditions = conditions(profile, size);
    let before = peak_bytes();
    let started = processor_seconds();
    let mut planner = workload::begin(&conditions).expect("the conditions are valid");
    let mut batch = Vec::with_capacity(BATCH);
    let mut operations = 0;
    while operations < MOST {
        planner.advance(BATCH, &mut batch);
        if batch.is_empty() {
            break;
        }
        operations += std::hint::black_box(&batch).len() as u64;
    }
    let seconds = processor_seconds() - started;
    let files = planner.plan().live_files;
    let rate = operations as f64 / seconds;
    let bytes = (peak_bytes() - before) as f64 / files as f64;
    println!("{files} {rate} {bytes}");
}

/// Processor time of this process.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Peak resident memory of this process.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status is readable");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("/proc/self/status has VmHWM");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("VmHWM is a number of KiB");
    kib << 10
}
