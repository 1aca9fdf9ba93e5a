//! The space map: used slots and blocks of the area.
//!
//! Large extents have slots of their own, so any free slot fits any of them and free space does not fragment. Small extents share
//! slots, called zones; a zone becomes free when its last extent is freed.

use std::collections::BTreeMap;

use crate::codec::{Reader, get_u64, put_u32, put_u64};
use crate::error::Result;
use crate::params::Params;

/// A bit map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    fn new(bits: u64) -> Self {
        Self(vec![0; bits.div_ceil(64) as usize])
    }

    pub fn get(&self, i: u64) -> bool {
        self.0[(i / 64) as usize] >> (i % 64) & 1 == 1
    }

    fn set(&mut self, i: u64, on: bool) {
        let word = &mut self.0[(i / 64) as usize];
        *word = if on { *word | 1 << (i % 64) } else { *word & !(1 << (i % 64)) };
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The first zero from `from` up to but without `end`.
    fn zero(&self, from: u64, end: u64) -> Option<u64> {
        let mut i = from;
        while i < end {
            let word = !self.0[(i / 64) as usize] >> (i % 64);
            if word != 0 {
                let found = i + u64::from(word.trailing_zeros());
                return (found < end).then_some(found);
            }
            i = (i / 64 + 1) * 64;
        }
        None
    }

    /// The first `n` consecutive zeros from `from` up to but without `end`.
    fn zeros(&self, n: u64, from: u64, end: u64) -> Option<u64> {
        let mut start = self.zero(from, end)?;
        while start + n <= end {
            match (start..start + n).find(|i| self.get(*i)) {
                None => return Some(start),
                Some(taken) => start = self.zero(taken + 1, end)?,
            }
        }
        None
    }
}

/// An extent that the current tree does not use any more.
#[derive(Debug, Clone, Copy)]
struct Dropped {
    at: u64,
    bytes: u32,
    /// The first tree that does not use it.
    version: u64,
}

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    params: Params,
    start: u64,
    slots: u64,
    used: Bits,
    free: u64,
    zones: BTreeMap<u64, Bits>,
    most_zones: usize,
    dropped: Vec<Dropped>,
}

impl Space {
    pub fn new(params: Params, (start, slots): (u64, u64)) -> Self {
        let bitmap = 16 + slots.div_ceil(64) * 8;
        let most_zones = params.node().saturating_sub(bitmap) / Self::zone_bytes(&params);
        Self {
            params,
            start,
            slots,
            used: Bits::new(slots),
            free: slots,
            zones: BTreeMap::new(),
            most_zones: most_zones as usize,
            dropped: Vec::new(),
        }
    }

    fn zone_bytes(params: &Params) -> u64 {
        8 + (params.node() / params.block()).div_ceil(64) * 8
    }

    fn is_small(&self, bytes: u64) -> bool {
        bytes <= self.params.node() / 4
    }

    /// Slots that are free now.
    pub fn free_slots(&self) -> u64 {
        self.free
    }

    /// Slots that become free when no older tree is in use, without zones.
    pub fn dropped_slots(&self) -> u64 {
        self.dropped.iter().filter(|d| !self.zones.contains_key(&self.slot(d.at))).count() as u64
    }

    fn slot(&self, at: u64) -> u64 {
        (at - self.start) / self.params.node()
    }

    fn address(&self, slot: u64) -> u64 {
        self.start + slot * self.params.node()
    }

    /// Allocates an extent for a leaf of `bytes`, at the first free slot behind `hint`, cyclically; a small extent in a zone, if one has room.
    pub fn take(&mut self, bytes: u64, hint: u64) -> Option<u64> {
        if self.is_small(bytes)
            && let Some(at) = self.take_small(bytes)
        {
            return Some(at);
        }
        let from = self.slot(hint.max(self.start)).min(self.slots);
        let slot = self.used.zero(from, self.slots).or_else(|| self.used.zero(0, from))?;
        self.take_slot(slot);
        Some(self.address(slot))
    }

    /// Allocates an extent for an inner node or map, at the last free place, so that leaves stay adjacent.
    pub fn take_last(&mut self, bytes: u64) -> Option<u64> {
        if self.is_small(bytes)
            && let Some(at) = self.take_small(bytes)
        {
            return Some(at);
        }
        let slot = self.last_free()?;
        self.take_slot(slot);
        Some(self.address(slot))
    }

