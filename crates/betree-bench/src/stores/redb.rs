//! redb, a copy-on-write B-tree. It has no log, so each transaction inserts many entries.

use std::path::Path;

use anyhow::Result;
use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Entries, EntryVisitor, SYNC_EVERY};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

fn open(path: &Path, cache_bytes: u64) -> Result<Database> {
    Ok(Builder::new().set_cache_size(cache_bytes as usize).create(path.join("redb"))?)
}

pub fn insert(path: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let store = open(path, cache_bytes)?;
    let mut left = true;
    while left {
        let transaction = store.begin_write()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            let mut inserted = 0;
            for (key, value) in entries.take(SYNC_EVERY) {
                table.insert(&key[..], &value[..])?;
                inserted += 1;
            }
            left = inserted == SYNC_EVERY;
        }
        transaction.commit()?;
    }
    Ok(())
}

pub fn scan(path: &Path, cache_bytes: u64, each: &mut EntryVisitor<'_>) -> Result<()> {
    let store = open(path, cache_bytes)?;
    let table = store.begin_read()?.open_table(TABLE)?;
    for entry in table.iter()? {
        let (key, value) = entry?;
        each(key.value(), value.value());
    }
    Ok(())
}
