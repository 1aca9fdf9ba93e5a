//! The stores, all with the same work: insert entries, make them durable every [`SYNC_EVERY`] entries and at the end, and return all entries in
//! order.
//!
//! Each store has the same amount of memory for its cache and buffers together, does not compress, and uses default settings otherwise.

mod betree;
mod fjall;
mod redb;
mod rocksdb;

pub use self::betree::make as make_betree;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::work::{ENTRY_BYTES, KEY_BYTES};

/// Entries between two syncs.
const SYNC_EVERY: usize = 100_000;

/// The value of an entry.
pub type Value = [u8; ENTRY_BYTES as usize - KEY_BYTES];
/// The entries to insert.
pub type Entries<'a> = dyn Iterator<Item = ([u8; KEY_BYTES], Value)> + 'a;
/// Called with key and value of each entry of a scan.
pub type EntryVisitor<'a> = dyn FnMut(&[u8], &[u8]) + 'a;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Kind {
    Betree,
    RocksDb,
    Fjall,
    Redb,
}

impl Kind {
    /// Whether the store needs a file system instead of a bare device.
    pub fn needs_file_system(self) -> bool {
        self != Self::Betree
    }

    /// Inserts all entries into a new store, and closes it.
    pub fn insert(self, path: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
        match self {
            Self::Betree => betree::insert(path, cache_bytes, entries),
            Self::RocksDb => rocksdb::insert(path, cache_bytes, entries),
            Self::Fjall => fjall::insert(path, cache_bytes, entries),
            Self::Redb => redb::insert(path, cache_bytes, entries),
        }
    }

    /// Opens the store and scans all entries in order.
    pub fn scan(self, path: &Path, cache_bytes: u64, each: &mut EntryVisitor<'_>) -> Result<()> {
        match self {
            Self::Betree => betree::scan(path, cache_bytes, each),
            Self::RocksDb => rocksdb::scan(path, cache_bytes, each),
            Self::Fjall => fjall::scan(path, cache_bytes, each),
            Self::Redb => redb::scan(path, cache_bytes, each),
        }
    }
}
