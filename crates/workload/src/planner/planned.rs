//! The default planner: works backwards from the end, exact by construction (DESIGN §4).
//!
//! Every file that lives at the end has a slot with a fixed size and directory, so the size and depth
//! distributions match the profile at every moment. Each creation fills an empty slot; the new file is either
//! a survivor, which is never deleted, or an ephemeral, which will be. Within each window of birth the
//! survivors are drawn at random, as many as the age bin needs, so the final age histogram is exact too.
//! Every operation costs a handful of array accesses.
//!
//! In addition there are some spare slots, filled with ephemerals only. At any time as many slots are empty
//! as there are spare ones, so that a new file seldom has the size and directory of the file deleted just
//! before, and operations can continue after the birth of the last survivor.

mod layout;

use crate::Error;
use crate::planner::calendar::{Calendar, Rhythm};
use crate::planner::sizes::blocks;
use crate::planner::targets::Targets;
use crate::planner::tree::Tree;
use crate::planner::{AgingState, AgingStats, Conditions, Counters, LiveFile, Plan, Planner};
use crate::random::Random;
use trace::{BATCH, Content, FileId, Op, Source};

/// The default planner.
pub(crate) struct Planned {
    targets: Targets,
    plan: Plan,
    rng: Random,
    tree: Tree,
    /// Directories still to be created, last first.
    mkdirs: Vec<Op>,
    rhythm: Rhythm,
    calendar: Calendar,
    counters: Counters,
    /// The slots, then the spare ones. An empty slot has `born` 0.
    slots: Vec<LiveFile>,
    /// Number of slots whose files live at the end.
    files: usize,
    /// Live files of earlier segments that have no slot, to be deleted first.
    doomed: Vec<LiveFile>,
    /// Slots that hold an ephemeral.
    ephemeral: Vec<u32>,
    /// Empty slots.
    empty: Vec<u32>,
    /// Empty spare slots.
    spare: Vec<u32>,
    /// The spare slot of the file that is created and deleted repeatedly, while that file exists.
    guest: Option<u32>,
    /// The current age bin, and the creations and survivors that each window still needs.
    bin: usize,
    births: Vec<u64>,
    survivors: Vec<u64>,
    /// Mean blocks per slot, and the number of blocks by which the creations so far exceed it.
    mean_blocks: f64,
    excess: f64,
}

impl Planned {
    /// Plans an aging that continues from `state`.
    pub fn new(conditions: &Conditions, state: AgingState) -> Result<Planned, Error> {
        layout::plan(conditions, state)
    }

    /// The next operation.
    fn step(&mut self) -> Op {
        let time = self.counters.operations() + 1;
        let steady = self.rhythm.steady();
        if time > steady {
            if (time - steady) % 2 == 1 { self.first_of_pair(time) } else { self.second_of_pair(time) }
        } else if self.rhythm.creates(time) {
            let slot = self.empty.pop().expect("the transition has an empty slot for each new file");
            if !self.is_survivor(time) {
                self.ephemeral.push(slot);
            }
            self.create(slot, time)
        } else {
            let file = self.doomed.pop().expect("the transition has a doomed file for each deletion");
            self.counters.delete(file.size);
            Op::Delete { file: file.file, parent: file.dir }
        }
    }

    fn first_of_pair(&mut self, time: u64) -> Op {
        if self.ephemeral.is_empty() {
            // All survivors are born: the remaining operations create and delete files in spare slots.
            let slot = self.spare[self.rng.below(self.spare.len())];
            self.guest = Some(slot);
            return self.create(slot, time);
        }
        let (a, b) = (self.rng.below(self.ephemeral.len()), self.rng.below(self.ephemeral.len()));
        let size = |i: usize| self.slots[self.ephemeral[i] as usize].size;
        let chosen = if (self.excess > 0.0) == (size(b) < size(a)) { b } else { a };
        let slot = self.ephemeral.swap_remove(chosen);
        if (slot as usize) < self.files { &mut self.empty } else { &mut self.spare }.push(slot);
        self.delete(slot)
    }

