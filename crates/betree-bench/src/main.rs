//! Compares the Bε-tree store with RocksDB, fjall and redb: random inserts of 100 bytes, of more data than the cache holds, then a scan of all entries
//! in key order from a cold cache. The disk requests of all stores are counted and priced in the same way.
//!
//!     cargo run --release -p senesce-betree-bench                              # 10 million, on the disk of this machine
//!     cargo run --release -p senesce-betree-bench -- --on model --millions 2
//!
//! Each phase of a store runs in its own process, whose memory, including page cache, is limited to twice the cache size of the store. Each store is
//! on a loop device with direct I/O: RocksDB, fjall and redb in an ext4 file system, the Bε-tree on the bare device. Therefore the counters of the
//! device measure the writes of every store.

mod backing;
mod stores;
mod table;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand, ValueEnum};

use crate::stores::Kind;

/// Compare the Bε-tree store with other stores
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    internal: Option<Internal>,
    /// Stores to measure
    #[arg(long, value_delimiter = ',', default_value = "betree,rocksdb,fjall,redb")]
    stores: Vec<Kind>,
    /// Inserts in millions
    #[arg(long, default_value_t = 10.0)]
    millions: f64,
    /// Cache of each store in MiB, including write buffers [default: a quarter of the data]
    #[arg(long)]
    cache: Option<u64>,
    /// Size of the disk in GiB
    #[arg(long, default_value_t = 8)]
    size: u64,
    /// Medium: a file on a disk of this machine, or a modelled disk in memory
    #[arg(long, value_enum, default_value_t = Medium::Disk)]
    on: Medium,
    /// Directory of the file or modelled disk [default: the current directory, or /dev/shm]
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Medium {
    Disk,
    Model,
}

#[derive(Subcommand)]
enum Internal {
    /// Run one phase of one store; the processes of a run call this
    #[command(hide = true)]
    Phase { phase: work::Phase, store: Kind, path: PathBuf, count: u64, cache_bytes: u64 },
    /// Serve the modelled disk
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
    match args.internal {
        Some(Internal::Phase { phase, store, path, count, cache_bytes }) => {
            return work::run(phase, store, &path, count, cache_bytes);
        }
        Some(Internal::Disk { dir, .. }) => return Ok(disk::modelled::serve(&dir, None)?),
        None => {}
    }
    if !rustix::process::geteuid().is_root() {
        bail!("loop devices and mounts need root");
    }
    let count = (args.millions * 1e6) as u64;
    let cache_bytes = args.cache.map_or(count * work::ENTRY_BYTES / 4, |mib| mib << 20);
    let dir = args.dir.unwrap_or_else(|| match args.on {
        Medium::Disk => std::env::current_dir().unwrap_or_default(),
        Medium::Model => "/dev/shm".into(),
    });
    // Mounts and loop devices are removed on interrupt, and with this process if it is killed.
    disk::isolate()?;
    disk::catch_interrupts();
    let session = disk::Session::begin()?;
    println!(
        "{count} inserts of {} bytes in random order; {} MiB of cache; {}",
        work::ENTRY_BYTES,
        cache_bytes >> 20,
        match args.on {
            Medium::Disk => format!("a file in {}", dir.display()),
            Medium::Model => "a disk in memory, times by model".into(),
        }
    );
    let mut rows = Vec::new();
    for store in args.stores {
        let mut backing =
            backing::Backing::create(&session, &dir, args.size << 30, store, args.on == Medium::Model)?;
        let inserts = backing.phase(work::Phase::Insert, count, cache_bytes)?;
        let scan = backing.phase(work::Phase::Scan, count, cache_bytes)?;
        backing.remove()?;
        rows.push(table::Row { store, inserts, scan });
    }
    table::print(&rows, count);
    table::print_verdicts(&rows);
    Ok(())
}
