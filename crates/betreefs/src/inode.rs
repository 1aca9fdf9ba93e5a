//! An inode in memory: one for each that the kernel, or an operation under way, knows.
//!
//! Locks are taken in this order: `Fs::tree`, then `state` of a directory before that of what is in it, then `at`. Where an inode
//! is changes only with `Fs::tree` held for writing, or together with its own and its directory's `state`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};

use crate::error::{Result, fail};
use crate::key;
use crate::record::{Place, Record};

/// Where the record of an inode is.
#[derive(Clone)]
pub(crate) enum Spot {
    Root,
    /// In a directory.
    Name {
        parent: Arc<Inode>,
        name: Box<[u8]>,
    },
    /// By its number: it had several names.
    Linked,
    /// By its number: it has no name, but is open.
    Orphan,
    /// Nowhere: it was deleted.
    Gone,
}

#[derive(Clone)]
pub(crate) struct At {
    pub spot: Spot,
    pub place: Place,
}

pub(crate) struct State {
    pub record: Record,
    /// How many handles are open.
    pub opens: u32,
    /// Blocks of a sparse file that are known to be stored.
    pub known: BTreeSet<u64>,
}

pub(crate) struct Inode {
    pub ino: u64,
    /// Type, as in the mode.
    pub kind: u32,
    pub at: RwLock<At>,
    pub state: Mutex<State>,
    /// Whether the record was changed since it was read from the store.
    pub changed: AtomicBool,
    /// Of a directory: rises with every change of its entries and of their records.
    pub version: AtomicU64,
    /// Of a directory: its prefix, and in which epoch that was so.
    prefix: Mutex<Option<(u64, Arc<[u8]>)>>,
}

impl Inode {
    pub fn new(record: Record, spot: Spot, place: Place) -> Arc<Self> {
        Arc::new(Self {
            ino: record.ino,
            kind: record.kind(),
            at: RwLock::new(At { spot, place }),
            state: Mutex::new(State { record, opens: 0, known: BTreeSet::new() }),
            changed: AtomicBool::new(false),
            version: AtomicU64::new(0),
            prefix: Mutex::new(None),
        })
    }

    pub fn is_dir(&self) -> bool {
        self.kind == libc::S_IFDIR
    }

    /// What keys of its data, or of what is in it, begin with.
    ///
    /// # Errors
    /// `ESTALE` if it was deleted.
    pub fn prefix(&self, epoch: u64) -> Result<Arc<[u8]>> {
        if let Some((of, prefix)) = &*self.prefix.lock()
            && *of == epoch
        {
            return Ok(Arc::clone(prefix));
        }
        let at = self.at.read();
        let prefix = match (&at.place, &at.spot) {
            (_, Spot::Gone) => return fail(libc::ESTALE),
            (Place::Away(prefix), _) => Arc::clone(prefix),
            (place, Spot::Name { parent, name }) => {
                let tag = if *place == Place::Tagged { self.ino } else { 0 };
                home(&parent.prefix(epoch)?, name, tag).into()
            }
            (_, Spot::Root | Spot::Linked | Spot::Orphan) => {
                unreachable!("without a directory it is not at home")
            }
        };
        if self.is_dir() {
            *self.prefix.lock() = Some((epoch, Arc::clone(&prefix)));
        }
        Ok(prefix)
    }

    /// The key of its record.
    ///
    /// # Errors
    /// `ESTALE` if it was deleted.
    pub fn key(&self, epoch: u64) -> Result<Vec<u8>> {
        match &self.at.read().spot {
            Spot::Root => Ok(key::ROOT.to_vec()),
            Spot::Name { parent, name } => Ok(key::meta(&parent.prefix(epoch)?, name)),
            Spot::Linked => Ok(key::number(key::LINKED, self.ino)),
            Spot::Orphan => Ok(key::number(key::ORPHAN, self.ino)),
            Spot::Gone => fail(libc::ESTALE),
        }
    }

    pub fn place(&self) -> Place {
        self.at.read().place.clone()
    }

    pub fn is_home(&self) -> bool {
        !matches!(self.at.read().place, Place::Away(_))
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.at.read().spot, Spot::Gone)
    }

    /// Says to the directory that it is in that its record has changed.
    pub fn touched(&self) {
        if let Spot::Name { parent, .. } = &self.at.read().spot {
            parent.version.fetch_add(1, Relaxed);
        }
    }
}

/// The prefix that `name` has at home in a directory.
pub(crate) fn home(parent: &[u8], name: &[u8], tag: u64) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(parent.len() + name.len() + 10);
    prefix.extend_from_slice(parent);
    key::push_component(&mut prefix, name, tag);
    prefix
}
