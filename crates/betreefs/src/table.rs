//! The inodes in memory, by number. At most one object stands for an inode at any time.

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
/// So many changed inodes that were forgotten are remembered in each shard.
const REMEMBERED: usize = 1024;

struct Slot {
    inode: Weak<Inode>,
    /// Keeps it as long as the kernel may ask for it by number.
    held: Option<Arc<Inode>>,
    /// How many times the kernel was told of it.
    lookups: u64,
    /// Whether it was asked for since the clock came by.
    used: bool,
}

#[derive(Default)]
struct Shard {
    slots: HashMap<u64, Slot>,
    /// At how many slots it is looked for dead ones.
    sweep_at: usize,
    /// Those that the kernel knows, and some that it has forgotten: first what it was told of longest ago.
    clock: VecDeque<u64>,
    /// Changed inodes that were forgotten last, each with the number of that.
    forgotten: VecDeque<(u64, u64)>,
    /// The number of the last one that is not among those any more.
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

    /// Whether what was read of an inode after `number` were forgotten may be older than what it was changed to.
    fn is_old(&self, ino: u64, number: u64) -> bool {
        self.lost > number || self.forgotten.iter().rev().any(|(at, of)| *at > number && *of == ino)
    }
}

#[derive(Default)]
pub(crate) struct Table {
    shards: [Mutex<Shard>; SHARDS],
    /// How many changed inodes were forgotten: what was read from the store before may be older than them.
    forgotten: AtomicU64,
    /// How many inodes the kernel knows.
    known: AtomicUsize,
    /// Who is woken when it knows more than so many.
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
        if shard.is_old(ino, forgotten) {
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

    /// From now on wakes `thread` when the kernel knows more than `most` inodes. Done once.
    pub fn watch(&self, most: usize, thread: Thread) {
        let _ = self.watch.set((most, thread));
    }

    /// How many inodes the kernel knows.
    pub fn known(&self) -> usize {
        self.known.load(Relaxed)
    }

    /// About `n` inodes that the kernel was told of long ago and that nobody has asked for lately.
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
                // The kernel may refuse.
                shard.clock.push_back(ino);
                if oldest.len() == enough {
                    break;
                }
            }
        }
        oldest
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
        // Its directory may go with it, which is in another shard.
        drop(inode);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inode::Spot;
    use crate::record::{Place, Record};

    fn inode(ino: u64) -> Arc<Inode> {
        Inode::new(Record { ino, ..Record::default() }, Spot::Orphan, Place::Home)
    }

    #[test]
    fn the_kernel_is_to_forget_first_what_nobody_asks_for() {
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
        // It was not asked for again.
        assert_eq!(table.oldest(SHARDS), [numbers[0]]);
        for ino in [numbers[0], numbers[2], numbers[3]] {
            table.forget(ino, 1);
        }
        assert_eq!((table.known(), table.oldest(2 * SHARDS).len()), (0, 0));
    }

    #[test]
    fn what_was_read_of_an_inode_is_old_only_if_it_was_changed_and_forgotten_since() {
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
        // What is no longer remembered may be of any.
        for n in 0..=REMEMBERED as u64 {
            change_and_forget((3 + n) * SHARDS as u64);
        }
        let never = (REMEMBERED as u64 + 9) * SHARDS as u64;
        assert!(table.enter(never, before, || inode(never)).is_none());
    }
}
