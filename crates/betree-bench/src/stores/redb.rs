//! redb: a B-tree that copies on write. It has no log, so that it is given many entries in each transaction.

use std::path::Path;

use anyhow::Result;
use redb::{Builder, Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Each, Entries, TOGETHER};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

fn open(place: &Path, cache_bytes: u64) -> Result<Database> {
    Ok(Builder::new().set_cache_size(cache_bytes as usize).create(place.join("redb"))?)
}

pub fn insert(place: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let store = open(place, cache_bytes)?;
    let mut left = true;
    while left {
        let transaction = store.begin_write()?;
        {
            let mut table = transaction.open_table(TABLE)?;
            let mut inserted = 0;
            for (key, value) in entries.take(TOGETHER) {
                table.insert(&key[..], &value[..])?;
                inserted += 1;
            }
            left = inserted == TOGETHER;
        }
        transaction.commit()?;
    }
    Ok(())
}

pub fn scan(place: &Path, cache_bytes: u64, each: &mut Each<'_>) -> Result<()> {
    let store = open(place, cache_bytes)?;
    let table = store.begin_read()?.open_table(TABLE)?;
    for entry in table.iter()? {
        let (key, value) = entry?;
        each(key.value(), value.value());
    }
    Ok(())
}
