//! The Bε-tree store beside RocksDB, fjall and redb: random inserts of 100 bytes past the cache, then a scan of all in the order of
//! their keys, from a cold start. What the stores do to the disk is counted and priced in the same way for all of them.
//!
//!     cargo run --release -p senesce-betree-bench                              # 10 million, on the disk of this machine
//!     cargo run --release -p senesce-betree-bench -- --on model --millions 2
//!
//! Each store runs in a process of its own, whose memory, page cache included, is limited to twice the budget that the
//! store is given for its cache. Its place is a loop device with direct I/O: a file system (ext4) for those that need one, the bare
//! device for the Bε-tree. So one counter, that of the device, tells what each of them wrote.

mod place;
mod stores;
mod table;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand, ValueEnum};

use crate::stores::Kind;

/// Measures the Bε-tree store beside others.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    part: Option<Part>,
    /// The stores.
    #[arg(long, value_delimiter = ',', default_value = "betree,rocksdb,fjall,redb")]
    stores: Vec<Kind>,
    /// Million inserts.
    #[arg(long, default_value_t = 10.0)]
    millions: f64,
    /// MiB of memory for the cache of each store, its buffers for writes included. A quarter of the data unless told.
    #[arg(long)]
    cache: Option<u64>,
    /// GiB of the disk.
    #[arg(long, default_value_t = 8)]
    size: u64,
    /// A file on the disk of this machine, or a modelled disk in memory.
    #[arg(long, value_enum, default_value_t = On::Disk)]
    on: On,
    /// Where the file lies, or the modelled disk.
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum On {
    Disk,
    Model,
}

#[derive(Subcommand)]
enum Part {
    /// One phase of one store: what the processes of a run do.
    #[command(hide = true)]
    Phase { phase: work::Phase, store: Kind, place: PathBuf, count: u64, cache_bytes: u64 },
    /// The server of the modelled disk, which is this program again.
    #[command(hide = true)]
    Disk { serve: String, dir: PathBuf, clock: Option<String> },
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args = Args::parse();
    match args.part {
        Some(Part::Phase { phase, store, place, count, cache_bytes }) => {
            return work::run(phase, store, &place, count, cache_bytes);
        }
        Some(Part::Disk { dir, .. }) => return Ok(disk::modelled::serve(&dir, None)?),
        None => {}
    }
    if !rustix::process::geteuid().is_root() {
        bail!("loop devices and mounts need root");
    }
    let count = (args.millions * 1e6) as u64;
    let cache_bytes = args.cache.map_or(count * work::ENTRY_BYTES / 4, |mib| mib << 20);
    let dir = args.dir.unwrap_or_else(|| match args.on {
        On::Disk => std::env::current_dir().unwrap_or_default(),
        On::Model => "/dev/shm".into(),
    });
    // What is mounted and attached is taken down when it is interrupted, and goes with this process when it is killed.
    disk::isolate()?;
    disk::catch_interrupts();
    let session = disk::Session::begin()?;
    println!(
        "{count} inserts of {} bytes in random order; {} MiB of cache; {}",
        work::ENTRY_BYTES,
        cache_bytes >> 20,
        match args.on {
            On::Disk => format!("a file in {}", dir.display()),
            On::Model => "a disk in memory, times by model".into(),
        }
    );
    let mut rows = Vec::new();
    for store in args.stores {
        let mut place = place::Place::make(&session, &dir, args.size << 30, store, args.on == On::Model)?;
        let inserts = place.phase(work::Phase::Insert, count, cache_bytes)?;
        let scan = place.phase(work::Phase::Scan, count, cache_bytes)?;
        place.remove()?;
        let row = table::Row { store, inserts, scan };
        println!("{}", row.line(count));
        rows.push(row);
    }
    table::verdicts(&rows);
    Ok(())
}
