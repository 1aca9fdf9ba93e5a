//! Changes within live files: blocks overwritten in place, and holes punched.
//!
//! Profiles know only whole files. [`Churned`] adds the other two ways in which files of databases, virtual machines and logs age a file
//! system, between the creations and deletions of any planner, which it does not change: the live files, their sizes and ages are the same
//! with and without.

use crate::Error;
use crate::planner::sizes::{BLOCK_BYTES, blocks};
use crate::planner::{AgingState, AgingStats, Plan, Planner};
use crate::random::Random;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use trace::{BATCH, DirId, FileId, Op, Source};

/// How often live files are changed in place, in shares of all operations on files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Churn {
    /// Share of the operations that overwrite blocks of a file.
    pub overwrite: f64,
    /// Share of the operations that punch a hole into a file.
    pub punch: f64,
}

/// What [`Churn`] has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChurnStats {
    /// Overwrites of blocks.
    pub overwrites: u64,
    /// Bytes overwritten.
    pub overwritten_bytes: u64,
    /// Holes punched. Holes may overlap, and may be written again.
    pub punches: u64,
    /// Bytes of all holes when they were punched.
    pub punched_bytes: u64,
}

/// The largest share of the operations that can change files in place: the others make the files.
const MAX_SHARE: f64 = 0.95;

/// The most blocks that are changed at once: 64 KiB, four pages of InnoDB.
const MAX_BLOCKS: usize = 16;

impl Churn {
    /// Refuses shares that leave no operations for the profile.
    pub fn check(&self) -> Result<(), Error> {
        let Churn { overwrite, punch } = *self;
        let sum = overwrite + punch;
        if overwrite >= 0.0 && punch >= 0.0 && sum > 0.0 && sum <= MAX_SHARE {
            return Ok(());
        }
        Err(Error::Conditions(format!(
            "a churn of {overwrite} overwrites and {punch} holes is impossible: each share is at least 0, and both together are above 0 \
             and at most {MAX_SHARE}"
        )))
    }
}

/// A planner with changes within files between its operations.
pub(crate) struct Churned {
    inner: Box<dyn Planner>,
    rng: Random,
    files: LiveBlocks,
    /// Overwrites and holes per creation or deletion.
    rates: [f64; 2],
    /// Creations and deletions so far.
    done: u64,
    /// Overwrites and holes so far.
    changed: [u64; 2],
    /// Over all segments.
    stats: ChurnStats,
    /// Room for one operation of the inner planner.
    one: Vec<Op>,
}

impl Churned {
    /// Adds changes to a planner that has not begun.
    pub fn new(inner: Box<dyn Planner>, churn: &Churn, seed: u64) -> Result<Churned, Error> {
        churn.check()?;
        let AgingState { mut live, counters, .. } = inner.state();
        live.sort_unstable_by_key(|file| file.file.0);
        let mut files = LiveBlocks::default();
        live.iter().for_each(|file| files.insert(file.file, file.dir, file.size));
        let others = 1.0 - churn.overwrite - churn.punch;
        Ok(Churned {
            inner,
            // The planners' streams are numbered by the operations before them.
            rng: Random::new(seed, !counters.operations()),
            files,
            rates: [churn.overwrite / others, churn.punch / others],
            done: 0,
            changed: [0; 2],
            stats: counters.churn,
            one: Vec::with_capacity(1),
        })
    }

    /// Changes of a kind that belong to this number of creations and deletions.
    fn due(&self, kind: usize, operations: u64) -> u64 {
        (operations as f64 * self.rates[kind]) as u64
    }

    /// The next change, if one is due and there is a block to change.
    fn change(&mut self) -> Option<Op> {
        let kind = (0..2).find(|&kind| self.changed[kind] < self.due(kind, self.done))?;
        let Place { file, dir: parent, size, block } = self.files.pick(&mut self.rng)?;
        self.changed[kind] += 1;
        let offset = block * BLOCK_BYTES;
        let most = (1 + self.rng.below(MAX_BLOCKS)) as u64 * BLOCK_BYTES;
        let len = most.min(size - offset);
        if kind == 0 {
            self.stats.overwrites += 1;
            self.stats.overwritten_bytes += len;
            return Some(Op::Write { file, parent, offset, len });
        }
        // A hole includes the unused end of the last block; otherwise that block would only be zeroed.
        let len = blocks(len) * BLOCK_BYTES;
        self.stats.punches += 1;
        self.stats.punched_bytes += len;
        Some(Op::Punch { file, parent, offset, len })
    }

    fn follow(&mut self, op: &Op) {
        match *op {
            Op::Create { file, parent, size, .. } => self.files.insert(file, parent, size),
            Op::Delete { file, .. } => self.files.remove(file),
            _ => return,
        }
        self.done += 1;
    }
}

impl Source for Churned {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        self.advance(BATCH, batch);
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        let remaining = self.inner.remaining()?;
        let operations = self.done + remaining - self.inner.directories_left();
        let changes = (0..2).map(|kind| self.due(kind, operations).saturating_sub(self.changed[kind]));
        Some(remaining + changes.sum::<u64>())
    }
}

impl Planner for Churned {
    fn advance(&mut self, most: usize, batch: &mut Vec<Op>) {
        batch.clear();
        while batch.len() < most {
            if let Some(change) = self.change() {
                batch.push(change);
                continue;
            }
            self.inner.advance(1, &mut self.one);
            let Some(op) = self.one.pop() else { break };
            self.follow(&op);
            batch.push(op);
        }
    }

    fn directories_left(&self) -> u64 {
        self.inner.directories_left()
    }

