//! Writing files: blocks, indirect blocks, and the fragments at the end.

use super::FastFs;
use super::shrink::kept_fragments;
use crate::allocator::{Allocator as _, NoSpace};
use crate::geometry::{BLOCK_BYTES, DIRECT, FRAGMENTS, Geometry, LARGEST_FILE, PER_INDIRECT};
use crate::layout::{Extent, Layout};
use crate::policy::Policy;

impl<P: Policy> FastFs<P> {
    /// Allocates blocks for `len` bytes at `offset`. Without space the file is unchanged.
    pub(super) fn write_blocks(&mut self, file: &mut Layout, offset: u64, len: u64) -> Result<(), NoSpace> {
        let end = offset.saturating_add(len);
        if len == 0 {
            return Ok(());
        }
        let old_size = file.size;
        let new_size = old_size.max(end);
        let done =
            if new_size > LARGEST_FILE { Err(NoSpace) } else { self.allocate(file, offset, end, new_size) };
        if done.is_err() {
            // Frees the new blocks. Blocks within the old size that filled a hole stay, as in 4.4BSD.
            self.shrink(file, old_size);
        }
        done
    }

    fn allocate(&mut self, file: &mut Layout, offset: u64, end: u64, new_size: u64) -> Result<(), NoSpace> {
        let grows = new_size > file.size;
        let first = (offset / BLOCK_BYTES) as u32;
        let last = ((end - 1) / BLOCK_BYTES) as u32;
        // The fragments at the old end become a whole block if the file continues behind them.
        let old_tail = (file.size / BLOCK_BYTES) as u32;
        if grows
            && !file.size.is_multiple_of(BLOCK_BYTES)
            && new_size > (u64::from(old_tail) + 1) * BLOCK_BYTES
        {
            self.grow_tail(file, old_tail, FRAGMENTS)?;
        }
        // Blocks that end within this write are whole; the last one may be fragments.
        let whole_end = (end / BLOCK_BYTES) as u32;
        let tail = (kept_fragments(new_size) - last * FRAGMENTS).min(FRAGMENTS);
        let blocks_end = if tail < FRAGMENTS || whole_end == last { last } else { last + 1 };
        let mut block = first;
        while block < blocks_end {
            block = self.write_cluster(file, block, blocks_end, whole_end, grows)?;
        }
        if blocks_end == last {
            self.write_tail(file, last, tail)?;
        }
        file.size = new_size;
        Ok(())
    }

    /// Writes blocks from `first` on, up to a whole cluster or the end of the section; returns the next block.
    fn write_cluster(
        &mut self,
        file: &mut Layout,
        first: u32,
        end: u32,
        whole_end: u32,
        grows: bool,
    ) -> Result<u32, NoSpace> {
        let geometry = *self.groups.geometry();
        let end = end.min(section_end(first, geometry.section_blocks));
        let preferred = self.preferred(file, first);
        if !self.policy.reallocates_clusters() {
            return self.fill(file, first, end, preferred).map(|_| end);
        }
        let free = self.clusters_free_at(file, first, end, preferred);
        if free > 0 {
            self.append_blocks(file, first, preferred, free);
            return Ok(first + free);
        }
        let begin = first - self.open_cluster(file, first);
        let end = end.min(begin + geometry.cluster_blocks);
        let is_new = file.end() <= first * FRAGMENTS;
        let behind = if is_new { self.add_indirect(file, first, preferred)? } else { None };
        let preferred = behind.unwrap_or(preferred);
        let gathers = grows && end <= whole_end && end - begin > 1;
        if gathers && begin == first && self.write_gathered(file, first, end, preferred) {
            return Ok(end);
        }
        let filled = self.fill(file, first, end, preferred)?;
        if gathers {
            let preferred = if begin == first {
                filled
            } else if self.moves_on(begin) {
                // A section keeps its group.
                file.find(begin * FRAGMENTS).map_or(filled, |(at, _)| at / FRAGMENTS)
            } else {
                self.preferred(file, begin)
            };
            self.gather(file, begin, end, preferred);
        }
        Ok(end)
    }

    /// The number of blocks directly before `block`, at most, that belong to its cluster and are written: 4.4BSD goes on with a cluster in the next
    /// write call. Clusters are counted from the start of a section.
    fn open_cluster(&self, file: &Layout, block: u32) -> u32 {
        let geometry = self.groups.geometry();
        let before = (block - section_begin(block, geometry.section_blocks)) % geometry.cluster_blocks;
        let is_written = |&block: &u32| file.find(block * FRAGMENTS).is_some();
        (block - before..block).rev().take_while(is_written).count() as u32
    }