    fn last_free(&self) -> Option<u64> {
        let words = self.used.0.iter().enumerate().rev();
        words.filter(|(_, word)| **word != u64::MAX).find_map(|(i, word)| {
            let last = self.slots - i as u64 * 64;
            let valid = if last >= 64 { u64::MAX } else { (1 << last) - 1 };
            let free = !word & valid;
            (free != 0).then(|| i as u64 * 64 + 63 - u64::from(free.leading_zeros()))
        })
    }

    fn take_slot(&mut self, slot: u64) {
        debug_assert!(!self.used.get(slot), "the slot is already in use");
        self.used.set(slot, true);
        self.free -= 1;
    }

    fn take_small(&mut self, bytes: u64) -> Option<u64> {
        let (n, all) = (bytes / self.params.block(), self.params.node() / self.params.block());
        let found = self.zones.iter().find_map(|(slot, bits)| Some((*slot, bits.zeros(n, 0, all)?)));
        let (slot, first) = match found {
            Some(found) => found,
            None if self.zones.len() < self.most_zones => {
                let slot = self.last_free()?;
                self.take_slot(slot);
                self.zones.insert(slot, Bits::new(all));
                (slot, 0)
            }
            None => return None,
        };
        let bits = self.zones.get_mut(&slot).expect("the zone exists");
        (first..first + n).for_each(|i| bits.set(i, true));
        Some(self.address(slot) + first * self.params.block())
    }

    /// The first `n` consecutive free slots behind `hint`, or else from the start of the area; if there are none, half as many.
    pub fn row(&self, n: u64, hint: u64) -> Option<u64> {
        let from = self.slot(hint.max(self.start)).min(self.slots);
        let row = |n| self.used.zeros(n, from, self.slots).or_else(|| self.used.zeros(n, 0, self.slots));
        let halves = std::iter::successors(Some(n), |n| (*n > 1).then_some(n / 2));
        halves.into_iter().find_map(row).map(|slot| self.address(slot))
    }

    /// Whether an extent of `bytes` gets a slot of its own.
    pub fn is_large(&self, bytes: u64) -> bool {
        !self.is_small(bytes)
    }

    /// Drops an extent, which the trees from `version` on do not use.
    pub fn drop_extent(&mut self, at: u64, bytes: u32, version: u64) {
        self.dropped.push(Dropped { at, bytes, version });
    }

    /// Frees the extents that the trees from `version` on do not use; `version` is the oldest one on the disk or in use.
    pub fn release(&mut self, version: u64) {
        let (gone, kept) = std::mem::take(&mut self.dropped).into_iter().partition(|d| d.version <= version);
        self.dropped = kept;
        let gone: Vec<Dropped> = gone;
        for extent in gone {
            self.give_back(extent.at, extent.bytes);
        }
    }

    fn give_back(&mut self, at: u64, bytes: u32) {
        let slot = self.slot(at);
        if let Some(bits) = self.zones.get_mut(&slot) {
            let first = (at - self.start) % self.params.node() / self.params.block();
            (first..first + u64::from(bytes) / self.params.block()).for_each(|i| bits.set(i, false));
            if !bits.is_zero() {
                return;
            }
            self.zones.remove(&slot);
        }
        self.used.set(slot, false);
        self.free += 1;
    }

    /// Marks an extent as used; returns false if it is already marked or out of range.
    pub fn mark(&mut self, at: u64, bytes: u32, zones: &Self) -> bool {
        let slot = self.slot(at);
        if !zones.zones.contains_key(&slot) {
            let taken = self.used.get(slot) || !(at - self.start).is_multiple_of(self.params.node());
            if !taken {
                self.take_slot(slot);
            }
            return !taken;
        }
        if !self.used.get(slot) {
            self.take_slot(slot);
            self.zones.insert(slot, Bits::new(self.params.node() / self.params.block()));
        }
        let first = (at - self.start) % self.params.node() / self.params.block();
        let Some(bits) = self.zones.get_mut(&slot) else { return false };
        let mut clear = true;
        for i in first..first + u64::from(bytes) / self.params.block() {
            clear &= !bits.get(i);
            bits.set(i, true);
        }
        clear
    }

