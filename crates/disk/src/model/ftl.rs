//! A page-mapped flash translation layer: where a flash drive keeps the data of each address, and what it has to do to make room for more.
//!
//! Flash is programmed by the page and erased by the block, so a write goes to a new place and leaves the old one invalid; garbage
//! collection moves what is still valid out of a block and erases it (Agrawal et al., Design Tradeoffs for SSD Performance, ATC 2008).
//! Blocks of all dies form superblocks, which are filled and erased as a whole: that is how the dies work in parallel. Data of the host and
//! data that is moved go to superblocks of their own. The table of addresses is in memory as far as it fits (Gupta et al., DFTL, ASPLOS
//! 2009); a page of it that changed is written to the flash like data.
//!
//! This module knows no time. It reports each operation of the flash to its caller, which prices them. Units are 4 KiB of the disk, as the
//! table maps them; a slot is the place of one unit.

mod collect;
mod geometry;
mod precondition;
mod state;
mod table;

use collect::Victim;
pub use collect::VictimPolicy;
pub(super) use geometry::Geometry;
use lru::LruCache;
pub use precondition::FlashState;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use table::TableCache;

/// The translation layer of one drive.
#[derive(Clone, Debug)]
pub struct Ftl {
    geometry: Geometry,
    policy: VictimPolicy,
    /// Erases by which superblocks may differ before the least worn one is collected.
    wear_gap_max: u32,
    /// The slot of each unit and then of each page of the table, plus one; 0 without data. With `units`, this is nearly all its memory: 8
    /// bytes for a unit, of pages that the system allocates when they are used.
    slots: Vec<u32>,
    /// The unit in each slot, plus one; 0 without valid data.
    units: Vec<u32>,
    superblocks: Vec<Superblock>,
    /// Number of superblocks that are erased and not being filled.
    free: u32,
    /// The superblocks being filled, by stream.
    open: [Option<u32>; 2],
    victim: Option<Victim>,
    victims: u64,
    table: TableCache,
    /// Units in the write cache, which are not on the flash yet; the least recently written is the next to go there.
    cached: LruCache<u32, ()>,
    host_units: u64,
    flash_units: u64,
}

/// Blocks of all dies that are filled and erased together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Superblock {
    /// Slots with valid data.
    valid: u32,
    /// Slots that are programmed, the first ones.
    written: u32,
    erases: u32,
    /// Age: the number of units that the host had written when it was last written to.
    stamp: u64,
}

/// The source of data on its way to the flash.
#[derive(Clone, Copy)]
enum Stream {
    /// The host, and pages of the table.
    Host,
    /// Garbage collection.
    Moved,
}

/// The translation layer of a disk: its device changes it, its store saves it.
pub type SharedFtl = Arc<Mutex<Ftl>>;

/// Gives access to a translation layer. It is consistent between calls, even if a thread ended during one.
pub(crate) fn lock(ftl: &SharedFtl) -> MutexGuard<'_, Ftl> {
    ftl.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An operation of the flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlashOp {
    /// Senses the page of a die and transfers a part of it.
    Read {
        /// The die.
        die: u32,
        /// Bytes to transfer.
        bytes: u64,
    },
    /// Transfers and programs the page of a die.
    Program {
        /// The die.
        die: u32,
    },
    /// Erases a block of every die.
    Erase,
}

/// What the flash of a drive has been through.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlashStatus {
    /// Bytes that the host wrote and the write cache passed on.
    pub host_bytes: u64,
    /// Bytes programmed: those of the host, moved data, pages of the address table, and the unused rest of pages.
    pub programmed_bytes: u64,
    /// Programmed bytes over bytes of the host; 0 before the first write.
    pub write_amplification: f64,
    /// Share of the disk that the drive takes for data in use.
    pub mapped_share: f64,
    /// Share of the flash that is erased or holds no valid data.
    pub spare_share: f64,
    /// Mean number of erases of a block.
    pub erases_mean: f64,
    /// Number of erases of the most worn block.
    pub erases_max: u32,
}

