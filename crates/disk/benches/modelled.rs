//! Throughput of the modelled disk with a model without costs, compared to a plain image: random reads of 4 KiB at queue depth 32, and
//! sequential reads and writes of 1 MiB at queue depth 8, all through a loop device with direct I/O.
//!
//! Rounds alternate between both, so that other work on the machine affects both. Compare the ratio of each pair; the best of all rounds
//! shows the capability of the machine: that, and the median ratio, are printed.

use io_uring::{IoUring, opcode, types};
use senesce_disk::modelled::{Clock, DiskSettings, ModelledDisk};
use senesce_disk::{Image, LoopDevice, Scratch, Session, catch_interrupts, interrupted, isolate};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use testing::{Table, median, verdict};

const SIZE_BYTES: u64 = 1 << 30;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1000);

#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    unit: &'static str,
    bytes: u64,
    depth: usize,
    random: bool,
    write: bool,
    /// The minimum expected on a machine with two processors.
    limit: f64,
}

const LOADS: [Load; 3] = [
    Load {
        name: "random reads",
        unit: "requests/s",
        bytes: 4096,
        depth: 32,
        random: true,
        write: false,
        limit: 40_000.0,
    },
    Load {
        name: "sequential reads",
        unit: "GiB/s",
        bytes: 1 << 20,
        depth: 8,
        random: false,
        write: false,
        limit: 2.0,
    },
    Load {
        name: "sequential writes",
        unit: "GiB/s",
        bytes: 1 << 20,
        depth: 8,
        random: false,
        write: true,
        limit: 1.0,
    },
];

fn main() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: loop devices and FUSE need root");
        return;
    }
    // Mounts are removed with this process, even if it is killed; files in memory are removed if it is interrupted, otherwise by `senesce
    // cleanup`.
    isolate().expect("root may leave the mount namespace");
    catch_interrupts();
    ModelledDisk::set_server_program(Path::new(env!("CARGO_BIN_EXE_senesce-disk-server")));
    let session = Session::begin().expect("a session");
    let dir = Scratch::make(&session, Path::new("/dev/shm"), "senesce-bench").expect("a directory in memory");
    let store = dir.path().join("store");
    ModelledDisk::create(&store, &DiskSettings::new(SIZE_BYTES, "ideal", Clock::Model)).expect("a store");
    let disk = ModelledDisk::attach(&session, &store).expect("a modelled disk");
    let modelled = LoopDevice::attach(&session, disk.file(), 128).expect("a loop device");
    let image = Image::create(&dir.path().join("image"), SIZE_BYTES).expect("an image");
    let plain = LoopDevice::attach(&session, image.path(), 128).expect("a loop device");
    // Fills both devices with data.
    for device in [&modelled, &plain] {
        run(device.device(), Load { bytes: 1 << 20, ..LOADS[2] }, Duration::from_secs(60));
    }
    let table = Table::begin(["load", "modelled", "limit", "plain image", "ratio", "verdict"]);
    for load in LOADS {
        let mut pairs: Vec<[f64; 2]> = Vec::new();
        for _ in 0..ROUNDS {
            if interrupted() {
                return;
            }
            pairs.push([&modelled, &plain].map(|device| rate(load, run(device.device(), load, ROUND))));
        }
        let ratio = median(pairs.iter().map(|[modelled, plain]| modelled / plain));
        let best = |side: usize| pairs.iter().map(|pair| pair[side]).fold(0.0, f64::max);
        let digits = if load.random { 0 } else { 1 };
        table.row([
            format!("{}, {}", load.name, load.unit),
            format!("{:.digits$}", best(0)),
            load.limit.to_string(),
            format!("{:.digits$}", best(1)),
            format!("{ratio:.2}"),
            verdict(best(0) >= load.limit).into(),
        ]);
    }
    modelled.detach().expect("detached");
    plain.detach().expect("detached");
    disk.detach().expect("detached");
}

/// Requests per second, or GiB per second.
fn rate(load: Load, (requests, elapsed): (u64, Duration)) -> f64 {
    let per_s = requests as f64 / elapsed.as_secs_f64();
    if load.random { per_s } else { per_s * load.bytes as f64 / (1u64 << 30) as f64 }
}

/// Keeps the device busy for `time`, or until a pass over all of it ends if `time` is long. Returns the number of completed requests.
fn run(device: &Path, load: Load, time: Duration) -> (u64, Duration) {
    let file = File::options()
        .read(true)
        .write(load.write)
        .custom_flags(libc::O_DIRECT)
        .open(device)
        .expect("the device opens");
    let mut ring = IoUring::new(64).expect("an io_uring");
    // Alignment for direct I/O.
    let layout =
        std::alloc::Layout::from_size_align(load.bytes as usize * load.depth, 4096).expect("a layout");
    // SAFETY: the layout has a size; the memory is freed below, when no request is running.
    let buffers = unsafe { std::alloc::alloc_zeroed(layout) };
    let places = SIZE_BYTES / load.bytes;
    let (mut next, mut under_way, mut done) = (1u64, 0, 0);
    let start = Instant::now();
    let endless = time < Duration::from_secs(10);
    let mut free: Vec<usize> = (0..load.depth).collect();
    loop {
        let over = start.elapsed() >= time || interrupted() || (!endless && next > places);
        while !over && let Some(slot) = free.pop() {
            let place =
                if load.random { next.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20 } else { next } % places;
            next += 1;
            let (fd, at) = (types::Fd(file.as_raw_fd()), place * load.bytes);
            // SAFETY: the slot lies in the buffers.
            let buffer = unsafe { buffers.add(slot * load.bytes as usize) };
            let entry = if load.write {
                opcode::Write::new(fd, buffer, load.bytes as u32).offset(at).build()
            } else {
                opcode::Read::new(fd, buffer, load.bytes as u32).offset(at).build()
            };
            // SAFETY: file and buffers outlive the request, because all requests are awaited.
            unsafe { ring.submission().push(&entry.user_data(slot as u64)).expect("room in the ring") };
            under_way += 1;
        }
        if under_way == 0 {
            break;
        }
        ring.submit_and_wait(1).expect("requests go in");
        for completion in ring.completion() {
            assert_eq!(completion.result(), load.bytes as i32);
            free.push(completion.user_data() as usize);
            under_way -= 1;
            done += 1;
        }
    }
    let elapsed = start.elapsed();
    // SAFETY: allocated above with this layout.
    unsafe { std::alloc::dealloc(buffers, layout) };
    (done, elapsed)
}