    /// Whether both mark the same space.
    pub fn same(&self, other: &Self) -> bool {
        self.used == other.used && self.zones == other.zones
    }

    /// Free extents: lengths of runs of free slots, and bytes of holes in zones.
    pub fn holes(&self) -> (Vec<u64>, Vec<u64>) {
        let mut slots = Vec::new();
        runs(&self.used, self.slots, &mut slots);
        let mut blocks = Vec::new();
        for bits in self.zones.values() {
            runs(bits, self.params.node() / self.params.block(), &mut blocks);
        }
        (slots, blocks.iter().map(|n| n * self.params.block()).collect())
    }

    /// Free extents: address and bytes, ascending. Adjacent slots are not merged with each other, nor with free blocks of zones.
    pub fn free(&self) -> Vec<(u64, u64)> {
        let mut free = Vec::new();
        let block = self.params.block();
        for slot in 0..self.slots {
            let at = self.address(slot);
            match self.zones.get(&slot) {
                Some(bits) => {
                    let blocks = (0..self.params.node() / block).filter(|i| !bits.get(*i));
                    free.extend(blocks.map(|i| (at + i * block, block)));
                }
                None if self.used.get(slot) => {}
                None => free.push((at, self.params.node())),
            }
        }
        free
    }

    /// Number of zones.
    pub fn zones(&self) -> usize {
        self.zones.len()
    }

    /// Upper bound of the map's bytes after the allocation of one more extent.
    pub fn map_bytes(&self) -> u64 {
        let zones = (self.zones.len() as u64 + 1).min(self.most_zones as u64);
        16 + self.slots.div_ceil(64) * 8 + zones * Self::zone_bytes(&self.params)
    }

    /// Encodes the map with all dropped extents free.
    pub fn encode(&self) -> Vec<u8> {
        let mut after = self.clone();
        after.release(u64::MAX);
        let mut out = Vec::new();
        put_u64(&mut out, self.slots);
        put_u32(&mut out, after.zones.len() as u32);
        put_u32(&mut out, 0);
        after.used.0.iter().for_each(|word| put_u64(&mut out, *word));
        for (slot, bits) in &after.zones {
            put_u64(&mut out, *slot);
            bits.0.iter().for_each(|word| put_u64(&mut out, *word));
        }
        out
    }

    /// Decodes the map in `bytes`, at address `at`.
    pub fn decode(bytes: &[u8], at: u64, params: Params, area: (u64, u64)) -> Result<Self> {
        let mut space = Self::new(params, area);
        let mut reader = Reader::new(bytes, "space map", at);
        if reader.u64()? != space.slots {
            return Err(reader.wrong("it is of an area of another size"));
        }
        let zones = reader.u32()? as usize;
        reader.u32()?;
        let row = |reader: &mut Reader<'_>, bits: u64| -> Result<Bits> {
            let bytes = reader.take(bits.div_ceil(64) as usize * 8)?;
            let row = Bits(bytes.chunks_exact(8).map(|word| get_u64(word, 0)).collect());
            if (bits..bits.next_multiple_of(64)).any(|i| row.get(i)) {
                return Err(reader.wrong("it marks space beyond its end"));
            }
            Ok(row)
        };
        space.used = row(&mut reader, space.slots)?;
        space.free = space.slots - space.used.0.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        for _ in 0..zones {
            let slot = reader.u64()?;
            if slot >= space.slots || !space.used.get(slot) || space.zones.contains_key(&slot) {
                return Err(reader.wrong("a zone is not a used slot"));
            }
            let bits = row(&mut reader, params.node() / params.block())?;
            space.zones.insert(slot, bits);
        }
        if !reader.is_empty() || space.zones.len() > space.most_zones {
            return Err(reader.wrong("it is too long"));
        }
        Ok(space)
    }
}

/// The lengths of the runs of zeros.
fn runs(bits: &Bits, end: u64, out: &mut Vec<u64>) {
    let mut run = 0;
    for i in 0..end {
        if bits.get(i) {
            if run > 0 {
                out.push(run);
            }
            run = 0;
        } else {
            run += 1;
        }
    }
    if run > 0 {
        out.push(run);
    }
}
