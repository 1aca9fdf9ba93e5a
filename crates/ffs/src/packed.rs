//! Compact encoding of layouts: runs as differences in variable-length numbers, in slots of four bytes and more.

use crate::layout::{Extent, Layout};

/// Packed layouts, identified by handles.
#[derive(Clone, Default)]
pub(crate) struct Packed {
    /// Per slot size.
    classes: Vec<Class>,
    scratch: Vec<u8>,
}

#[derive(Clone, Default)]
struct Class {
    bytes: Vec<u8>,
    /// Free slots.
    empty: Vec<u32>,
}

/// Number of low bits of a handle for the slot in its class; the others are the class.
const SLOT_BITS: u32 = 26;
/// Number of classes with slots of 4, 8 … 128 bytes; each further class has twice the size of the previous one.
const FINE_CLASSES: u32 = 32;

fn class_of(bytes: usize) -> u32 {
    if bytes <= 4 * FINE_CLASSES as usize {
        return (bytes as u32).div_ceil(4).max(1) - 1;
    }
    let doublings = bytes.div_ceil(4 * FINE_CLASSES as usize).next_power_of_two().ilog2();
    FINE_CLASSES - 1 + doublings
}

fn slot_bytes(class: u32) -> usize {
    match class.checked_sub(FINE_CLASSES - 1) {
        None => 4 * (class as usize + 1),
        Some(doublings) => (4 * FINE_CLASSES as usize) << doublings,
    }
}

impl Packed {
    /// Stores a layout; differences start at `near`.
    pub fn put(&mut self, layout: &Layout, near: u32) -> u32 {
        let room = 5 * (2 + 3 * layout.extents.len() + layout.indirect.len());
        if self.scratch.len() < room {
            self.scratch.resize(room, 0);
        }
        let mut out = Out { bytes: &mut self.scratch, len: 0 };
        write(&mut out, layout, near);
        let out = &out.bytes[..out.len];
        let number = class_of(out.len());
        if self.classes.len() <= number as usize {
            self.classes.resize(number as usize + 1, Class::default());
        }
        let class = &mut self.classes[number as usize];
        let width = slot_bytes(number);
        let slot = class.empty.pop().unwrap_or_else(|| {
            if class.bytes.len() + width > class.bytes.capacity() {
                // Grows by an eighth: unused capacity counts as memory.
                class.bytes.reserve_exact((class.bytes.len() / 8).max(4 * width));
            }
            class.bytes.resize(class.bytes.len() + width, 0);
            (class.bytes.len() / width) as u32 - 1
        });
        class.bytes[slot as usize * width..][..out.len()].copy_from_slice(out);
        assert!(slot < 1 << SLOT_BITS, "a handle can address 64 million layouts per size");
        number << SLOT_BITS | slot
    }

    /// Reads a layout into `layout`, without changing its inode and size.
    pub fn get(&self, handle: u32, near: u32, layout: &mut Layout) {
        let (class, slot) = (handle >> SLOT_BITS, handle & ((1 << SLOT_BITS) - 1));
        let width = slot_bytes(class);
        read(&self.classes[class as usize].bytes[slot as usize * width..][..width], near, layout);
    }

    /// Frees a layout.
    pub fn forget(&mut self, handle: u32) {
        self.classes[(handle >> SLOT_BITS) as usize].empty.push(handle & ((1 << SLOT_BITS) - 1));
    }

    pub fn heap_bytes(&self) -> usize {
        let of_class = |class: &Class| class.bytes.capacity() + class.empty.capacity() * 4;
        self.classes.iter().map(of_class).sum::<usize>()
            + self.classes.capacity() * size_of::<Class>()
            + self.scratch.capacity()
    }
}

/// A buffer with enough space for all writes; a vector would check its capacity on each one.
struct Out<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl Out<'_> {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }
}

fn write(out: &mut Out<'_>, layout: &Layout, near: u32) {
    number(out, (layout.extents.len() as u64) << 1 | u64::from(!layout.indirect.is_empty()));
    let (mut logical, mut place) = (0, near);
    for extent in &layout.extents {
        let gap = extent.logical - logical;
        number(out, u64::from(extent.len) << 1 | u64::from(gap > 0));
        if gap > 0 {
            number(out, u64::from(gap));
        }
        difference(out, place, extent.start);
        (logical, place) = (extent.logical_end(), extent.end());
    }
    if !layout.indirect.is_empty() {
        number(out, layout.indirect.len() as u64);
    }
    for &indirect in &layout.indirect {
        difference(out, place, indirect);
        place = indirect;
    }
}

fn read(bytes: &[u8], near: u32, layout: &mut Layout) {
    let mut bytes = bytes.iter();
    let mut next = || {
        let (mut value, mut shift) = (0u64, 0);
        for &byte in bytes.by_ref() {
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    let placed = |place: u32, value: u64| {
        place.wrapping_add((value >> 1) as u32 ^ ((value & 1) as u32).wrapping_neg())
    };
    layout.extents.clear();
    layout.indirect.clear();
    let head = next();
    let (mut logical, mut place) = (0, near);
    for _ in 0..head >> 1 {
        let len = next();
        if len & 1 == 1 {
            logical += next() as u32;
        }
        let extent = Extent { logical, start: placed(place, next()), len: (len >> 1) as u32 };
        (logical, place) = (extent.logical_end(), extent.end());
        layout.extents.push(extent);
    }
    if head & 1 == 1 {
        for _ in 0..next() {
            place = placed(place, next());
            layout.indirect.push(place);
        }
    }
}

/// Seven bits per byte, the lowest first.
#[inline]
fn number(out: &mut Out<'_>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The difference between two places, with its sign in the lowest bit.
#[inline]
fn difference(out: &mut Out<'_>, from: u32, to: u32) {
    let way = to.wrapping_sub(from) as i32;
    number(out, u64::from(((way << 1) ^ (way >> 31)) as u32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn slots_fit_their_sizes() {
        for bytes in 1..5000 {
            let class = class_of(bytes);
            assert!(slot_bytes(class) >= bytes && (class == 0 || slot_bytes(class - 1) < bytes), "{bytes}");
        }
    }

    proptest! {
        #[test]
        fn layouts_survive_packing(
            files in prop::collection::vec((
                prop::collection::vec((0u32..3, 1u32..3000, any::<u32>()), 0..40),
                prop::collection::vec(any::<u32>(), 0..5),
                any::<u32>(),
            ), 1..8),
        ) {
            let mut packed = Packed::default();
            let mut kept = Vec::new();
            for (runs, indirect, near) in files {
                let mut layout = Layout { indirect, ..Layout::default() };
                for (gap, len, start) in runs {
                    layout.extents.push(Extent { logical: layout.end() + gap, start: start / 2, len });
                }
                kept.push((packed.put(&layout, near), near, layout));
                if kept.len() % 3 == 0 {
                    packed.forget(kept.remove(0).0);
                }
            }
            for (handle, near, layout) in kept {
                let mut read = Layout::default();
                packed.get(handle, near, &mut read);
                prop_assert_eq!(read, layout);
            }
        }
    }
}
