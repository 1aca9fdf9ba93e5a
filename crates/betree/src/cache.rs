//! A cache of unchanged headers and parts of nodes, within a memory budget.
//!
//! The key is address and birth, so reusing an extent needs no invalidation. Eviction follows the clock algorithm (Corbató 1968). The budget
//! covers everything charged to the gauge, including changed nodes and memtables: memory that cannot be evicted leaves less for the cache.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex};

use crate::error::Result;
use crate::memory::{Charge, Gauge};
use crate::node::Node;
use crate::run::Run;

/// Address and birth.
pub(crate) type Name = (u64, u64);

/// A cached item.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Header(Arc<Node>),
    Run(Arc<Run>),
}

#[derive(Debug)]
struct CacheEntry {
    item: Item,
    bytes: usize,
    /// Uses since the clock last passed, at most [`AGAIN`]. An item loaded on demand starts with one use, a prefetched one with none, so that a scan
    /// does not fill the cache.
    uses: AtomicU8,
    /// Charge of a header; runs charge themselves.
    _charge: Option<Charge>,
}

#[derive(Debug, Default)]
struct Shard {
    items: HashMap<Name, CacheEntry>,
    clock: VecDeque<Name>,
    loading: HashSet<Name>,
}

/// The mark that a thread loads an item, for which others wait until it is dropped: at the end, after an error, or in a panic.
#[derive(Debug)]
pub(crate) struct Loading<'a> {
    guarded: &'a Guarded,
    name: Name,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.guarded.shard.lock().loading.remove(&self.name);
        self.guarded.loaded.notify_all();
    }
}

#[derive(Debug, Default)]
struct Guarded {
    shard: Mutex<Shard>,
    loaded: Condvar,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: Vec<Guarded>,
    next: AtomicUsize,
    bytes: AtomicUsize,
    budget: usize,
    pub gauge: Arc<Gauge>,
}

const SHARDS: usize = 16;

/// Items with this many uses survive when the clock passes.
const AGAIN: u8 = 2;

impl Shard {
    /// Drops the names of removed items once they are most of the clock.
    fn sweep(&mut self) {
        if self.clock.len() > 2 * self.items.len() + 64 {
            let Self { items, clock, .. } = self;
            clock.retain(|name| items.contains_key(name));
        }
    }
}

impl CacheEntry {
    fn give(&self) -> Item {
        // Of two concurrent increments one may be lost.
        let uses = self.uses.load(Relaxed);
        if uses < AGAIN {
            self.uses.store(uses + 1, Relaxed);
        }
        self.item.clone()
    }

    /// Copies the run to its own memory, so that it does not keep the memory shared with evicted runs.
    fn unshare(&mut self, gauge: &Arc<Gauge>) {
        if let Item::Run(run) = &self.item
            && let Some(run) = run.apart(gauge)
        {
            self.item = Item::Run(Arc::new(run));
        }
    }
}

