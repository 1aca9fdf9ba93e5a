//! The inodes in memory, by number. At most one object stands for an inode at any time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::inode::Inode;

const SHARDS: usize = 16;

struct Slot {
    inode: Weak<Inode>,
    /// Keeps it as long as the kernel may ask for it by number.
    held: Option<Arc<Inode>>,
    /// How many times the kernel was told of it.
    lookups: u64,
}

#[derive(Default)]
struct Shard {
    slots: HashMap<u64, Slot>,
    /// At how many slots it is looked for dead ones.
    sweep_at: usize,
}

impl Shard {
    fn insert(&mut self, inode: &Arc<Inode>) {
        let slot = Slot { inode: Arc::downgrade(inode), held: None, lookups: 0 };
        self.slots.insert(inode.ino, slot);
        if self.slots.len() > self.sweep_at {
            self.slots.retain(|_, slot| slot.inode.strong_count() > 0);
            self.sweep_at = 2 * self.slots.len() + 64;
        }
    }
}

#[derive(Default)]
pub(crate) struct Table {
    shards: [Mutex<Shard>; SHARDS],
    /// How many changed inodes were forgotten: what was read from the store before may be older than them.
    forgotten: AtomicU64,
}

impl Table {
    fn shard(&self, ino: u64) -> &Mutex<Shard> {
        &self.shards[ino as usize % SHARDS]
    }

    /// The inode with this number, if it is in memory.
    pub fn get(&self, ino: u64) -> Option<Arc<Inode>> {
        self.shard(ino).lock().slots.get(&ino)?.inode.upgrade()
    }

    /// To be asked before a record is read, and given to [`enter`](Self::enter).
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(SeqCst)
    }

    /// The inode with this number; if it is not in memory, the one that `make` gives. `None` if what that was made of may be old.
    pub fn enter(&self, ino: u64, forgotten: u64, make: impl FnOnce() -> Arc<Inode>) -> Option<Arc<Inode>> {
        let mut shard = self.shard(ino).lock();
        if let Some(inode) = shard.slots.get(&ino).and_then(|slot| slot.inode.upgrade()) {
            return Some(inode);
        }
        if self.forgotten() != forgotten {
            return None;
        }
        let inode = make();
        shard.insert(&inode);
        Some(inode)
    }

    /// An inode with a number that was never used.
    pub fn add(&self, inode: &Arc<Inode>) {
        self.shard(inode.ino).lock().insert(inode);
    }

    /// The kernel is told of the inode once more.
    pub fn hold(&self, inode: &Arc<Inode>) {
        let mut shard = self.shard(inode.ino).lock();
        let slot = shard.slots.get_mut(&inode.ino).expect("an inode in memory is in the table");
        slot.lookups += 1;
        slot.held.get_or_insert_with(|| Arc::clone(inode));
    }

    /// The kernel forgets `n` times that it was told of the inode.
    pub fn forget(&self, ino: u64, n: u64) {
        let mut shard = self.shard(ino).lock();
        let Some(slot) = shard.slots.get_mut(&ino) else { return };
        slot.lookups = slot.lookups.saturating_sub(n);
        if slot.lookups > 0 {
            return;
        }
        let Some(inode) = slot.held.take() else { return };
        if inode.changed.load(SeqCst) && !inode.is_gone() {
            self.forgotten.fetch_add(1, SeqCst);
        }
        if Arc::strong_count(&inode) == 1 {
            shard.slots.remove(&ino);
        }
        drop(shard);
        // Its directory may go with it, which is in another shard.
        drop(inode);
    }
}