    fn plan(&self) -> &Plan {
        self.inner.plan()
    }

    fn stats(&self) -> AgingStats {
        AgingStats { churn: Some(self.stats), ..self.inner.stats() }
    }

    fn state(&self) -> AgingState {
        let mut state = self.inner.state();
        state.counters.churn = self.stats;
        state
    }
}

/// A block of a live file.
struct Place {
    file: FileId,
    dir: DirId,
    size: u64,
    block: u64,
}

/// The live files that have blocks, so that each block can be drawn with equal probability: a Fenwick tree (1994) over slots of files.
#[derive(Default)]
struct LiveBlocks {
    /// For each slot its file, with directory and size; an empty slot has size 0.
    slots: Vec<(FileId, DirId, u64)>,
    /// Entry i − 1 holds the blocks of the slots from i − (lowest set bit of i) to i − 1.
    sums: Vec<u64>,
    free: Vec<u32>,
    slot_of: HashMap<FileId, u32>,
    total: u64,
}

impl LiveBlocks {
    fn insert(&mut self, file: FileId, dir: DirId, size: u64) {
        if size == 0 {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.slots[slot as usize] = (file, dir, size);
        self.slot_of.insert(file, slot);
        self.total += blocks(size);
        self.each_sum_of(slot, |sum| *sum += blocks(size));
    }

    fn remove(&mut self, file: FileId) {
        // Empty files have no slot.
        let Some(slot) = self.slot_of.remove(&file) else { return };
        let size = std::mem::take(&mut self.slots[slot as usize].2);
        self.free.push(slot);
        self.total -= blocks(size);
        self.each_sum_of(slot, |sum| *sum -= blocks(size));
    }

    /// A new empty slot.
    fn grow(&mut self) -> u32 {
        let slot = self.slots.len();
        self.slots.push((FileId(0), DirId(0), 0));
        let lowest = (slot + 1) & (slot + 1).wrapping_neg();
        let parts =
            std::iter::successors(Some(1), |width| Some(2 * width)).take_while(|&width| width < lowest);
        self.sums.push(parts.map(|width| self.sums[slot - width]).sum());
        u32::try_from(slot).expect("an aging has fewer than 2^32 live files")
    }

    fn each_sum_of(&mut self, slot: u32, change: impl Fn(&mut u64)) {
        let mut at = slot as usize + 1;
        while at <= self.sums.len() {
            change(&mut self.sums[at - 1]);
            at += at & at.wrapping_neg();
        }
    }

    /// A random block; `None` if no file has one.
    fn pick(&self, rng: &mut Random) -> Option<Place> {
        if self.total == 0 {
            return None;
        }
        let mut left = rng.below_wide(self.total);
        let mut slot = 0;
        let mut width = 1 << self.sums.len().ilog2();
        while width > 0 {
            if let Some(&sum) = self.sums.get(slot + width - 1)
                && sum <= left
            {
                left -= sum;
                slot += width;
            }
            width /= 2;
        }
        let (file, dir, size) = self.slots[slot];
        Some(Place { file, dir, size, block: left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn impossible_shares_are_rejected() {
        for (overwrite, punch) in [(0.2, 0.1), (0.95, 0.0), (0.0, 1e-9)] {
            assert!(Churn { overwrite, punch }.check().is_ok(), "{overwrite} {punch}");
        }
        for (overwrite, punch) in
            [(0.0, 0.0), (-0.1, 0.2), (0.5, 0.5), (f64::NAN, 0.1), (0.1, f64::NAN), (f64::INFINITY, 0.0)]
        {
            assert!(Churn { overwrite, punch }.check().is_err(), "{overwrite} {punch}");
        }
    }

    proptest! {
        #[test]
        fn only_live_blocks_are_picked(sizes in prop::collection::vec(0u64..40_000, 1..60), gone in prop::collection::vec(0usize..60, 0..60)) {
            let mut files = LiveBlocks::default();
            let mut live = HashMap::new();
            for (number, &size) in sizes.iter().enumerate() {
                files.insert(FileId(number as u64), DirId(0), size);
                live.insert(number as u64, size);
                if let Some(&gone) = gone.get(number) {
                    files.remove(FileId(gone as u64));
                    live.remove(&(gone as u64));
                }
            }
            let expected: u64 = live.values().map(|&size| blocks(size)).sum();
            prop_assert_eq!(files.total, expected);
            let mut rng = Random::new(1, 1);
            for _ in 0..100 {
                match files.pick(&mut rng) {
                    None => prop_assert_eq!(expected, 0),
                    Some(Place { file, size, block, .. }) => {
                        prop_assert_eq!(live.get(&file.0), Some(&size));
                        prop_assert!(block < blocks(size));
                    }
                }
            }
        }
    }

    #[test]
    fn large_files_are_changed_more_often() {
        let mut files = LiveBlocks::default();
        for file in 0..100 {
            files.insert(FileId(file), DirId(0), if file == 37 { 300 * BLOCK_BYTES } else { BLOCK_BYTES });
        }
        let mut rng = Random::new(7, 0);
        let picked: Vec<Place> = (0..10_000).filter_map(|_| files.pick(&mut rng)).collect();
        let large = picked.iter().filter(|place| place.file == FileId(37)).count();
        // 300 of 399 blocks.
        assert!((7_300..7_750).contains(&large), "{large}");
        let first_half = picked.iter().filter(|place| place.file == FileId(37) && place.block < 150).count();
        assert!((first_half as f64 / large as f64 - 0.5).abs() < 0.03, "{first_half} of {large}");
    }
}
