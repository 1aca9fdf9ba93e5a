//! A cache of open directories of one engine, with a fixed capacity and CLOCK replacement (approximate LRU).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io;
use trace::{DirId, ROOT};

use crate::FailureCause;
use crate::tree::Tree;

/// A cache of open directories.
pub(crate) struct Dirs {
    tree: Arc<Tree>,
    slots: Vec<Slot>,
    places: HashMap<DirId, usize, BuildHasherDefault<FibonacciHasher>>,
    hand: usize,
    capacity: usize,
}

struct Slot {
    dir: DirId,
    fd: OwnedFd,
    used: bool,
}

impl Dirs {
    /// Creates an empty cache for `capacity` directories of `tree`.
    pub fn new(tree: Arc<Tree>, capacity: usize) -> Self {
        Self { tree, slots: Vec::new(), places: HashMap::default(), hand: 0, capacity: capacity.max(1) }
    }

    /// The open directory `dir`.
    pub fn open(&mut self, dir: DirId) -> Result<BorrowedFd<'_>, FailureCause> {
        if dir == ROOT {
            return Ok(self.tree.root().as_fd());
        }
        let place = match self.places.get(&dir) {
            Some(&place) => place,
            None => self.open_from_above(dir)?,
        };
        self.slots[place].used = true;
        Ok(self.slots[place].fd.as_fd())
    }

    /// Closes `dir`, which was removed, so that its number can be reused.
    pub fn forget(&mut self, dir: DirId) {
        let Some(place) = self.places.remove(&dir) else { return };
        self.slots.swap_remove(place);
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.dir, place);
        }
    }

    /// Opens all directories on the path to `dir`, starting at the nearest open one.
    fn open_from_above(&mut self, dir: DirId) -> Result<usize, FailureCause> {
        let mut path = vec![dir];
        let mut above = self.tree.parent(dir)?;
        while above != ROOT && !self.places.contains_key(&above) {
            path.push(above);
            above = self.tree.parent(above)?;
        }
        let mut name = Vec::new();
        let mut place = None;
        for &dir in path.iter().rev() {
            self.tree.names().dir(dir, &mut name)?;
            let opened = open_path(self.open(above)?, &name)?;
            place = Some(self.keep(dir, opened));
            above = dir;
        }
        Ok(place.expect("the path has at least one step"))
    }

    fn keep(&mut self, dir: DirId, fd: OwnedFd) -> usize {
        let slot = Slot { dir, fd, used: false };
        let place = if self.slots.len() < self.capacity {
            self.slots.push(slot);
            self.slots.len() - 1
        } else {
            let place = self.victim();
            self.places.remove(&self.slots[place].dir);
            self.slots[place] = slot;
            place
        };
        self.places.insert(dir, place);
        place
    }

    fn victim(&mut self) -> usize {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            let slot = &mut self.slots[self.hand];
            if !std::mem::take(&mut slot.used) {
                return self.hand;
            }
        }
    }
}

/// Opens a directory with `O_PATH`, which avoids work in the file system.
fn open_path(parent: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    io::retry_on_intr(|| openat(parent, name, flags, Mode::empty()))
}

/// Fibonacci hashing: directory numbers are not adversarial, and every operation does a lookup.
#[derive(Default)]
struct FibonacciHasher(u64);

impl Hasher for FibonacciHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u32(&mut self, number: u32) {
        let product = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only directory numbers are hashed");
    }
}
