//! The free space of an extent file system: a bitmap of blocks, and above it, level by level, bitmaps of aligned chunks of 2, 4, 8
//! … blocks that are completely free (a buddy system).

use super::runs::{EXACT, LONGEST, Runs, class_of, least_of};
use crate::bits::Bits;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Blocks per group: 128 MB.
pub(super) const GROUP_BLOCKS: u32 = 32_768;
/// The order of the largest chunks: 32 MB.
const ORDERS: u32 = 13;

/// The free space, as seen by placement policies.
#[derive(Clone)]
pub struct Space {
    blocks: u32,
    /// Per order; the first is the bitmap of blocks.
    levels: Vec<Bits>,
    /// Free blocks per group, and in total.
    free: Vec<u32>,
    total: u64,
    /// Per group, the counts of maximal runs of free blocks.
    runs: Vec<Runs>,
}

impl Space {
    /// A disk without free blocks.
    pub(super) fn new(blocks: u32) -> Space {
        let levels = (0..=ORDERS).map(|order| Bits::zeros((blocks >> order) + 1)).collect();
        let groups = blocks.div_ceil(GROUP_BLOCKS) as usize;
        Space { blocks, levels, free: vec![0; groups], total: 0, runs: vec![Runs::new(); groups] }
    }

    /// Blocks of the disk.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        self.free.len() as u32
    }

    /// The group of a block.
    pub fn group_of(&self, block: u32) -> u32 {
        (block / GROUP_BLOCKS).min(self.groups() - 1)
    }

    /// The blocks of a group.
    pub fn range(&self, group: u32) -> std::ops::Range<u32> {
        group * GROUP_BLOCKS..self.blocks.min((group + 1) * GROUP_BLOCKS)
    }

    /// Free blocks of a group.
    pub fn free_in(&self, group: u32) -> u32 {
        self.free[group as usize]
    }

    /// All free blocks.
    pub fn free_blocks(&self) -> u64 {
        self.total
    }

    /// Number of free blocks from this one on, within its group, at most `most`.
    pub fn run_at(&self, block: u32, most: u32) -> u32 {
        if block >= self.blocks {
            return 0;
        }
        self.levels[0].ones_from(block, self.range(self.group_of(block)).end.min(block.saturating_add(most)))
    }

    /// Every maximal run of free blocks of a group: first block and length.
    pub fn runs(&self, group: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.range(group);
        self.levels[0].runs(range.start, range.end)
    }

    /// Every maximal run of at least `least` free blocks of a group, without the part before `from`: first block and
    /// length.
    pub fn runs_at_least(&self, group: u32, from: u32, least: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        // At any alignment, a run of (m + 1) n - 1 blocks contains m aligned chunks of n, so only runs of m chunks are candidates. With n a quarter
        // of the length, few candidates are too short.
        let order = (least / 4).max(1).ilog2().min(ORDERS);
        let chunks = ((least + 1) >> order) - 1;
        let range = self.range(group);
        let mut from = from.max(range.start);
        std::iter::from_fn(move || {
            loop {
                let level = &self.levels[order as usize];
                let chunk = level.first_run(from.div_ceil(1 << order), range.end >> order, chunks.max(1))?;
                let at = chunk << order;
                let start = at - self.levels[0].ones_before(at, from, 1 << order);
                let len = self.levels[0].ones_from(start, range.end);
                from = start + len;
                if len >= least {
                    return Some((start, len));
                }
            }
        })
    }

    /// The first maximal run of exactly `len` blocks of a group, fewer than 64.
    pub fn exact_run(&self, group: u32, len: u32) -> Option<u32> {
        let (range, runs) = (self.range(group), &self.runs[group as usize]);
        if runs.count(len) == 0 {
            return None;
        }
        let from = range.start + runs.begin(len);
        let found = self.levels[0].first_exact_run(from, range.end, len)?;
        runs.set_begin(len, found - range.start);
        Some(found)
    }

    /// The shortest run of a group with at least `least` blocks, the first of equal ones: first block and length.
    pub fn shortest_run(&self, group: u32, least: u32) -> Option<(u32, u32)> {
        self.runs[group as usize].classes_from(class_of(least)).find_map(|class| {
            if class < EXACT {
                return self.exact_run(group, class).map(|start| (start, class));
            }
            let shortest = least_of(class).max(least);
            let mut best: Option<(u32, u32)> = None;
            for run in self.runs_in(group, class).filter(|&(_, len)| len >= least) {
                if best.is_none_or(|best| run.1 < best.1) {
                    best = Some(run);
                }
                if run.1 == shortest {
                    break;
                }
            }
            best
        })
    }

    /// The longest run of all; of equal ones the first from this group on: first block and length.
    pub fn longest_run(&self, from: u32) -> Option<(u32, u32)> {
        let class = self.longest_class();
        let mut groups = (from..self.groups()).chain(0..from);
        if class < EXACT {
            return groups.find_map(|group| self.exact_run(group, class)).map(|start| (start, class));
        }
        let runs = groups.flat_map(|group| self.runs_in(group, class));
        runs.reduce(|best, run| if run.1 > best.1 { run } else { best })
    }

    /// The class of the longest run of all; 0 if no block is free.
    fn longest_class(&self) -> u32 {
        self.runs.iter().map(Runs::longest).max().unwrap_or(0)
    }

    /// Whether a group may have a run of `least` blocks: it has a run of at least the smallest length of the same class.
    pub fn may_have_run(&self, group: u32, least: u32) -> bool {
        self.runs[group as usize].longest() >= class_of(least)
    }

    /// The runs of a class in a group: first block and length.
    fn runs_in(&self, group: u32, class: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (range, sums) = (self.range(group), &self.runs[group as usize]);
        let mut from = range.start + sums.begin(class);
        if from > range.start && self.levels[0].get(from - 1) {
            // The middle of a run, which is of another class.
            from += self.levels[0].ones_from(from, range.end);
        }
        let count = sums.count(class);
        let runs =
            self.runs_at_least(group, from, least_of(class)).filter(move |&(_, len)| class_of(len) == class);
        // No run follows the last one.
        runs.take(count.into()).enumerate().map(move |(number, run)| {
            if number == 0 {
                sums.set_begin(class, run.0 - range.start);
            }
            run
        })
    }

    /// The first aligned chunk of 2 to the power of `order` free blocks: at or behind `goal` in its group, then from the start of that group, then in
    /// the following groups, cyclically.
    pub fn aligned_chunk(&self, goal: u32, order: u32) -> Option<u32> {
        let level = self.levels.get(order as usize)?;
        let range = self.range(self.group_of(goal));
        let (begin, end) = (range.start >> order, range.end >> order);
        let from = goal.div_ceil(1 << order).clamp(begin, end);
        // Groups are multiples of the largest chunk, so the chunks of all groups are contiguous.
        let places = [from..end, begin..from, end..self.blocks >> order, 0..begin];
        places
            .into_iter()
            .find_map(|place| level.next_one(place.start, place.end))
            .map(|chunk| chunk << order)
    }

    /// The largest order that a free chunk may have, given the longest run.
    pub fn max_order(&self) -> u32 {
        let class = self.longest_class();
        if class == class_of(LONGEST) { ORDERS } else { (least_of(class + 1) - 1).max(1).ilog2() }
    }

    pub(super) fn take(&mut self, block: u32, len: u32) {
        debug_assert_eq!(self.run_at(block, len), len, "allocated blocks must be free");
        for (order, level) in self.levels.iter_mut().enumerate() {
            let (first, end) = (block >> order, ((block + len - 1) >> order) + 1);
            // If no chunk was free, none above was.
            if level.next_one(first, end).is_none() {
                break;
            }
            level.clear(first, end - first);
        }
        let group = self.recount_runs(block, len, false);
        self.free[group] -= len;
        self.total -= u64::from(len);
    }

    pub(super) fn give(&mut self, block: u32, len: u32) {
        debug_assert!(self.levels[0].next_one(block, block + len).is_none(), "freed blocks must be in use");
        self.levels[0].set(block, len);
        for order in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(order);
            // The last chunk of the disk may lack its second half.
            let is_free = |chunk: u32| {
                (chunk + 1) << order <= self.blocks
                    && below[order - 1].get(2 * chunk)
                    && below[order - 1].get(2 * chunk + 1)
            };
            let (mut first, mut end) = (block >> order, ((block + len - 1) >> order) + 1);
            // All chunks between the ends became free.
            first += u32::from(!is_free(first));
            if first < end && !is_free(end - 1) {
                end -= 1;
            }
            // If no chunk is free, none above is.
            if first == end {
                break;
            }
            above[0].set(first, end - first);
        }
        let group = self.recount_runs(block, len, true);
        self.free[group] += len;
        self.total += u64::from(len);
    }

    /// Updates the run counts after `len` blocks from `block` on were freed or taken; returns the number of their group.
    fn recount_runs(&mut self, block: u32, len: u32, freed: bool) -> usize {
        let group = self.group_of(block);
        let (range, end) = (self.range(group), block + len);
        let before = self.levels[0].ones_before(block, range.start, LONGEST);
        let behind = self.levels[0].ones_from(end, range.end.min(end + LONGEST));
        let runs = &mut self.runs[group as usize];
        let mut count = |begin: u32, len: u32, more: bool| match more {
            true => runs.add(begin - range.start, len),
            false => runs.remove(len),
        };
        count(block - before, before + len + behind, freed);
        for (begin, len) in [(block - before, before), (end, behind)] {
            if len > 0 {
                count(begin, len, !freed);
            }
        }
        group as usize
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.iter().map(Bits::heap_bytes).sum::<usize>()
            + self.free.capacity() * 4
            + self.runs.capacity() * size_of::<Runs>()
    }

    /// Recounts everything from the bitmap of blocks.
    pub(super) fn check(&self) -> Result<(), String> {
        for group in 0..self.groups() {
            let (kept, mut runs) = (&self.runs[group as usize], Runs::new());
            let mut counted = 0;
            for (start, len) in self.runs(group) {
                let begin = start - self.range(group).start;
                if begin < kept.begin(class_of(len)) {
                    return Err(format!(
                        "group {group}: the run of {len} at {start} lies before the first of its class"
                    ));
                }
                runs.add(begin, len);
                counted += len;
            }
            if !kept.counts_as(&runs) {
                return Err(format!("group {group}: the sums of its runs are not what its runs are"));
            }
            if counted != self.free_in(group) {
                return Err(format!(
                    "group {group}: {counted} free blocks counted, kept {}",
                    self.free_in(group)
                ));
            }
        }
        let total: u64 = self.free.iter().map(|&free| u64::from(free)).sum();
        if total != self.total {
            return Err(format!("{total} free blocks counted in all, kept {}", self.total));
        }
        for order in 1..self.levels.len() {
            for chunk in 0..self.blocks >> order {
                let free = self.levels[0].ones_from(chunk << order, (chunk + 1) << order) == 1 << order;
                if free != self.levels[order].get(chunk) {
                    return Err(format!("chunk {chunk} of order {order}: free is {free}, kept {}", !free));
                }
            }
        }
        Ok(())
    }
}
