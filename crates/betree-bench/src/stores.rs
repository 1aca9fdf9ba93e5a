//! The stores, each made to do the same: take entries, make them last through a power cut every [`TOGETHER`] entries, and have all of them
//! on the disk in the end; give all of them back in order.
//!
//! Each has the same memory for its cache and its buffers together, compresses nothing, and is otherwise as it comes.

mod betree;
mod fjall;
mod redb;
mod rocksdb;

pub use self::betree::make as make_betree;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::work::{ENTRY_BYTES, KEY_BYTES};

/// So many entries are made to last at a time.
const TOGETHER: usize = 100_000;

/// What is inserted.
pub type Value = [u8; ENTRY_BYTES as usize - KEY_BYTES];
/// Entries to be inserted.
pub type Entries<'a> = dyn Iterator<Item = ([u8; KEY_BYTES], Value)> + 'a;
/// Takes each entry of a scan.
pub type Each<'a> = dyn FnMut(&[u8], &[u8]) + 'a;

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Kind {
    Betree,
    RocksDb,
    Fjall,
    Redb,
}

impl Kind {
    /// Whether it lies in files of a file system, or on a bare device.
    pub fn needs_file_system(self) -> bool {
        self != Self::Betree
    }

    /// Makes a store of all entries, and closes it.
    pub fn insert(self, place: &Path, cache_bytes: u64, entries: &mut Entries<'_>) -> Result<()> {
        match self {
            Self::Betree => betree::insert(place, cache_bytes, entries),
            Self::RocksDb => rocksdb::insert(place, cache_bytes, entries),
            Self::Fjall => fjall::insert(place, cache_bytes, entries),
            Self::Redb => redb::insert(place, cache_bytes, entries),
        }
    }

    /// Opens it again and gives all entries in order.
    pub fn scan(self, place: &Path, cache_bytes: u64, each: &mut Each<'_>) -> Result<()> {
        match self {
            Self::Betree => betree::scan(place, cache_bytes, each),
            Self::RocksDb => rocksdb::scan(place, cache_bytes, each),
            Self::Fjall => fjall::scan(place, cache_bytes, each),
            Self::Redb => redb::scan(place, cache_bytes, each),
        }
    }
}