    /// The number of blocks, in whole clusters or all up to `end`, that are free and contiguous at the preferred block. None of these clusters
    /// would be moved, so they can be taken directly. Zero if space may be short.
    fn clusters_free_at(&self, file: &Layout, first: u32, end: u32, preferred: u32) -> u32 {
        let is_new = file.end() <= first * FRAGMENTS;
        if !is_new
            || file.indirect.len() < Geometry::indirect_blocks(first + 1) as usize
            || !self.groups.is_free(preferred)
        {
            return 0;
        }
        let run = self.groups.run_at(preferred, end - first);
        let open = self.open_cluster(file, first);
        let part = (open + run) % self.groups.geometry().cluster_blocks;
        let run = if run == end - first { run } else { run.saturating_sub(part) };
        if u64::from(run * FRAGMENTS) <= self.available_fragments() { run } else { 0 }
    }

    /// Allocates the missing blocks of `first..end`, which are in one section. Returns the preferred block at which it
    /// started.
    fn fill(&mut self, file: &mut Layout, first: u32, end: u32, preferred: u32) -> Result<u32, NoSpace> {
        let mut block = first;
        let mut next = preferred;
        let mut begin = preferred;
        while block < end {
            let mut hole_end = end;
            // Most files grow at their end, where no block can exist.
            if file.end() > block * FRAGMENTS {
                if let Some((start, units)) = file.find(block * FRAGMENTS) {
                    block += units.div_ceil(FRAGMENTS);
                    next = start / FRAGMENTS + units.div_ceil(FRAGMENTS);
                    continue;
                }
                hole_end = file.next_extent(block * FRAGMENTS).map_or(end, |at| end.min(at / FRAGMENTS));
            }
            if let Some(behind) = self.add_indirect(file, block, next)? {
                (begin, next) = (behind, behind);
            }
            let (place, len) = self.take_run(next, hole_end - block)?;
            file.insert(Extent {
                logical: block * FRAGMENTS,
                start: place * FRAGMENTS,
                len: len * FRAGMENTS,
            });
            block += len;
            next = place + len;
        }
        Ok(begin)
    }

    /// Takes up to `most` contiguous blocks, at the preferred block if it is free.
    fn take_run(&mut self, preferred: u32, most: u32) -> Result<(u32, u32), NoSpace> {
        let most =
            most.min(u32::try_from(self.available_fragments() / u64::from(FRAGMENTS)).unwrap_or(u32::MAX));
        if most == 0 {
            return Err(NoSpace);
        }
        let group = self.groups.group_of(preferred);
        let found = self.in_some_group(group, |this, group, is_preferred| {
            let range = this.groups.geometry().range(group);
            let preferred = (is_preferred && range.contains(&preferred)).then_some(preferred);
            this.groups.take_run(group, preferred, most)
        });
        found.ok_or(NoSpace)
    }

    /// Allocates the missing indirect blocks of a block. If there were any, returns the place behind the last of them as the preferred one, for a
    /// sequential read, unless the block starts a section in another group.
    fn add_indirect(&mut self, file: &mut Layout, block: u32, next: u32) -> Result<Option<u32>, NoSpace> {
        let needed = Geometry::indirect_blocks(block + 1) as usize;
        let mut last = None;
        while file.indirect.len() < needed {
            let (place, _) = self.take_run(next, 1)?;
            file.indirect.push(place * FRAGMENTS);
            last = Some(place);
        }
        Ok(last.filter(|_| !self.moves_on(block)).map(|place| place + 1))
    }

    /// Whether the block is the first of a section that selects its own group.
    fn moves_on(&self, block: u32) -> bool {
        block >= DIRECT
            && (block - DIRECT).is_multiple_of(PER_INDIRECT.min(self.groups.geometry().section_blocks))
            && self.policy.begins_section(block)
    }

    /// The preferred block on disk for this block of the file: behind its predecessor; for the first block of a section, the start of
    /// the section's group.
    fn preferred(&self, file: &Layout, block: u32) -> u32 {
        let geometry = self.groups.geometry();
        let before = block.checked_sub(1).and_then(|before| file.find(before * FRAGMENTS));
        let before = before.map(|(start, _)| start / FRAGMENTS);
        if self.moves_on(block) || (block >= DIRECT && before.is_none()) {
            // Behind a hole, as many groups further as there are sections before.
            let own = match before {
                Some(before) => self.groups.group_of(before),
                None => self.group_of_inode(file.inode) + block / geometry.section_blocks,
            };
            let group = self.policy.section_group(&self.groups, own);
            return geometry.first_data(group.unwrap_or(own % self.groups.count()));
        }
        before.map_or_else(|| self.group_begin(file.inode), |before| before + 1)
    }

