//! What readers see: a tree, and the memory above it.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::error::Result;
use crate::memtable::Memtable;
use crate::node::Link;
use crate::scan::Scan;
use crate::store::Shared;

/// One tree. It never changes; the writer makes the next one beside it.
#[derive(Debug)]
pub(crate) struct Version {
    pub root: Link,
}

/// A tree and what was written since.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Takes the writes.
    pub active: Arc<RwLock<Memtable>>,
    /// Is on its way into the tree. What of it is there already changes nothing.
    pub frozen: Option<Arc<RwLock<Memtable>>>,
    pub version: Arc<Version>,
    /// Up to which write it sees.
    pub number: u64,
}

/// The store as it was at one moment. Writers go on; what it needs of the disk is kept until it is dropped.
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
