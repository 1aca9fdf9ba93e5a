//! The inodes in memory, by number. At most one object represents an inode at any time.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;

use parking_lot::Mutex;

use crate::inode::Inode;

const SHARDS: usize = 16;
/// Number of forgotten changed inodes that each shard remembers.
const REMEMBERED: usize = 1024;

struct Slot {
    inode: Weak<Inode>,
    /// Keeps the inode while the kernel may refer to it by number.
    held: Option<Arc<Inode>>,
    /// The kernel's lookup count.
    lookups: u64,
    /// Whether the inode was used since the clock passed it.
    used: bool,
}

#[derive(Default)]
struct Shard {
    slots: HashMap<u64, Slot>,
    /// Number of slots at which dead ones are removed.
    sweep_at: usize,
    /// The inodes that the kernel references, and some that it has forgotten; the oldest first.
    clock: VecDeque<u64>,
    /// The changed inodes forgotten last, each with its sequence number.
    forgotten: VecDeque<(u64, u64)>,
    /// The sequence number of the last entry dropped from `forgotten`.
    lost: u64,
}

impl Shard {
    fn insert(&mut self, inode: &Arc<Inode>) {
        let slot = Slot { inode: Arc::downgrade(inode), held: None, lookups: 0, used: false };
        self.slots.insert(inode.ino, slot);
        if self.slots.len() > self.sweep_at {
            self.slots.retain(|_, slot| slot.inode.strong_count() > 0);
            self.sweep_at = 2 * self.slots.len() + 64;
        }
    }

    fn is_held(&self, ino: u64) -> bool {
        self.slots.get(&ino).is_some_and(|slot| slot.held.is_some())
    }

    /// Whether data of an inode, read after the first `number` forgets, may be older than its last change.
    fn is_old(&self, ino: u64, number: u64) -> bool {
        self.lost > number || self.forgotten.iter().rev().any(|(at, of)| *at > number && *of == ino)
    }
}

#[derive(Default)]
pub(crate) struct Table {
    shards: [Mutex<Shard>; SHARDS],
    /// Number of changed inodes that were forgotten. A record read from the store before a forget may be stale.
    forgotten: AtomicU64,
    /// Number of inodes that the kernel references.
    known: AtomicUsize,
    /// The thread to wake when the kernel references more inodes than the limit.
    watch: OnceLock<(usize, Thread)>,
}

impl Table {
    fn shard(&self, ino: u64) -> &Mutex<Shard> {
        &self.shards[ino as usize % SHARDS]
    }

    /// The inode with this number, if it is in memory.
    pub fn get(&self, ino: u64) -> Option<Arc<Inode>> {
        let mut shard = self.shard(ino).lock();
        let slot = shard.slots.get_mut(&ino)?;
        slot.used = true;
        slot.inode.upgrade()
    }