impl Ftl {
    /// A drive as it leaves the factory.
    pub(super) fn new(geometry: Geometry, policy: VictimPolicy, wear_gap_max: u32) -> Ftl {
        let superblocks = geometry.superblocks;
        Ftl {
            geometry,
            policy,
            wear_gap_max,
            slots: vec![0; (geometry.units + geometry.table_pages) as usize],
            units: vec![0; (superblocks * geometry.superblock_units()) as usize],
            superblocks: vec![Superblock::default(); superblocks as usize],
            free: superblocks,
            open: [None; 2],
            victim: None,
            victims: 0,
            table: TableCache::new(&geometry),
            cached: LruCache::unbounded(),
            host_units: 0,
            flash_units: 0,
        }
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Number of units in the write cache.
    pub(super) fn cached_units(&self) -> u64 {
        self.cached.len() as u64
    }

    /// Takes a written unit into the write cache; there it replaces its earlier version.
    pub(super) fn write(&mut self, unit: u32) {
        self.cached.put(unit, ());
    }

    /// Programs a page with the oldest units of the write cache, and collects as much garbage as that calls for. Does nothing if the write
    /// cache is empty.
    pub(super) fn destage(&mut self, ops: &mut impl FnMut(FlashOp)) {
        for _ in 0..self.geometry.page_units {
            let Some((unit, ())) = self.cached.pop_lru() else { break };
            self.host_units += 1;
            self.look_up(unit, true, ops);
            self.make_room(ops);
            self.append(Stream::Host, unit, ops);
        }
        self.pad(Stream::Host, ops);
        self.collect_for(self.geometry.page_units, ops);
    }

    /// Programs all units of the write cache.
    pub(super) fn flush(&mut self, ops: &mut impl FnMut(FlashOp)) {
        while !self.cached.is_empty() {
            self.destage(ops);
        }
    }

    /// Where a unit is read from: the page of a die, by number, or `None` for the write cache. A unit without data counts as if the disk had
    /// been written once in the order of addresses: a log of requests does not tell what was written before it.
    pub(super) fn find(&mut self, unit: u32, ops: &mut impl FnMut(FlashOp)) -> Option<u64> {
        if self.cached.contains(&unit) {
            return None;
        }
        self.look_up(unit, false, ops);
        let slot = self.slots[unit as usize].checked_sub(1).unwrap_or(unit);
        Some(u64::from(slot / self.geometry.page_units))
    }

    /// Forgets a unit, as a discard does.
    pub(super) fn trim(&mut self, unit: u32, ops: &mut impl FnMut(FlashOp)) {
        self.cached.pop(&unit);
        if self.slots[unit as usize] > 0 {
            self.look_up(unit, true, ops);
            self.invalidate(unit);
        }
    }

    /// Whether a unit must be read before a part of it is written, because its data is on the flash alone.
    pub(super) fn must_be_read_first(&self, unit: u32) -> bool {
        self.slots[unit as usize] > 0 && !self.cached.contains(&unit)
    }

    /// Loses the write cache, as when the power fails. Its units are on the flash as they were before.
    pub fn power_cut(&mut self) {
        self.cached.clear();
    }

    /// What the flash has been through.
    pub fn status(&self) -> FlashStatus {
        let Geometry { unit_bytes, units, .. } = self.geometry;
        let valid: u64 = self.superblocks.iter().map(|superblock| u64::from(superblock.valid)).sum();
        // Counted by the pages of the table, because there are few.
        let of_table = self.slots[units as usize..].iter().filter(|slot| **slot > 0).count();
        let erases: u64 = self.superblocks.iter().map(|superblock| u64::from(superblock.erases)).sum();
        FlashStatus {
            host_bytes: self.host_units * unit_bytes,
            programmed_bytes: self.flash_units * unit_bytes,
            write_amplification: self.flash_units as f64 / self.host_units.max(1) as f64,
            mapped_share: (valid - of_table as u64) as f64 / f64::from(units),
            spare_share: 1.0 - valid as f64 / self.units.len() as f64,
            erases_mean: erases as f64 / self.superblocks.len() as f64,
            erases_max: self.superblocks.iter().map(|superblock| superblock.erases).max().unwrap_or(0),
        }
    }

    /// Puts a unit into the next slot of a stream. The page of the slot is programmed when it is full.
    fn append(&mut self, stream: Stream, unit: u32, ops: &mut impl FnMut(FlashOp)) {
        let superblock = self.open_superblock(stream);
        self.invalidate(unit);
        let stamp = self.host_units;
        let of = &mut self.superblocks[superblock as usize];
        let slot = superblock * self.geometry.superblock_units() + of.written;
        of.valid += 1;
        of.written += 1;
        of.stamp = stamp;
        self.slots[unit as usize] = slot + 1;
        self.units[slot as usize] = unit + 1;
        self.flash_units += 1;
        if (slot + 1).is_multiple_of(self.geometry.page_units) {
            ops(FlashOp::Program { die: self.geometry.die_of(slot) });
            self.close_if_full(stream);
        }
    }

    /// Programs a page that is partly filled; the rest of it stays unused.
    fn pad(&mut self, stream: Stream, ops: &mut impl FnMut(FlashOp)) {
        let Some(superblock) = self.open[stream as usize] else { return };
        let page_units = self.geometry.page_units;
        let of = &mut self.superblocks[superblock as usize];
        let unused = of.written.next_multiple_of(page_units) - of.written;
        if unused > 0 {
            let slot = superblock * self.geometry.superblock_units() + of.written;
            of.written += unused;
            self.flash_units += u64::from(unused);
            ops(FlashOp::Program { die: self.geometry.die_of(slot) });
            self.close_if_full(stream);
        }
    }

    /// The superblock that a stream fills. A new one is the least worn for the host, and the most worn for moved data, which is likely to
    /// stay.
    fn open_superblock(&mut self, stream: Stream) -> u32 {
        if let Some(superblock) = self.open[stream as usize] {
            return superblock;
        }
        let erased = (0..self.geometry.superblocks).filter(|superblock| self.is_free(*superblock));
        let erases = |superblock: &u32| self.superblocks[*superblock as usize].erases;
        let superblock = match stream {
            Stream::Host => erased.min_by_key(erases),
            Stream::Moved => erased.max_by_key(erases),
        };
        let superblock = superblock.expect("garbage collection keeps a superblock free");
        self.free -= 1;
        self.open[stream as usize] = Some(superblock);
        superblock
    }

    fn close_if_full(&mut self, stream: Stream) {
        let full = self.geometry.superblock_units();
        let open = &mut self.open[stream as usize];
        if open.is_some_and(|superblock| self.superblocks[superblock as usize].written == full) {
            *open = None;
        }
    }

    fn is_free(&self, superblock: u32) -> bool {
        self.superblocks[superblock as usize].written == 0 && !self.open.contains(&Some(superblock))
    }

    /// Makes the slot of a unit invalid.
    fn invalidate(&mut self, unit: u32) {
        if let Some(slot) = std::mem::take(&mut self.slots[unit as usize]).checked_sub(1) {
            self.units[slot as usize] = 0;
            self.superblocks[(slot / self.geometry.superblock_units()) as usize].valid -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
