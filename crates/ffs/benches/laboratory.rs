//! Measures the speed and memory of the laboratory by policy, on the synthetic history of 1 GB.
//!
//! Seconds are processor time of the operations only, which are generated before. Memory is what the allocator of this program has allocated
//! and not freed at the end of the history, when the number of files is largest. Arguments select policies; without any, all run.
//! `cargo bench -p senesce-ffs --bench laboratory [-- POLICY …]`

use ffs::{History, SimulatedFs};
use rustix::time::{ClockId, clock_gettime};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use testing::{Table, verdict};
use trace::{Op, Source as _};

const DISK: u64 = 1 << 30;
const LEAST_RATE: f64 = 2e6;

/// The system's allocator with a count of allocated bytes.
struct Counted;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut ops: Vec<Op> = Vec::new();
    let (mut history, mut batch) = (History::new(DISK, 1), Vec::new());
    while history.next_batch(&mut batch).is_ok() && !batch.is_empty() {
        ops.extend_from_slice(&batch);
    }
    println!(
        "{} operations; limits: {:.0} M operations/s, 2 bits a block of 8 KB and 48 bytes a file",
        ops.len(),
        LEAST_RATE / 1e6
    );
    let table = Table::begin(["policy", "M operations/s", "memory/limit", "verdict"]);
    for kind in [SimulatedFs::Fast, SimulatedFs::Extents] {
        let wanted = |policy: &&&str| asked.is_empty() || asked.iter().any(|word| word == *policy);
        kind.policies().iter().filter(wanted).for_each(|policy| measure(&table, kind, policy, &ops));
    }
}

fn measure(table: &Table<4>, kind: SimulatedFs, policy: &str, ops: &[Op]) {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let mut simulation = kind.create(policy, DISK).expect("the policy exists");
    let begun = processor_seconds();
    for op in ops {
        simulation.apply(op).expect("the operations of the history are possible");
    }
    let seconds = processor_seconds() - begun;
    let bytes = ALLOCATED.load(Ordering::Relaxed) - before;
    let files = simulation.measure().files;
    let limit = DISK / 8192 / 4 + 48 * files;
    let (rate, share) = (ops.len() as f64 / seconds, bytes as f64 / limit as f64);
    table.row([
        policy.into(),
        format!("{:.1}", rate / 1e6),
        format!("{share:.2}"),
        verdict(rate >= LEAST_RATE && share <= 1.0).into(),
    ]);
}

/// Processor seconds of this process.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
