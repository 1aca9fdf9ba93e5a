//! Headers and parts of nodes that are as on the disk, within a budget of memory.
//!
//! They are known by address and birth, so that nothing needs to be thrown out when an extent is used again. The one to go
//! is found by the clock algorithm (Corbató 1968). The budget holds for all that is charged to the gauge, changed nodes and what
//! was written last as well: what cannot be thrown out leaves less for what can.

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

/// What is kept.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Header(Arc<Node>),
    Run(Arc<Run>),
}

#[derive(Debug)]
struct Kept {
    item: Item,
    bytes: usize,
    /// How often it was used since it was looked at for going, at most [`AGAIN`]. What somebody waits for was used once when it comes; what is read ahead
    /// was not, so that a scan leaves nothing behind that seems worth keeping.
    uses: AtomicU8,
    /// Of headers; runs charge themselves.
    _charge: Option<Charge>,
}

#[derive(Debug, Default)]
struct Shard {
    items: HashMap<Name, Kept>,
    clock: VecDeque<Name>,
    loading: HashSet<Name>,
}

#[derive(Debug, Default)]
struct Guarded {
    shard: Mutex<Shard>,
    loaded: Condvar,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: Vec<Guarded>,
    next: AtomicUsize,
    bytes: AtomicUsize,
    budget: usize,
    pub gauge: Arc<Gauge>,
}

const SHARDS: usize = 16;

/// What was used so often stays when it is looked at.
const AGAIN: u8 = 2;

impl Shard {
    /// Drops the names of items that were taken out, when they are most of the clock.
    fn sweep(&mut self) {
        if self.clock.len() > 2 * self.items.len() + 64 {
            let Self { items, clock, .. } = self;
            clock.retain(|name| items.contains_key(name));
        }
    }
}

impl Kept {
    fn give(&self) -> Item {
        // Of two that count at the same time one may be lost.
        let uses = self.uses.load(Relaxed);
        if uses < AGAIN {
            self.uses.store(uses + 1, Relaxed);
        }
        self.item.clone()
    }

    /// Stays where others that came with it go: the memory that it shares with them need not.
    fn stay(&mut self, gauge: &Arc<Gauge>) {
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

    /// Bytes of what is kept.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub fn budget(&self) -> usize {
        self.budget
    }

    /// What is kept under `name`.
    pub fn get(&self, name: Name) -> Option<Item> {
        let shard = self.shard(name).shard.lock();
        shard.items.get(&name).map(Kept::give)
    }

    /// Gives up what is kept under `name`. Its name stays in the clock until that comes by.
    pub fn take(&self, name: Name) -> Option<Item> {
        let mut shard = self.shard(name).shard.lock();
        let taken = shard.items.remove(&name)?;
        self.bytes.fetch_sub(taken.bytes, Relaxed);
        Some(taken.item)
    }

    /// What is kept under `name`, or else what `load` gives, which one thread alone is asked for.
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
        let loaded = load();
        if let Ok(item) = &loaded {
            self.put(name, item.clone());
        }
        self.end_loading(name);
        loaded
    }

    /// Tells others that `name` will be put here soon; false if it is there, or somebody else is at it.
    pub fn begin_loading(&self, name: Name) -> bool {
        let mut shard = self.shard(name).shard.lock();
        !shard.items.contains_key(&name) && shard.loading.insert(name)
    }

    /// Ends what [`begin_loading`](Self::begin_loading) began, whether it was put or not.
    pub fn end_loading(&self, name: Name) {
        let guarded = self.shard(name);
        guarded.shard.lock().loading.remove(&name);
        guarded.loaded.notify_all();
    }

    /// Keeps `item`, which is in use, while there is room.
    pub fn put(&self, name: Name, item: Item) {
        self.keep(name, item, 1);
    }

    /// Keeps `item`, which will be used, while there is room.
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
            let kept = Kept { item, bytes, uses: AtomicU8::new(uses), _charge: charge };
            match shard.items.insert(name, kept) {
                Some(before) => drop(self.bytes.fetch_sub(before.bytes, Relaxed)),
                None => shard.clock.push_back(name),
            }
            shard.sweep();
            self.bytes.fetch_add(bytes, Relaxed);
        }
        self.make_room();
    }

    /// Throws out `name`, unless it was used more than once.
    pub fn let_go(&self, name: Name) {
        let mut shard = self.shard(name).shard.lock();
        let Some(kept) = shard.items.get_mut(&name) else { return };
        if kept.uses.load(Relaxed) == AGAIN {
            return kept.stay(&self.gauge);
        }
        let gone = shard.items.remove(&name).expect("it is there");
        self.bytes.fetch_sub(gone.bytes, Relaxed);
        // It came a short while ago.
        if let Some(at) = shard.clock.iter().rposition(|other| *other == name) {
            shard.clock.remove(at);
        }
    }

    /// Throws out what was not used lately until the budget is kept, or nothing is left.
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
            // Without an item where that was taken out.
            let Some(kept) = shard.items.get_mut(&name) else { continue };
            if kept.uses.swap(1, Relaxed) == AGAIN {
                kept.stay(&self.gauge);
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
    fn taken_items_leave_neither_bytes_nor_a_growing_clock() {
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
    fn room_is_made_past_the_names_of_taken_items() {
        let cache = Cache::new(0);
        // Over the budget, so that each put throws out what is there.
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