    /// Writes the fragments at the end of the file, `len` of block number `block`.
    fn write_tail(&mut self, file: &mut Layout, block: u32, len: u32) -> Result<(), NoSpace> {
        if let Some((_, has)) = file.find(block * FRAGMENTS) {
            return if has < len { self.grow_tail(file, block, len) } else { Ok(()) };
        }
        if len == FRAGMENTS {
            let preferred = self.preferred(file, block);
            return self.fill(file, block, block + 1, preferred).map(|_| ());
        }
        self.place_tail(file, block, len)
    }

    /// Allocates the fragments at the end of a file.
    fn place_tail(&mut self, file: &mut Layout, block: u32, len: u32) -> Result<(), NoSpace> {
        let preferred = self.preferred(file, block);
        if self.available_fragments() < u64::from(len) {
            return Err(NoSpace);
        }
        let follows = self.policy.tail_follows_block() && block > 0;
        let place = if follows && self.groups.is_free(preferred) {
            self.groups.take_exactly(preferred, 0, len);
            preferred * FRAGMENTS
        } else {
            self.take_fragments(preferred, len)?
        };
        file.insert(Extent { logical: block * FRAGMENTS, start: place, len });
        Ok(())
    }

    fn take_fragments(&mut self, preferred: u32, len: u32) -> Result<u32, NoSpace> {
        let group = self.groups.group_of(preferred);
        let found = self.in_some_group(group, |this, group, is_preferred| {
            let range = this.groups.geometry().range(group);
            let preferred = (is_preferred && range.contains(&preferred)).then_some(preferred);
            this.groups.take_fragments(group, preferred, len)
        });
        found.ok_or(NoSpace)
    }

    /// Extends the fragments of block number `block` to `len`: in place if the following ones are free, else elsewhere.
    fn grow_tail(&mut self, file: &mut Layout, block: u32, len: u32) -> Result<(), NoSpace> {
        let Some((start, has)) = file.find(block * FRAGMENTS) else { return Ok(()) };
        if has >= len {
            return Ok(());
        }
        if self.available_fragments() < u64::from(len - has) {
            return Err(NoSpace);
        }
        let logical = block * FRAGMENTS;
        let (at, first) = (start / FRAGMENTS, start % FRAGMENTS);
        let wanted = ((1u32 << (len - has)) - 1) << (first + has);
        if first + len <= FRAGMENTS && u32::from(self.groups.free_mask(at)) & wanted == wanted {
            self.groups.take_exactly(at, first + has, len - has);
            file.insert(Extent { logical: logical + has, start: start + has, len: len - has });
            return Ok(());
        }
        let preferred = self.preferred(file, block);
        self.choose_saving();
        let asked = if self.saves_space { len } else { FRAGMENTS };
        let place = match asked {
            FRAGMENTS => self.take_run(preferred, 1)?.0 * FRAGMENTS,
            _ => self.take_fragments(preferred, asked)?,
        };
        if asked > len {
            self.groups.give(place + len, asked - len);
        }
        let groups = &mut self.groups;
        file.remove_range(logical, logical + FRAGMENTS, |start, len| groups.give(start, len));
        file.insert(Extent { logical, start: place, len });
        Ok(())
    }

    /// Switches to saving space once the free fragments are nearly as many as the reserve, and back to saving time when they are half of
    /// it.
    fn choose_saving(&mut self) {
        let fragments = u64::from(self.groups.total().fragments);
        let percent = self.groups.geometry().reserve_percent;
        let share = |percent: u64| self.groups.data_fragments() * percent / 100;
        self.saves_space = match self.saves_space {
            true => percent < 5 || fragments > share(percent) / 2,
            false => fragments >= share(percent.saturating_sub(2)),
        };
    }
}

/// The first block of this block's section: of the direct blocks, then of the blocks of each indirect block or a part of them.
fn section_begin(block: u32, section_blocks: u32) -> u32 {
    let length = PER_INDIRECT.min(section_blocks);
    block.checked_sub(DIRECT).map_or(0, |behind| DIRECT + behind / length * length)
}

/// The end of this block's section.
fn section_end(block: u32, section_blocks: u32) -> u32 {
    match block {
        0..DIRECT => DIRECT,
        _ => section_begin(block, section_blocks) + PER_INDIRECT.min(section_blocks),
    }
}
