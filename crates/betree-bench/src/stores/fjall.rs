//! fjall, which reads and writes through the page cache.

use std::path::Path;

use anyhow::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Entries, EntryVisitor, SYNC_EVERY};

fn open(path: &Path, cache_bytes: u64) -> Result<(Database, Keyspace)> {
    let store = Database::builder(path.join("fjall")).cache_size(cache_bytes / 2).open()?;
    let entries =
        store.keyspace("entries", || KeyspaceCreateOptions::default().max_memtable_size(cache_bytes / 4))?;
    Ok((store, entries))
}

pub fn insert(path: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let (store, keyspace) = open(path, cache_bytes)?;
    for (i, (key, value)) in entries.enumerate() {
        keyspace.insert(key, value)?;
        if i % SYNC_EVERY == SYNC_EVERY - 1 {
            store.persist(PersistMode::SyncData)?;
        }
    }
    keyspace.rotate_memtable_and_wait()?;
    Ok(store.persist(PersistMode::SyncAll)?)
}

pub fn scan(path: &Path, cache_bytes: u64, each: &mut EntryVisitor<'_>) -> Result<()> {
    let (_store, keyspace) = open(path, cache_bytes)?;
    for entry in keyspace.iter() {
        let (key, value) = entry.into_inner()?;
        each(&key, &value);
    }
    Ok(())
}