    fn second_of_pair(&mut self, time: u64) -> Op {
        match self.guest.take() {
            Some(slot) => self.delete(slot),
            None => self.refill(time),
        }
    }

    /// Draws whether the creation at `time` is a survivor, in proportion to the survivors that the window
    /// still needs.
    fn is_survivor(&mut self, time: u64) -> bool {
        while time >= self.calendar.window(self.bin).1 {
            self.bin -= 1;
        }
        let (births, survivors) = (&mut self.births[self.bin], &mut self.survivors[self.bin]);
        let survives = *survivors > 0 && self.rng.chance(*survivors, *births);
        *births -= 1;
        *survivors -= u64::from(survives);
        survives
    }

    /// Fills an empty slot. A survivor gets a slot that lives at the end: one is always empty, because the
    /// number of empty ones equals the number of occupied spare slots, and a deletion has just emptied one of
    /// either kind.
    ///
    /// Of two random slots, takes the one whose size brings the bytes created nearer to the mean; deletions
    /// choose between two random files likewise. So a few very large files cannot make the churn larger or
    /// smaller than requested.
    fn refill(&mut self, time: u64) -> Op {
        let survives = self.is_survivor(time);
        let choices = self.empty.len() + if survives { 0 } else { self.spare.len() };
        let (a, b) = (self.rng.below(choices), self.rng.below(choices));
        let size = |i: usize| self.slots[self.vacant(i) as usize].size;
        // A survivor withdraws its slot from further churn, so it takes the size that the churn needs less.
        let larger = (self.excess > 0.0) == survives;
        let chosen = if larger == (size(b) > size(a)) { b } else { a };
        let slot = match chosen.checked_sub(self.empty.len()) {
            None => self.empty.swap_remove(chosen),
            Some(spare) => self.spare.swap_remove(spare),
        };
        if !survives {
            self.ephemeral.push(slot);
        }
        self.create(slot, time)
    }

    fn vacant(&self, i: usize) -> u32 {
        self.empty.get(i).copied().unwrap_or_else(|| self.spare[i - self.empty.len()])
    }

    fn create(&mut self, slot: u32, time: u64) -> Op {
        let slot = &mut self.slots[slot as usize];
        slot.file = self.counters.create(slot.size);
        slot.born = time;
        self.excess += blocks(slot.size) as f64 - self.mean_blocks;
        Op::Create { file: slot.file, parent: slot.dir, size: slot.size, content: Content::Auto }
    }

    fn delete(&mut self, slot: u32) -> Op {
        let slot = &mut self.slots[slot as usize];
        self.counters.delete(slot.size);
        slot.born = 0;
        Op::Delete { file: slot.file, parent: slot.dir }
    }

    fn live(&self) -> impl Iterator<Item = &LiveFile> {
        self.slots.iter().filter(|s| s.born > 0).chain(&self.doomed)
    }
}

impl Source for Planned {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        self.advance(BATCH, batch);
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.mkdirs.len() as u64 + self.calendar.total - self.counters.operations())
    }
}

impl Planner for Planned {
    fn advance(&mut self, most: usize, batch: &mut Vec<Op>) {
        batch.clear();
        let mkdirs = self.mkdirs.len().saturating_sub(most);
        batch.extend(self.mkdirs.drain(mkdirs..).rev());
        let left = self.calendar.total - self.counters.operations();
        for _ in 0..left.min((most - batch.len()) as u64) {
            let op = self.step();
            batch.push(op);
        }
    }

    fn directories_left(&self) -> u64 {
        self.mkdirs.len() as u64
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn stats(&self) -> AgingStats {
        self.targets.stats(self.live(), &self.tree.depths(), &self.counters)
    }

    fn state(&self) -> AgingState {
        let mut tree = self.tree.clone();
        tree.forget(&self.mkdirs);
        AgingState { tree, live: self.live().copied().collect(), counters: self.counters }
    }
}

/// The file number of an empty slot.
const NO_FILE: FileId = FileId(u64::MAX);
