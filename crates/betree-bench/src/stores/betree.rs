//! Ours, on the bare device.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use betree::{FileStorage, Options, Params, Storage, Store};

use super::{Each, Entries, TOGETHER};

fn open(place: &Path, cache_bytes: u64, make: bool) -> Result<Store> {
    let disk = Arc::new(FileStorage::open(place)?);
    if make {
        Store::create(&*disk, Params::for_image(disk.len()?))?;
    }
    Ok(Store::open(disk, Options { cache_bytes: cache_bytes as usize })?)
}

pub fn insert(place: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let store = open(place, cache_bytes, true)?;
    for (i, (key, value)) in entries.enumerate() {
        store.insert(&key, &value)?;
        if i % TOGETHER == TOGETHER - 1 {
            store.sync()?;
        }
    }
    Ok(store.close()?)
}

pub fn scan(place: &Path, cache_bytes: u64, each: &mut Each<'_>) -> Result<()> {
    let store = open(place, cache_bytes, false)?;
    let mut scan = store.scan(b"", None);
    while let Some((key, value)) = scan.next_entry()? {
        each(key, value);
    }
    Ok(())
}
