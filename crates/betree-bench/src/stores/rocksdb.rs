//! RocksDB with direct I/O, as its documentation recommends for limited memory. Two memtables share half of the memory.

use std::path::Path;

use anyhow::Result;
use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, ReadOptions};

use super::{Entries, EntryVisitor, SYNC_EVERY};

fn open(path: &Path, cache_bytes: u64) -> Result<DB> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(cache_bytes as usize / 2)?);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.increase_parallelism(2);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(cache_bytes as usize / 4);
    options.set_max_write_buffer_number(2);
    options.set_use_direct_reads(true);
    options.set_use_direct_io_for_flush_and_compaction(true);
    options.set_block_based_table_factory(&blocks);
    Ok(DB::open(&options, path.join("rocksdb"))?)
}

pub fn insert(path: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
    let store = open(path, cache_bytes)?;
    for (i, (key, value)) in entries.enumerate() {
        store.put(key, value)?;
        if i % SYNC_EVERY == SYNC_EVERY - 1 {
            store.flush_wal(true)?;
        }
    }
    store.flush()?;
    Ok(())
}

pub fn scan(path: &Path, cache_bytes: u64, each: &mut EntryVisitor<'_>) -> Result<()> {
    let store = open(path, cache_bytes)?;
    let mut read = ReadOptions::default();
    // Automatic read-ahead starts small and ends at 256 KiB; the documentation recommends this value for long scans.
    read.set_readahead_size(4 << 20);
    let mut scan = store.raw_iterator_opt(read);
    scan.seek_to_first();
    while let Some((key, value)) = scan.item() {
        each(key, value);
        scan.next();
    }
    scan.status()?;
    Ok(())
}
