//! An inode in memory: one for each inode that the kernel or a running operation uses.
//!
//! Lock order: `Fs::tree`, then `state` of a directory before `state` of its entries, then `at`. The location of an inode changes only while
//! `Fs::tree` is held for writing, or while its own and its directory's `state` are held.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};

use crate::error::{Result, fail};
use crate::key;
use crate::record::{Place, Record};

/// The number of names remembered of a file with several names.
const KNOWN: usize = 4;

/// A name in a directory.
#[derive(Clone)]
pub(crate) struct Name {
    pub parent: Arc<Inode>,
    pub name: Box<[u8]>,
}

impl Name {
    pub fn new(parent: &Arc<Inode>, name: &[u8]) -> Self {
        Self { parent: Arc::clone(parent), name: name.into() }
    }

    /// The key of the record with this name.
    ///
    /// # Errors
    /// `ESTALE` if the directory was deleted.
    pub fn key(&self, epoch: u64) -> Result<Vec<u8>> {
        Ok(key::meta(&self.parent.prefix(epoch)?, &self.name))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.parent.ino == other.parent.ino && self.name == other.name
    }
}

/// The location of the record of an inode.
#[derive(Clone)]
pub(crate) enum RecordLocation {
    Root,
    /// In a directory.
    Name(Name),
    /// Under its number: it has, or had, several names. The most recent ones are remembered while the inode is in memory.
    Linked(Vec<Name>),
    /// Under its number: it has no name, but is open.
    Orphan,
    /// Nowhere: the inode was deleted.
    Gone,
}

impl RecordLocation {
    /// The location after a file with several names has lost or gained one.
    pub fn renamed(mut self, lost: Option<&Name>, got: Option<&Name>) -> Self {
        if let Self::Linked(names) = &mut self {
            names.retain(|name| Some(name) != lost);
            names.extend(got.cloned());
            if names.len() > KNOWN {
                names.remove(0);
            }
        }
        self
    }
}

#[derive(Clone)]
pub(crate) struct At {
    pub spot: RecordLocation,
    pub place: Place,
}

pub(crate) struct State {
    pub record: Record,
    /// Number of open handles.
    pub opens: u32,
    /// Blocks of a sparse file that are known to be in the store.
    pub known: BTreeSet<u64>,
}

pub(crate) struct Inode {
    pub ino: u64,
    /// Type, as in the mode.
    pub kind: u32,
    pub at: RwLock<At>,
    pub state: Mutex<State>,
    /// Whether the record changed since it was read from the store.
    pub changed: AtomicBool,
    /// Of a directory: incremented when its entries or their records change. Of a file: incremented when its data gets other keys.
    pub version: AtomicU64,
    /// Of a directory: its prefix, and the epoch in which it was computed.
    prefix: Mutex<Option<(u64, Arc<[u8]>)>>,
}

impl Inode {
    pub fn new(record: Record, spot: RecordLocation, place: Place) -> Arc<Self> {
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

    /// The prefix of the keys of its data or its entries.
    ///
    /// # Errors
    /// `ESTALE` if the inode was deleted.
    pub fn prefix(&self, epoch: u64) -> Result<Arc<[u8]>> {
        if let Some((of, prefix)) = &*self.prefix.lock()
            && *of == epoch
        {
            return Ok(Arc::clone(prefix));
        }
        let at = self.at.read();
        let prefix = match (&at.place, &at.spot) {
            (_, RecordLocation::Gone) => return fail(libc::ESTALE),
            (Place::Away(prefix), _) => Arc::clone(prefix),
            (place, RecordLocation::Name(at)) => place.prefix(&at.parent.prefix(epoch)?, &at.name, self.ino),
            (_, RecordLocation::Root | RecordLocation::Linked(_) | RecordLocation::Orphan) => {
                unreachable!("an inode without a name in a directory is not at home")
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
    /// `ESTALE` if the inode was deleted.
    pub fn key(&self, epoch: u64) -> Result<Vec<u8>> {
        match &self.at.read().spot {
            RecordLocation::Root => Ok(key::ROOT.to_vec()),
            RecordLocation::Name(name) => name.key(epoch),
            RecordLocation::Linked(_) => Ok(key::number(key::LINKED, self.ino)),
            RecordLocation::Orphan => Ok(key::number(key::ORPHAN, self.ino)),
            RecordLocation::Gone => fail(libc::ESTALE),
        }
    }

    pub fn place(&self) -> Place {
        self.at.read().place.clone()
    }

    pub fn is_home(&self) -> bool {
        !matches!(self.at.read().place, Place::Away(_))
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.at.read().spot, RecordLocation::Gone)
    }

    /// Whether it is known to have this name.
    pub fn has(&self, name: &Name) -> bool {
        match &self.at.read().spot {
            RecordLocation::Name(only) => only == name,
            RecordLocation::Linked(names) => names.contains(name),
            RecordLocation::Root | RecordLocation::Orphan | RecordLocation::Gone => false,
        }
    }

    /// The remaining name of a file with `links` names after it loses one of them, if it is known and the only one.
    pub fn left_without(&self, lost: &Name, links: u32) -> Option<Name> {
        match &self.at.read().spot {
            RecordLocation::Linked(names) if links == 2 && names.len() == 2 && names.contains(lost) => {
                names.iter().find(|name| *name != lost).cloned()
            }
            _ => None,
        }
    }

    /// Marks the parent directory as changed, after the record of this inode changed.
    pub fn touched(&self) {
        if let RecordLocation::Name(at) = &self.at.read().spot {
            at.parent.version.fetch_add(1, Relaxed);
        }
    }
}
