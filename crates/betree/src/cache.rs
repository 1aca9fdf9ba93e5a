//! Headers and parts of nodes that are as on the disk, within a budget of memory.
//!
//! They are known by address and birth, so that nothing needs to be thrown out when an extent is used again. The one to go
//! is found by the clock algorithm (Corbató 1968). The budget holds for all that is charged to the gauge, changed nodes and what
//! was written last as well: what cannot be thrown out leaves less for what can.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

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
    used: AtomicBool,
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
        shard.items.get(&name).map(|kept| {
            kept.used.store(true, Relaxed);
            kept.item.clone()
        })
    }

    /// What is kept under `name`, or else what `load` gives, which one thread alone is asked for.
    pub fn get_or(&self, name: Name, load: impl FnOnce() -> Result<Item>) -> Result<Item> {
        let guarded = self.shard(name);
        let mut shard = guarded.shard.lock();
        loop {
            if let Some(kept) = shard.items.get(&name) {
                kept.used.store(true, Relaxed);
                return Ok(kept.item.clone());
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

    /// Keeps `item` while there is room.
    pub fn put(&self, name: Name, item: Item) {
        let (bytes, charge) = match &item {
            Item::Run(run) => (run.bytes().len(), None),
            Item::Header(node) => {
                let bytes = node.header_bytes() + 64 * node.entries.len();
                (bytes, Some(Charge::new(&self.gauge, bytes)))
            }
        };
        {
            let mut shard = self.shard(name).shard.lock();
            let kept = Kept { item, bytes, used: AtomicBool::new(false), _charge: charge };
            match shard.items.insert(name, kept) {
                Some(before) => drop(self.bytes.fetch_sub(before.bytes, Relaxed)),
                None => shard.clock.push_back(name),
            }
            self.bytes.fetch_add(bytes, Relaxed);
        }
        self.make_room();
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
            if shard.items[&name].used.swap(false, Relaxed) {
                shard.clock.push_back(name);
            } else if let Some(gone) = shard.items.remove(&name) {
                self.bytes.fetch_sub(gone.bytes, Relaxed);
            }
        }
    }
}
