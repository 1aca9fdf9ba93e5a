//! The published planner of Geriatrix (geriatrix17, §5 and §6), for comparison.
//!
//! *Rapid aging* creates the files that fill the file system to the requested fullness: their number and sizes
//! follow the profile, their order is random. *Stable aging* then tosses a fair coin for each operation, as long
//! as the number of files is within 0.1 % of that; otherwise the operation leads back to it. The publication
//! says that the fullness is maintained (§5), and not how: by the coin alone, it would walk away, and as many
//! files would end in wrong age bins (with 0.5 %, 24 bins miss their ages by 0.12 %). A creation
//! takes the size bin with the largest deficit among those that still fit, and the depth with the largest
//! deficit; a deletion takes the age bin with the largest excess, in it the size, in that the depth, and there a
//! random file. Age bins are windows of birth, fixed when stable aging starts by the number of operations that
//! the profile needs (§6); then the aging ends. Requested overwrites end it earlier, as in §7, and then the ages
//! do not fit.
//!
//! Bins of few large files are as often short of a file as bins of many, so this method creates many more bytes
//! than the bound.

mod cells;

use crate::Error;
use crate::planner::calendar::Calendar;
use crate::planner::sizes::blocks;
use crate::planner::targets::Targets;
use crate::planner::tree::Tree;
use crate::planner::{AgingState, AgingStats, Conditions, Counters, LiveFile, Plan, Planner};
use crate::random::Random;
use cells::{Cells, Shares};
use std::ops::RangeInclusive;
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
    /// Sizes of the files that rapid aging has still to create.
    filling: Vec<u64>,
    /// The age windows; `None` during rapid aging.
    calendar: Option<Calendar>,
    /// The blocks of live files that are requested.
    target_blocks: u64,
    /// The most that files may occupy for a moment: three quarters of what is free at that fullness stay free, for
    /// the file system itself.
    most_blocks: u64,
    /// Number of created blocks at which the aging ends, if requested.
    most_created: Option<u64>,
}

/// The part of the requested fullness by which it may be missed.
const MARGIN: u64 = 200;

/// The part of the number of files by which it may be missed.
const FILES_MARGIN: u64 = 1000;

/// The share of the operations after which the fullness is brought to the requested one, and large files no
/// longer change it. Of requested overwrites the last part serves that.
const SETTLING: f64 = 0.99;

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

