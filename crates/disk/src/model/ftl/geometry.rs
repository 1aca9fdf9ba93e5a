//! The sizes of a drive's flash, for a disk of any size.

use crate::model::parameters::{FtlParameters, SsdParameters};

/// The largest number of slots.
const SLOTS_MAX: u64 = 1 << 31;

/// Superblocks beyond those for the data that garbage collection needs: two being filled, those kept free, and one to collect.
const SPARE_MIN: u64 = 8;

/// The sizes of a drive's flash.
///
/// The disk is a partition of the drive. If it has another size than that of the model, the drive is a scale model: with as many superblocks,
/// of fewer or more pages, so that garbage collection has the same choice and costs the same for each byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Bytes that the table maps as one.
    pub unit_bytes: u64,
    /// Units of the disk.
    pub units: u32,
    /// Pages of the table of addresses on the flash, each as large as a unit; 0 if all of it is in memory.
    pub table_pages: u32,
    /// Units that a page of the table maps.
    pub table_page_units: u32,
    /// Pages of the table in memory.
    pub table_pages_cached: u32,
    pub dies: u32,
    /// Units in the page of a die, over all its planes.
    pub page_units: u32,
    /// Pages of each die in a superblock.
    pub rows: u32,
    pub superblocks: u32,
}

impl Geometry {
    /// The flash of a drive of this model for a disk of `size_bytes`.
    pub(in crate::model) fn new(ssd: &SsdParameters, ftl: &FtlParameters, size_bytes: u64) -> Geometry {
        let dies = u64::from(ssd.channels) * u64::from(ssd.dies_per_channel);
        let page_bytes = ssd.page_bytes * u64::from(ftl.planes_per_die);
        let share = size_bytes as f64 / (ftl.drive_bytes as f64 * ftl.partition_share);
        // A very large disk has a coarser table.
        let mut unit_bytes = ssd.map_unit_bytes.min(page_bytes);
        while size_bytes / unit_bytes * 4 > SLOTS_MAX {
            unit_bytes *= 2;
        }
        let page_bytes = page_bytes.max(unit_bytes);
        let page_units = page_bytes / unit_bytes;
        let block_bytes =
            f64::from(ftl.pages_per_block) * (ssd.page_bytes * u64::from(ftl.planes_per_die)) as f64;
        let rows = (block_bytes * share / page_bytes as f64).round().clamp(1.0, 1e6) as u64;
        let units = size_bytes.div_ceil(unit_bytes).max(1);
        let table_page_units = (unit_bytes / ssd.map_entry_bytes).max(1);
        let cached = (ssd.map_cache_bytes as f64 * share / unit_bytes as f64) as u64;
        let table_pages = match units.div_ceil(table_page_units) {
            pages if pages <= cached => 0,
            pages => pages,
        };
        let superblock_units = dies * page_units * rows;
        let needed = (units + table_pages).div_ceil(superblock_units) + SPARE_MIN;
        let all_units = units as f64 / ftl.partition_share * (1.0 + ftl.over_provisioning);
        let provided = (all_units / superblock_units as f64).ceil() as u64;
        Geometry {
            unit_bytes,
            units: units as u32,
            table_pages: table_pages as u32,
            table_page_units: table_page_units as u32,
            table_pages_cached: cached.clamp(1, u32::MAX.into()) as u32,
            dies: dies as u32,
            page_units: page_units as u32,
            rows: rows as u32,
            superblocks: needed.max(provided) as u32,
        }
    }

    /// Slots of a superblock.
    pub fn superblock_units(&self) -> u32 {
        self.dies * self.page_units * self.rows
    }

    /// The die of a slot. Pages of a superblock go round the dies.
    pub fn die_of(&self, slot: u32) -> u32 {
        slot / self.page_units % self.dies
    }
}
