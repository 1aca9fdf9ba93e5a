//! The window of delayed allocation: data appended to files is collected and gets its blocks together.

use super::Volume;
use crate::allocator::{Allocator, NoSpace};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// A hash of slots, which need no protection against chosen collisions.
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

/// Files with data that has no blocks yet.
#[derive(Clone, Default)]
pub(super) struct Window {
    most_bytes: u64,
    /// Bytes that were collected since the window was last empty, each file rounded up to a block.
    bytes: u64,
    /// Per slot: the size up to which the file has blocks, and its sequence number.
    from: HashMap<u32, (u64, u64), BuildHasherDefault<SlotHash>>,
    /// Files in the order of their sequence numbers; a file that has left the window since has another number in `from`.
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

    /// Discards the collected data of a file, and returns the size at which it started.
    pub fn forget(&mut self, slot: u32) -> Option<u64> {
        if self.from.is_empty() { None } else { self.from.remove(&slot).map(|(size, _)| size) }
    }

    pub fn heap_bytes(&self) -> usize {
        let files = self.from.capacity() * (size_of::<(u32, (u64, u64))>() + 1);
        files + self.order.capacity() * size_of::<(u32, u64)>()
    }
}

impl<A: Allocator> Volume<A> {
    /// Collects `len` bytes at the end of a file. A full window is flushed first.
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
        self.counts.bytes_written += len;
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

    /// Allocates the blocks of a file's collected data.
    pub(super) fn flush(&mut self, slot: u32) -> Result<(), NoSpace> {
        let Some(from) = self.window.forget(slot) else { return Ok(()) };
        self.change(slot, |allocator, layout| {
            let size = std::mem::replace(&mut layout.size, from);
            allocator.write(layout, from, size - from)
        })
    }

    /// Allocates the blocks of all files, in the order in which they entered. Continues with the rest if space is short.
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
