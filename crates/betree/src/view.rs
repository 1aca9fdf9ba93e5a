//! The state that readers see: a tree, and the memtables above it.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::error::Result;
use crate::memtable::Memtable;
use crate::node::Link;
use crate::scan::Scan;
use crate::store::Shared;

/// One version of the tree. It is immutable; the writer creates the next one beside it.
#[derive(Debug)]
pub(crate) struct Version {
    pub root: Link,
}

/// A tree and the writes since.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// The memtable that takes writes.
    pub active: Arc<RwLock<Memtable>>,
    /// The memtable that is being applied to the tree. Messages applied already have no further effect.
    pub frozen: Option<Arc<RwLock<Memtable>>>,
    pub version: Arc<Version>,
    /// The number of the last visible write.
    pub number: u64,
}

/// The store at one moment. Writers continue; the disk space that it needs is held until it is dropped.
pub struct Snapshot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) view: View,
}

impl Snapshot {
    /// The value of `key`.
    ///
    /// # Errors
    /// If the disk fails or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.view.get(&self.shared.pager, key, 0)
    }

    /// All keys from `from` up to but without `to`, in order; without an end if `to` is `None`.
    pub fn scan(&self, from: &[u8], to: Option<&[u8]>) -> Scan {
        Scan::new(Arc::clone(&self.shared), self.view.clone(), from, to)
    }
}
