//! Measures the speed and write amplification of random inserts, a scan and lookups.
//!
//!     cargo run --release -p senesce-betree --example speed -- IMAGE GIB MILLIONS CACHE_MIB

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use senesce_betree::{FileStorage, Options, Params, Store, check};

/// The `i`th output of SplitMix64 (Steele, Lea and Flood 2014), followed by `i`.
fn key(i: u64) -> [u8; 16] {
    let mut mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    key
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, gib, millions, cache] = &args[..] else {
        return Err("IMAGE GIB MILLIONS CACHE_MIB".into());
    };
    let (path, count) = (Path::new(path), millions.parse::<u64>()? * 1_000_000);
    let bytes = gib.parse::<u64>()? << 30;
    let options = Options { cache_bytes: cache.parse::<usize>()? << 20, ..Options::default() };
    let disk = Arc::new(FileStorage::create(path, bytes)?);
    println!("direct I/O: {}", disk.is_direct());
    Store::create(&*disk, Params::for_image(bytes))?;
    let store = Store::open(disk.clone(), options)?;
    let mut value = [0; 84];
    let start = Instant::now();
    for i in 0..count {
        value[..8].copy_from_slice(&i.to_le_bytes());
        store.insert(&key(i), &value)?;
    }
    let inserted = start.elapsed();
    store.checkpoint()?;
    let all = start.elapsed();
    println!(
        "{count} inserts: {inserted:.2?}, with a checkpoint {all:.2?}: {:.0}/s",
        count as f64 / all.as_secs_f64()
    );
    let stat = store.stat()?;
    println!("write amplification {:.2}", stat.write_amplification());
    for (level, stats) in stat.levels.iter().enumerate() {
        println!(
            "level {level}: {} nodes, {:.2} full, {} children, {} MiB of messages, {:.2} written for each byte",
            stats.nodes,
            stats.bytes as f64 / (stats.nodes * stat.node_bytes) as f64,
            stats.children,
            stats.buffer_bytes >> 20,
            stats.written_bytes as f64 / stat.given_bytes as f64
        );
    }
    println!(
        "log {:.2}, frame {:.3}",
        stat.log_bytes as f64 / stat.given_bytes as f64,
        stat.frame_bytes as f64 / stat.given_bytes as f64
    );
    println!("layout score {:.4}, leaves in a row {:.3}", stat.layout_score, stat.key_order_layout_score);
    println!("memory now and at most: {:?} MiB", {
        let (a, b) = store.memory_bytes();
        (a >> 20, b >> 20)
    });
    store.close()?;
    drop(disk);

    let disk = Arc::new(FileStorage::open(path)?);
    let store = Store::open(disk.clone(), options)?;
    let start = Instant::now();
    let (mut scan, mut found, mut sum) = (store.scan(b"", None), 0u64, 0u64);
    while let Some((key, value)) = scan.next_entry()? {
        found += 1;
        sum += (key.len() + value.len()) as u64;
    }
    drop(scan);
    let took = start.elapsed().as_secs_f64();
    println!(
        "cold scan of {found}: {took:.2} s, {:.0} MB/s, {:.0}/s",
        sum as f64 / 1e6 / took,
        found as f64 / took
    );
    let start = Instant::now();
    for i in 0..20_000u64 {
        let i = i.wrapping_mul(7_919_777) % count;
        assert!(store.get(&key(i))?.is_some());
    }
    println!("20000 lookups: {:.0}/s", 20_000.0 / start.elapsed().as_secs_f64());
    store.close()?;
    let start = Instant::now();
    let checked = check(disk)?;
    println!(
        "check: {} nodes, {} values, sound: {}, {:.2?}",
        checked.nodes,
        checked.values,
        checked.is_valid(),
        start.elapsed()
    );
    std::fs::remove_file(path)?;
    Ok(())
}