impl Cache {
    pub fn new(budget: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Guarded::default()).collect(),
            next: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            budget,
            gauge: Arc::default(),
        }
    }

    fn shard(&self, name: Name) -> &Guarded {
        let mixed = (name.0 ^ name.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.shards[(mixed >> 60) as usize % SHARDS]
    }

    /// Bytes of the cached items.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub fn budget(&self) -> usize {
        self.budget
    }

    /// The item with this name, if cached.
    pub fn get(&self, name: Name) -> Option<Item> {
        let shard = self.shard(name).shard.lock();
        shard.items.get(&name).map(CacheEntry::give)
    }

    /// Removes and returns an item. Its name stays in the clock until the clock passes it.
    pub fn take(&self, name: Name) -> Option<Item> {
        let mut shard = self.shard(name).shard.lock();
        let taken = shard.items.remove(&name)?;
        self.bytes.fetch_sub(taken.bytes, Relaxed);
        Some(taken.item)
    }

    /// The item with this name. If it is not cached, one thread calls `load` and the others wait.
    pub fn get_or(&self, name: Name, load: impl FnOnce() -> Result<Item>) -> Result<Item> {
        let guarded = self.shard(name);
        let mut shard = guarded.shard.lock();
        loop {
            if let Some(kept) = shard.items.get(&name) {
                return Ok(kept.give());
            }
            if shard.loading.insert(name) {
                break;
            }
            guarded.loaded.wait(&mut shard);
        }
        drop(shard);
        let _loading = Loading { guarded, name };
        let item = load()?;
        self.put(name, item.clone());
        Ok(item)
    }

    /// Marks `name` as loading, unless it is cached or already loading.
    pub fn begin_loading(&self, name: Name) -> Option<Loading<'_>> {
        let guarded = self.shard(name);
        let mut shard = guarded.shard.lock();
        let mine = !shard.items.contains_key(&name) && shard.loading.insert(name);
        mine.then(|| Loading { guarded, name })
    }

    /// Adds an item that is in use, within the budget.
    pub fn put(&self, name: Name, item: Item) {
        self.keep(name, item, 1);
    }

    /// Adds an item that will be used, within the budget.
    pub fn put_ahead(&self, name: Name, item: Item) {
        self.keep(name, item, 0);
    }

    fn keep(&self, name: Name, item: Item, uses: u8) {
        let (bytes, charge) = match &item {
            Item::Run(run) => (run.bytes().len(), None),
            Item::Header(node) => {
                let bytes = node.header_bytes() + 64 * node.entries.len();
                (bytes, Some(Charge::new(&self.gauge, bytes)))
            }
        };
        {
            let mut shard = self.shard(name).shard.lock();
            let kept = CacheEntry { item, bytes, uses: AtomicU8::new(uses), _charge: charge };
            match shard.items.insert(name, kept) {
                Some(before) => drop(self.bytes.fetch_sub(before.bytes, Relaxed)),
                None => shard.clock.push_back(name),
            }
            shard.sweep();
            self.bytes.fetch_add(bytes, Relaxed);
        }
        self.make_room();
    }

    /// Evicts an item unless it was used more than once.
    pub fn evict(&self, name: Name) {
        let mut shard = self.shard(name).shard.lock();
        let Some(kept) = shard.items.get_mut(&name) else { return };
        if kept.uses.load(Relaxed) == AGAIN {
            return kept.unshare(&self.gauge);
        }
        let gone = shard.items.remove(&name).expect("the item is cached");
        self.bytes.fetch_sub(gone.bytes, Relaxed);
        // Searches from the end: the item is recent.
        if let Some(at) = shard.clock.iter().rposition(|other| *other == name) {
            shard.clock.remove(at);
        }
    }

    /// Evicts items that were not used recently, until the budget is met or the cache is empty.
    pub fn make_room(&self) {
        let mut empty = 0;
        while self.gauge.bytes() > self.budget && empty < SHARDS {
            let turn = self.next.fetch_add(1, Relaxed) % SHARDS;
            let mut shard = self.shards[turn].shard.lock();
            let Some(name) = shard.clock.pop_front() else {
                empty += 1;
                continue;
            };
            empty = 0;
            // A removed item leaves its name.
            let Some(kept) = shard.items.get_mut(&name) else { continue };
            if kept.uses.swap(1, Relaxed) == AGAIN {
                kept.unshare(&self.gauge);
                shard.clock.push_back(name);
            } else if let Some(gone) = shard.items.remove(&name) {
                self.bytes.fetch_sub(gone.bytes, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Item {
        Item::Header(Arc::new(Node::empty_leaf()))
    }

    #[test]
    fn removed_items_leave_no_bytes_and_a_bounded_clock() {
        let cache = Cache::new(1 << 20);
        cache.put((1, 1), header());
        for birth in 0..10_000 {
            cache.put((0, birth), header());
            assert!(cache.take((0, birth)).is_some());
        }
        assert!(cache.take((0, 0)).is_none());
        assert!(cache.get((1, 1)).is_some());
        let names: usize = cache.shards.iter().map(|shard| shard.shard.lock().clock.len()).sum();
        assert!(names <= SHARDS * 68, "{names} names of one item");
        assert!(cache.take((1, 1)).is_some());
        assert_eq!((cache.bytes(), cache.gauge.bytes()), (0, 0));
    }

    #[test]
    fn eviction_skips_the_names_of_removed_items() {
        let cache = Cache::new(0);
        // Over the budget, so that each `put` evicts the previous item.
        cache.put((1, 1), header());
        assert!(cache.get((1, 1)).is_none());
        let cache = Cache::new(1 << 20);
        for birth in 0..100 {
            cache.put((0, birth), header());
        }
        (0..99).for_each(|birth| drop(cache.take((0, birth))));
        let charge = Charge::new(&cache.gauge, 1 << 20);
        cache.make_room();
        assert_eq!(cache.bytes(), 0);
        drop(charge);
    }
}
