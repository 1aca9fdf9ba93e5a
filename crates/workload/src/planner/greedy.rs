//! The published planner of Geriatrix (geriatrix17, §5), for comparison.
//!
//! *Rapid aging* creates files of random size and depth, drawn by the profile's weights, until the requested
//! fullness is reached. *Stable aging* then tosses a fair coin for each operation, as long as the fullness is
//! within 0.5 % of the requested one; otherwise the operation leads back to it. The publication says that the
//! fullness is maintained (§5), and not how: by the coin alone, it would walk away. A creation takes the size
//! bin with the largest deficit among those that still fit, and the depth with the largest deficit; a
//! deletion takes the age bin with the largest excess, in it the size, in that the depth, and there a random
//! file. Age bins are windows of birth, fixed when stable aging starts by the number of operations that the
//! profile needs.
//!
//! Unlike `planned`, this method does not steer the number of overwrites. A fit that is reached only at the
//! end is part of the published method and shows in its figures.

mod cells;

use crate::Error;
use crate::planner::calendar::Calendar;
use crate::planner::sizes::blocks;
use crate::planner::targets::Targets;
use crate::planner::tree::Tree;
use crate::planner::{AgingState, AgingStats, Conditions, Counters, LiveFile, Plan, Planner};
use crate::random::Random;
use cells::{Cells, Shares};
use trace::{BATCH, Content, Op, Source};

/// The published planner.
pub(crate) struct Greedy {
    targets: Targets,
    plan: Plan,
    rng: Random,
    tree: Tree,
    /// Directories still to be created, last first.
    mkdirs: Vec<Op>,
    counters: Counters,
    cells: Cells,
    /// The age windows; `None` during rapid aging.
    calendar: Option<Calendar>,
    /// The blocks of live files that are requested.
    target_blocks: u64,
    /// The most that files may occupy for a moment: half of what is free at that fullness stays free, for large files that do not fit
    /// below it and for the file system itself.
    most_blocks: u64,
    /// Number of created blocks at which the aging ends, if requested.
    most_created: Option<f64>,
}

/// The part of the requested fullness by which the fullness may miss it.
const MARGIN: u64 = 200;

/// The share of the aging after which operations on large files no longer change the fullness.
const SETTLING: f64 = 0.95;

/// The number of operations that the published method plans for `files` live files.
fn published_operations(targets: &Targets, files: u64) -> u64 {
    let oldest = targets.age.upper.last().expect("a checked histogram has bins");
    let files = files as f64;
    let mut younger = 0.0;
    let mut most = 0.0f64;
    let mut span = 1.0;
    for (i, (edge, share)) in targets.age.upper.iter().zip(&targets.age_share).enumerate() {
        span = edge / oldest - younger;
        younger = edge / oldest;
        let creations = if i + 1 < targets.age_share.len() { 2.0 * share } else { 2.0 * (share - 1.0) + 1.0 };
        most = most.max(files * creations / span);
    }
    most.max(files / span).ceil() as u64
}

impl Greedy {
    /// Plans an aging that continues from `state`.
    pub fn new(conditions: &Conditions, state: AgingState) -> Result<Greedy, Error> {
        let targets = Targets::new(conditions)?;
        let AgingState { mut tree, live, counters } = state;
        let mut rng = Random::new(conditions.seed, counters.operations());
        let mut mkdirs = tree.grow(&targets.depth, conditions.profile.files, targets.files(), &mut rng);
        mkdirs.reverse();
        if let Some(overwrites) = conditions.overwrites
            && overwrites < conditions.fullness
        {
            return Err(Error::Conditions(format!(
                "{overwrites} overwrites are less than the filling needs, {}; use more or leave --overwrites \
                 out",
                conditions.fullness
            )));
        }
        let mut cells =
            Cells::new(targets.age_share.len(), targets.sizes.share.len(), targets.depth_share.len());
        let (depths, depth_bin) = (tree.depths(), targets.depth_bins());
        for file in live {
            let depth = depth_bin.get(depths[file.dir.0 as usize] as usize).copied().flatten();
            // A depth outside this profile's histogram counts as its deepest.
            cells.insert(
                0,
                targets.sizes.bin_of(file.size),
                depth.unwrap_or(targets.depth_share.len() - 1),
                file,
            );
        }
        let target_blocks = targets.overwritten_blocks(conditions.fullness) as u64;
        let most_blocks = targets.overwritten_blocks((1.0 + conditions.fullness) / 2.0) as u64;
        let operations = published_operations(&targets, targets.files());
        Ok(Greedy {
            plan: targets.plan(target_blocks, tree.directories(), operations, None),
            most_created: conditions.overwrites.map(|n| targets.overwritten_blocks(n)),
            targets,
            rng,
            tree,
            mkdirs,
            counters,
            cells,
            calendar: None,
            target_blocks,
            most_blocks,
        })
    }