/// The shares of the bins in the number of files.
fn shares(targets: &Targets) -> Shares<'_> {
    Shares {
        files: targets.files(),
        age: &targets.age_share,
        size: &targets.sizes.share,
        depth: &targets.depth_share,
    }
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
        let most_blocks = targets.overwritten_blocks((1.0 + 3.0 * conditions.fullness) / 4.0) as u64;
        let missing = |bin: usize| targets.sizes.count[bin].saturating_sub(cells.of_size(bin));
        let mut filling: Vec<u64> =
            (0..targets.sizes.count.len()).flat_map(|bin| targets.sizes.of_bin(bin, missing(bin))).collect();
        rng.shuffle(&mut filling);
        let operations = published_operations(&targets, targets.files());
        Ok(Greedy {
            plan: targets.plan(target_blocks, tree.directories(), operations, None),
            most_created: conditions.overwrites.map(|n| targets.overwritten_blocks(n) as u64),
            targets,
            rng,
            tree,
            mkdirs,
            counters,
            cells,
            filling,
            calendar: None,
            target_blocks,
            most_blocks,
        })
    }

    /// The next operation; `None` at the end.
    fn step(&mut self) -> Option<Op> {
        if self.calendar.is_none() {
            let next = self.filling.pop();
            if let Some(bytes) =
                next.filter(|&bytes| self.counters.live_blocks + blocks(bytes) <= self.most_blocks)
            {
                let depth = self.cells.depth_lacking_most(&self.targets.depth_share, self.cells.files() + 1);
                return Some(self.create(0, self.targets.sizes.bin_of(bytes), depth, bytes));
            }
            self.become_stable();
        }
        let calendar = self.calendar.as_ref().expect("stable aging has windows");
        let now = self.counters.operations() + 1;
        // Blocks that may still be created, and those of them that settling may need.
        let left =
            self.most_created.map_or(u64::MAX, |most| most.saturating_sub(self.counters.created_blocks));
        let live = self.counters.live_blocks;
        let reserve = self.target_blocks / 8 + self.target_blocks.saturating_sub(live);
        if now > calendar.total || left == 0 {
            return None;
        }
        let settling = now as f64 > SETTLING * calendar.total as f64 || left <= 2 * reserve;
        let age = calendar.bin_of(now);
        let margin = self.target_blocks / MARGIN;
        let (least, most) = (self.target_blocks - margin, self.target_blocks + margin);
        let (files, wanted) = (self.cells.files(), self.targets.files());
        let mut off = (wanted / FILES_MARGIN).max(2);
        let room = self.most_blocks.saturating_sub(live).min(left.saturating_sub(reserve));
        let mut sizes = [0..=room, 0..=u64::MAX];
        if settling {
            let (room, spare) = (most.saturating_sub(live).min(left), live.saturating_sub(least));
            // The largest files that fit lead back with the fewest operations.
            let led_back = match () {
                () if live < least => self.create_best(age, &self.targets.sizes.largest_within(room)),
                () if live > most => self.delete_best(&self.targets.sizes.largest_within(spare)),
                () => None,
            };
            if led_back.is_some() {
                return led_back;
            }
            sizes = [0..=room, 0..=spare];
            off = 0;
        }
        let creates = if files.abs_diff(wanted) <= off { self.rng.coin() } else { files < wanted };
        let [room, spare] = &sizes;
        if creates {
            self.create_best(age, room).or_else(|| self.delete_best(spare))
        } else if settling && live < self.target_blocks && !self.right_age_fits(spare) {
            // Otherwise small files of wrong ages would go until none is left.
            let large = self.targets.sizes.largest_within(*room.end());
            self.create_best(age, &large).or_else(|| self.delete_best(spare))
        } else {
            self.delete_best(spare).or_else(|| self.create_best(age, room))
        }
    }

    /// Fixes the age windows, and assigns the live files to them.
    fn become_stable(&mut self) {
        self.filling = Vec::new();
        // Filling an empty file system is part of the published number.
        let files = self.targets.files();
        let total =
            self.counters.operations() + published_operations(&self.targets, files).saturating_sub(files);
        let calendar = Calendar::new(&self.targets.age, total);
        self.plan.operations = total;
        self.cells.set_ages(|file| calendar.bin_of(file.born));
        self.calendar = Some(calendar);
    }

    /// Creates a file of the size with the largest deficit among those of `allowed` blocks, at the depth with the
    /// largest deficit.
    fn create_best(&mut self, age: usize, allowed: &RangeInclusive<u64>) -> Option<Op> {
        let sizes = &self.targets.sizes;
        let fits = |bin| allowed.contains(&blocks(sizes.largest(bin)));
        let size = self.cells.size_lacking_most(&sizes.share, sizes.files(), fits)?;
        let bytes = sizes.random(size, &mut self.rng);
        let depth = self.cells.depth_lacking_most(&self.targets.depth_share, self.targets.files());
        Some(self.create(age, size, depth, bytes))
    }

    fn create(&mut self, age: usize, size: usize, depth: usize, bytes: u64) -> Op {
        let dir = self.tree.pick(self.targets.depth.depth[depth] as usize, &mut self.rng);
        let file = self.counters.create(bytes);
        let born = self.counters.operations();
        self.cells.insert(age, size, depth, LiveFile { file, dir, size: bytes, born });
        Op::Create { file, parent: dir, size: bytes, content: Content::Auto }
    }

    /// True if the age bin with the largest excess holds a file of `allowed` blocks.
    fn right_age_fits(&self, allowed: &RangeInclusive<u64>) -> bool {
        let (cells, targets) = (&self.cells, &self.targets);
        let fits = |bin| allowed.contains(&blocks(targets.sizes.largest(bin)));
        let of_any_size = cells.age_most_over(&shares(targets), |_| true);
        of_any_size == cells.age_most_over(&shares(targets), fits)
    }

    /// Deletes a random file of the bins with the largest excess, among sizes of `allowed` blocks.
    fn delete_best(&mut self, allowed: &RangeInclusive<u64>) -> Option<Op> {
        let sizes = &self.targets.sizes;
        let fits = |bin| allowed.contains(&blocks(sizes.largest(bin)));
        let file = self.cells.remove_most_over(&shares(&self.targets), fits, &mut self.rng)?;
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
