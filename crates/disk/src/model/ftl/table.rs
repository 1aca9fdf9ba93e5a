//! The part of the table of addresses that is in memory (Gupta et al., DFTL, ASPLOS 2009).

use super::{FlashOp, Ftl, Geometry, Stream};
use lru::LruCache;

/// The pages of the table in memory, each with whether it changed since it was read.
#[derive(Clone, Debug)]
pub(super) struct TableCache {
    pub pages: LruCache<u32, bool>,
    most: usize,
}

impl TableCache {
    pub fn new(geometry: &Geometry) -> TableCache {
        TableCache { pages: LruCache::unbounded(), most: geometry.table_pages_cached as usize }
    }
}

impl Ftl {
    /// Brings the entry of a unit into memory; `changes` states whether it is about to change. Costs nothing if all of the table is in memory.
    pub(super) fn look_up(&mut self, unit: u32, changes: bool, ops: &mut impl FnMut(FlashOp)) {
        // The place of a table page itself is always in memory.
        if self.geometry.table_pages == 0 || unit >= self.geometry.units {
            return;
        }
        let page = unit / self.geometry.table_page_units;
        if let Some(changed) = self.table.pages.get_mut(&page) {
            *changed |= changes;
            return;
        }
        if let Some(slot) = self.slots[(self.geometry.units + page) as usize].checked_sub(1) {
            ops(FlashOp::Read { die: self.geometry.die_of(slot), bytes: self.geometry.unit_bytes });
        }
        self.table.pages.put(page, changes);
        // A drive that is short of space keeps changed pages in memory until it has collected some.
        while self.table.pages.len() > self.table.most && self.has_room() {
            if let Some((page, true)) = self.table.pages.pop_lru() {
                self.append(Stream::Host, self.geometry.units + page, ops);
            }
        }
    }
}