    /// The next operation; `None` at the end.
    fn step(&mut self) -> Option<Op> {
        if self.calendar.is_none() {
            let size = self.rng.weighted(&self.targets.sizes.share);
            let bytes = self.targets.sizes.random(size, &mut self.rng);
            if self.counters.live_blocks + blocks(bytes) <= self.target_blocks {
                let depth = self.rng.weighted(&self.targets.depth_share);
                return Some(self.create(0, size, depth, bytes));
            }
            self.become_stable();
        }
        let calendar = self.calendar.as_ref().expect("stable aging has windows");
        let now = self.counters.operations() + 1;
        let created = self.most_created.map_or(0.0, |most| self.counters.created_blocks as f64 / most);
        let done = f64::max((now - 1) as f64 / calendar.total as f64, created);
        if done >= 1.0 {
            return None;
        }
        let age = calendar.bin_of(now);
        let (live, margin) = (self.counters.live_blocks, self.target_blocks / MARGIN);
        let (least, most) = (self.target_blocks - margin, self.target_blocks + margin);
        let creates = if (least..=most).contains(&live) { self.rng.coin() } else { live < least };
        // At the end, no file is created or deleted whose absence or presence could not be made up for.
        let [room, spare] = match done > SETTLING {
            true => [most.saturating_sub(live), live.saturating_sub(least)],
            false => [self.most_blocks.saturating_sub(live), u64::MAX],
        };
        if creates {
            self.create_best(age, room).or_else(|| self.delete_best(spare))
        } else {
            self.delete_best(spare).or_else(|| self.create_best(age, room))
        }
    }

    /// Fixes the age windows by the number of live files, and assigns the live files to them.
    fn become_stable(&mut self) {
        let live = self.cells.files();
        let past = self.counters.operations();
        let total = match self.most_created {
            // The coin is fair, so the remaining creations take twice as many operations.
            Some(most) => {
                let mean = self.counters.live_blocks as f64 / live.max(1) as f64;
                past + (2.0 * (most - self.counters.created_blocks as f64).max(0.0) / mean.max(1.0)) as u64
            }
            None => published_operations(&self.targets, live).max(past),
        };
        let calendar = Calendar::new(&self.targets.age, total);
        self.plan.operations = total;
        self.cells.set_ages(|file| calendar.bin_of(file.born));
        self.calendar = Some(calendar);
    }

    /// Creates a file of the size with the largest deficit that fits into `room` blocks, at the depth with the largest deficit.
    fn create_best(&mut self, age: usize, room: u64) -> Option<Op> {
        let sizes = &self.targets.sizes;
        let size = self.cells.size_lacking_most(&sizes.share, |bin| blocks(sizes.largest(bin)) <= room)?;
        let bytes = sizes.random(size, &mut self.rng);
        let depth = self.cells.depth_lacking_most(&self.targets.depth_share);
        Some(self.create(age, size, depth, bytes))
    }

    fn create(&mut self, age: usize, size: usize, depth: usize, bytes: u64) -> Op {
        let dir = self.tree.pick(self.targets.depth.depth[depth] as usize, &mut self.rng);
        let file = self.counters.create(bytes);
        let born = self.counters.operations();
        self.cells.insert(age, size, depth, LiveFile { file, dir, size: bytes, born });
        Op::Create { file, parent: dir, size: bytes, content: Content::Auto }
    }

    /// Deletes a random file of the bins with the largest excess, among sizes of at most `spare` blocks.
    fn delete_best(&mut self, spare: u64) -> Option<Op> {
        let shares = Shares {
            age: &self.targets.age_share,
            size: &self.targets.sizes.share,
            depth: &self.targets.depth_share,
        };
        let sizes = &self.targets.sizes;
        let fits = |bin| blocks(sizes.largest(bin)) <= spare;
        let file = self.cells.remove_most_over(&shares, fits, &mut self.rng)?;
        self.counters.delete(file.size);
        Some(Op::Delete { file: file.file, parent: file.dir })
    }
}

impl Source for Greedy {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        self.advance(BATCH, batch);
        Ok(())
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.mkdirs.len() as u64 + self.plan.operations.saturating_sub(self.counters.operations()))
    }
}

impl Planner for Greedy {
    fn advance(&mut self, most: usize, batch: &mut Vec<Op>) {
        batch.clear();
        let mkdirs = self.mkdirs.len().saturating_sub(most);
        batch.extend(self.mkdirs.drain(mkdirs..).rev());
        while batch.len() < most
            && let Some(op) = self.step()
        {
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
        self.targets.stats(self.cells.iter(), &self.tree.depths(), &self.counters)
    }

    fn state(&self) -> AgingState {
        let mut tree = self.tree.clone();
        tree.forget(&self.mkdirs);
        AgingState { tree, live: self.cells.iter().copied().collect(), counters: self.counters }
    }
}
