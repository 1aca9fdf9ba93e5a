//! The Bε-tree store, on the bare device.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use betree::{FileStorage, Options, Params, Storage, Store};

use super::{Entries, EntryVisitor, SYNC_EVERY};

/// Creates an empty store on a device.
pub fn make(device: &Path) -> Result<()> {
    let disk = FileStorage::open(device)?;
    Ok(Store::create(&disk, Params::for_image(disk.len()?))?)
}

fn open(device: &Path, cache_bytes: u64) -> Result<Store> {
    let disk = Arc::new(FileStorage::open(device)?);
    Ok(Store::open(disk, Options { cache_bytes: cache_bytes as usize, ..Options::default() })?)
}

pub fn insert(device: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let store = open(device, cache_bytes)?;
    for (i, (key, value)) in entries.enumerate() {
        store.insert(&key, &value)?;
        if i % SYNC_EVERY == SYNC_EVERY - 1 {
            store.sync()?;
        }
    }
    Ok(store.close()?)
}

pub fn scan(device: &Path, cache_bytes: u64, each: &mut EntryVisitor<'_>) -> Result<()> {
    let store = open(device, cache_bytes)?;
    let mut scan = store.scan(b"", None);
    while let Some((key, value)) = scan.next_entry()? {
        each(key, value);
    }
    Ok(())
}
