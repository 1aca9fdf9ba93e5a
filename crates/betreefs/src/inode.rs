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

/// So many names are known of a file that has several.
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

    /// The key of what lies at it.
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

/// Where the record of an inode is.
#[derive(Clone)]
pub(crate) enum Spot {
    Root,
    /// In a directory.
    Name(Name),
    /// By its number: it had several names. Those that were given to it lately are known, as long as it is in memory.
    Linked(Vec<Name>),
    /// By its number: it has no name, but is open.
    Orphan,
    /// Nowhere: it was deleted.
    Gone,
}

impl Spot {
    /// The same, of a file of several names that has lost one and got another.
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
    /// Of a directory: rises with every change of its entries and of their records. Of a file: rises when its data gets other keys.
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
            (place, Spot::Name(at)) => place.prefix(&at.parent.prefix(epoch)?, &at.name, self.ino),
            (_, Spot::Root | Spot::Linked(_) | Spot::Orphan) => {
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
            Spot::Name(name) => name.key(epoch),
            Spot::Linked(_) => Ok(key::number(key::LINKED, self.ino)),
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

    /// Whether it is known to have a name.
    pub fn has(&self, name: &Name) -> bool {
        match &self.at.read().spot {
            Spot::Name(only) => only == name,
            Spot::Linked(names) => names.contains(name),
            Spot::Root | Spot::Orphan | Spot::Gone => false,
        }
    }

    /// The name that is left to a file of so many `links` when it loses one of them, if it is known and no other is left.
    pub fn left_without(&self, lost: &Name, links: u32) -> Option<Name> {
        match &self.at.read().spot {
            Spot::Linked(names) if links == 2 && names.len() == 2 && names.contains(lost) => {
                names.iter().find(|name| *name != lost).cloned()
            }
            _ => None,
        }
    }

    /// Says to the directory that it is in that its record has changed.
    pub fn touched(&self) {
        if let Spot::Name(at) = &self.at.read().spot {
            at.parent.version.fetch_add(1, Relaxed);
        }
    }
}
