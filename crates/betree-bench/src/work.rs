//! The work of one process on one store.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::stores::{Kind, Value};

/// Bytes of a key and its value.
pub const ENTRY_BYTES: u64 = 100;
/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Phase {
    Insert,
    Scan,
}

/// Runs one phase and prints its time in seconds and the peak memory of the process in KiB.
pub fn run(phase: Phase, store: Kind, path: &Path, count: u64, cache_bytes: u64) -> Result<()> {
    let start = Instant::now();
    match phase {
        Phase::Insert => {
            store.insert(path, cache_bytes, &mut (0..count).map(entry))?;
        }
        Phase::Scan => {
            let (mut found, mut last) = (0, Vec::new());
            store.scan(path, cache_bytes, &mut |key, value| {
                assert!(key > &last[..] && value.len() as u64 == ENTRY_BYTES - KEY_BYTES as u64);
                last.clear();
                last.extend_from_slice(key);
                found += 1;
            })?;
            if found != count {
                bail!("{count} entries were inserted and {found} found");
            }
        }
    }
    println!("{} {}", start.elapsed().as_secs_f64(), peak_kib()?);
    Ok(())
}

/// Peak memory of this process in KiB, without page cache.
fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.and_then(|line| line.split_whitespace().next()).unwrap_or("0").parse()?)
}

/// Entry `i`: a random key and a random value.
fn entry(i: u64) -> ([u8; KEY_BYTES], Value) {
    let mut state = i << 8;
    let mut key = [0; KEY_BYTES];
    let mut value: Value = [0; _];
    for eight in key.chunks_mut(8).chain(value.chunks_mut(8)) {
        let random = random(&mut state).to_be_bytes();
        eight.copy_from_slice(&random[..eight.len()]);
    }
    (key, value)
}

/// The next number of SplitMix64 (Steele, Lea and Flood 2014).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