    /// Must be called before reading a record; the result goes to [`enter`](Self::enter).
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(SeqCst)
    }

    /// The inode with this number; if it is not in memory, the result of `make`. `None` if its record may be stale.
    pub fn enter(&self, ino: u64, forgotten: u64, make: impl FnOnce() -> Arc<Inode>) -> Option<Arc<Inode>> {
        let mut shard = self.shard(ino).lock();
        if let Some(inode) = shard.slots.get(&ino).and_then(|slot| slot.inode.upgrade()) {
            return Some(inode);
        }
        if shard.is_old(ino, forgotten) {
            return None;
        }
        let inode = make();
        shard.insert(&inode);
        Some(inode)
    }

    /// Adds an inode with a number that was never used.
    pub fn add(&self, inode: &Arc<Inode>) {
        self.shard(inode.ino).lock().insert(inode);
    }

    /// Increments the lookup count of the inode.
    pub fn hold(&self, inode: &Arc<Inode>) {
        let mut shard = self.shard(inode.ino).lock();
        let slot = shard.slots.get_mut(&inode.ino).expect("an inode in memory is in the table");
        slot.lookups += 1;
        if slot.held.is_some() {
            return;
        }
        slot.held = Some(Arc::clone(inode));
        shard.clock.push_back(inode.ino);
        if shard.clock.len() > 2 * shard.slots.len() + 64 {
            let mut clock = std::mem::take(&mut shard.clock);
            clock.retain(|ino| shard.is_held(*ino));
            shard.clock = clock;
        }
        drop(shard);
        let known = self.known.fetch_add(1, Relaxed) + 1;
        if let Some((most, thread)) = self.watch.get()
            && known > *most
        {
            thread.unpark();
        }
    }

    /// Wakes `thread` whenever the kernel references more than `most` inodes. To be called once.
    pub fn watch(&self, most: usize, thread: Thread) {
        let _ = self.watch.set((most, thread));
    }

    /// Number of inodes that the kernel references.
    pub fn known(&self) -> usize {
        self.known.load(Relaxed)
    }

    /// About `n` inodes that the kernel looked up long ago and that were not used recently.
    pub fn oldest(&self, n: usize) -> Vec<u64> {
        let mut oldest = Vec::with_capacity(n);
        for shard in &self.shards {
            let mut shard = shard.lock();
            let enough = oldest.len() + n / SHARDS;
            for _ in 0..shard.clock.len().min(n) {
                let Some(ino) = shard.clock.pop_front() else { break };
                let Some(slot) = shard.slots.get_mut(&ino).filter(|slot| slot.held.is_some()) else {
                    continue;
                };
                if !std::mem::take(&mut slot.used) {
                    oldest.push(ino);
                }
                // The kernel may keep it.
                shard.clock.push_back(ino);
                if oldest.len() == enough {
                    break;
                }
            }
        }
        oldest
    }

    /// Decrements the lookup count of the inode by `n`.
    pub fn forget(&self, ino: u64, n: u64) {
        let mut shard = self.shard(ino).lock();
        let Some(slot) = shard.slots.get_mut(&ino) else { return };
        slot.lookups = slot.lookups.saturating_sub(n);
        if slot.lookups > 0 {
            return;
        }
        let Some(inode) = slot.held.take() else { return };
        self.known.fetch_sub(1, Relaxed);
        if inode.changed.load(SeqCst) && !inode.is_gone() {
            let number = self.forgotten.fetch_add(1, SeqCst) + 1;
            shard.forgotten.push_back((number, ino));
            if shard.forgotten.len() > REMEMBERED
                && let Some((number, _)) = shard.forgotten.pop_front()
            {
                shard.lost = number;
            }
        }
        if Arc::strong_count(&inode) == 1 {
            shard.slots.remove(&ino);
        }
        drop(shard);
        // Dropping it may drop its directory, which is in another shard.
        drop(inode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inode::RecordLocation;
    use crate::record::{Place, Record};

    fn inode(ino: u64) -> Arc<Inode> {
        Inode::new(Record { ino, ..Record::default() }, RecordLocation::Orphan, Place::Home)
    }

    #[test]
    fn oldest_returns_unused_inodes_first() {
        let table = Table::default();
        // All in one shard.
        let numbers = [1, 2, 3, 4].map(|n| n * SHARDS as u64);
        for ino in numbers {
            let inode = inode(ino);
            table.add(&inode);
            table.hold(&inode);
        }
        table.get(numbers[0]).unwrap();
        table.forget(numbers[1], 1);
        assert_eq!(table.known(), 3);
        assert_eq!(table.oldest(2 * SHARDS), [numbers[2], numbers[3]]);
        // It was not used again.
        assert_eq!(table.oldest(SHARDS), [numbers[0]]);
        for ino in [numbers[0], numbers[2], numbers[3]] {
            table.forget(ino, 1);
        }
        assert_eq!((table.known(), table.oldest(2 * SHARDS).len()), (0, 0));
    }

    #[test]
    fn record_is_stale_only_after_a_change_and_forget() {
        let table = Table::default();
        let (other, changed) = (SHARDS as u64, 2 * SHARDS as u64);
        let before = table.forgotten();
        let change_and_forget = |ino: u64| {
            let inode = inode(ino);
            table.add(&inode);
            table.hold(&inode);
            inode.changed.store(true, SeqCst);
            drop(inode);
            table.forget(ino, 1);
        };
        change_and_forget(changed);
        assert!(table.enter(changed, before, || inode(changed)).is_none());
        assert!(table.enter(other, before, || inode(other)).is_some());
        assert!(table.enter(changed, table.forgotten(), || inode(changed)).is_some());
        // Beyond the remembered inodes, every record may be stale.
        for n in 0..=REMEMBERED as u64 {
            change_and_forget((3 + n) * SHARDS as u64);
        }
        let never = (REMEMBERED as u64 + 9) * SHARDS as u64;
        assert!(table.enter(never, before, || inode(never)).is_none());
    }
}
