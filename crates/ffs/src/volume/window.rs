//! The window of delayed allocation: what is written to new ends of files is gathered and gets its blocks together.

use super::Volume;
use crate::allocator::{Allocator, NoSpace};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A hash of slots, which nobody chooses so that they collide.
#[derive(Clone, Default)]
struct SlotHash(u64);

impl Hasher for SlotHash {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a slot is one number");
    }

    fn write_u32(&mut self, slot: u32) {
        self.0 = u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Files whose ends have no blocks yet.
#[derive(Clone, Default)]
pub(super) struct Window {
    most_bytes: u64,
    /// What waits or has waited since it was last empty, each file's end rounded up to a block.
    bytes: u64,
    /// The size up to which a file has been given blocks, and when it came in.
    from: HashMap<u32, (u64, u64), BuildHasherDefault<SlotHash>>,
    /// Files in the order in which they came in; one that has left since has another number there.
    order: VecDeque<(u32, u64)>,
    next: u64,
}

impl Window {
    pub fn new(most_bytes: u64) -> Window {
        Window { most_bytes, ..Window::default() }
    }

    pub fn is_open(&self) -> bool {
        self.most_bytes > 0
    }

    /// Forgets what a file has waiting, and says from which size on that was.
    pub fn forget(&mut self, slot: u32) -> Option<u64> {
        if self.from.is_empty() { None } else { self.from.remove(&slot).map(|(size, _)| size) }
    }

    pub fn heap_bytes(&self) -> usize {
        let files = self.from.capacity() * (size_of::<(u32, (u64, u64))>() + 1);
        files + self.order.capacity() * size_of::<(u32, u64)>()
    }
}

impl<A: Allocator> Volume<A> {
    /// Lets `len` bytes at the end of the file wait. Where the window is full, all that waits gets its blocks first.
    pub(super) fn gather(&mut self, slot: u32, len: u64) -> Result<(), NoSpace> {
        let block_bytes = u64::from(self.allocator.block_units()) * self.allocator.unit_bytes();
        let takes = len.next_multiple_of(block_bytes);
        let full = |window: &Window| window.bytes.saturating_add(takes) > window.most_bytes;
        let short = |this: &Self| this.window.bytes.saturating_add(takes) > this.allocator.available_bytes();
        if full(&self.window) || short(self) {
            self.flush_all()?;
        }
        if short(self) {
            return Err(NoSpace);
        }
        self.done.bytes_written += len;
        let size = self.files.get(slot).size();
        if let Entry::Vacant(place) = self.window.from.entry(slot) {
            self.window.next += 1;
            place.insert((size, self.window.next));
            self.window.order.push_back((slot, self.window.next));
        }
        self.window.bytes += takes;
        self.change(slot, |_, layout| {
            layout.size += len;
            Ok(())
        })
    }

    /// Gives a file the blocks that wait.
    pub(super) fn flush(&mut self, slot: u32) -> Result<(), NoSpace> {
        let Some(from) = self.window.forget(slot) else { return Ok(()) };
        self.change(slot, |allocator, layout| {
            let size = std::mem::replace(&mut layout.size, from);
            allocator.write(layout, from, size - from)
        })
    }

    /// Gives all files their blocks, in the order in which they came in. Where space is wanting the rest get theirs too.
    pub(super) fn flush_all(&mut self) -> Result<(), NoSpace> {
        let mut outcome = Ok(());
        while let Some((slot, number)) = self.window.order.pop_front() {
            if self.window.from.get(&slot).is_some_and(|&(_, came)| came == number) {
                outcome = outcome.and(self.flush(slot));
            }
        }
        self.window.bytes = 0;
        outcome
    }
}
