//! The workload of a series of snapshots, as a source of operations.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use snapshot::{Info, ROOT, Snapshot, SnapshotBuilder};
use trace::{BATCH, Content, DirId, FileId, FileLabel, Labels, Op, Source};

use super::compare::{Act, Plan, plan};
use super::counts::Summary;
use super::data;
use super::day::{DirectoryActivity, Quota, Short, days};
use super::lifetimes::LifetimeModel;
use super::options::{Deletions, Options};
use super::order::Turn;
use super::series::{Series, load};
use super::tree::{Numbers, Tree};
use super::view::View;
use crate::Error;
use crate::live_names::LiveNames;
use crate::random::Random;

/// The operations that lead from an empty file system through all snapshots of a series. Holds two snapshots
/// and the changes between them in memory.
pub struct Extracted {
    series: Box<dyn Series>,
    options: Options,
    lifetimes: Option<LifetimeModel>,
    view: View,
    numbers: Numbers,
    labels: Arc<LiveNames>,
    quota: Option<Quota>,
    /// The number of the next snapshot.
    next: usize,
    /// The last snapshot reached.
    reached: Option<Tree>,
    active: Option<ActivePlan>,
    ops: VecDeque<Op>,
    summary: Summary,
}

/// A plan that is being executed.
struct ActivePlan {
    plan: Plan,
    /// The next turn of the plan.
    turn: usize,
    /// Current names of the files to be renamed, by the place of the new name.
    moving: HashMap<u32, (FileId, DirId)>,
    /// Lifetimes of the directories that do not exist all the time.
    lives: HashMap<DirId, Range<i64>>,
    days: std::vec::IntoIter<Range<i64>>,
    /// The end of the day whose short-lived files have been generated.
    day_end: i64,
    shorts: VecDeque<Short>,
    short_files: HashMap<u64, FileId>,
    random: Random,
}

impl Extracted {
    /// Starts a workload. Reads all snapshots in advance if lifetimes are to be fitted.
    pub fn new(series: Box<dyn Series>, options: Options) -> Result<Extracted, Error> {
        if series.count() == 0 {
            return Err(Error::Snapshots("no snapshots; name at least one".to_owned()));
        }
        if options.short_lived.as_ref().is_some_and(|short| short.bytes_per_profile == 0) {
            return Err(Error::Snapshots(
                "a profile of activity per 0 bytes is unlimited; use at least 1 byte".to_owned(),
            ));
        }
        if options.short_lived.as_ref().is_some_and(|short| short.set.profiles.is_empty()) {
            return Err(Error::Snapshots(
                "the set of short-lived files is empty; give another, or leave it out".to_owned(),
            ));
        }
        let lifetimes = match options.deletions {
            Deletions::Lifetimes => Some(LifetimeModel::fit(&*series, &options)?),
            Deletions::Uniform => None,
        };
        Ok(Extracted {
            view: View::new(&options),
            series,
            options,
            lifetimes,
            numbers: Numbers::new(),
            labels: Arc::default(),
            quota: None,
            next: 0,
            reached: None,
            active: None,
            ops: VecDeque::new(),
            summary: Summary::default(),
        })
    }

    /// Names of the files and directories that exist, and of those removed recently.
    pub fn labels(&self) -> Arc<dyn Labels> {
        self.labels.clone()
    }

    /// Statistics of the snapshot pairs given out so far; complete at the end of the operations.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Plans the changes to the next snapshot; returns false at the end of the series.
    fn next_pair(&mut self) -> Result<bool, Error> {
        if self.next == self.series.count() {
            return Ok(false);
        }
        let before = self.reached.as_ref().map(|tree| &tree.snapshot);
        let after = load(&*self.series, self.next, before)?;
        self.summary.warnings.extend(after.warnings);
        let (after, left_out) = self.view.of(after.snapshot, &self.series.name(self.next))?;
        let is_fill = self.reached.is_none();
        if let Some(short_lived) = self.options.short_lived.as_ref().filter(|_| is_fill) {
            if after.info().capacity_bytes == 0 {
                return Err(Error::Snapshots(format!(
                    "{} does not record the size of its file system, which short-lived files depend on; \
                     leave them out",
                    self.series.name(self.next)
                )));
            }
            self.quota = Some(Quota::new(after.info().capacity_bytes, short_lived));
        }
        let from = self.reached.as_ref().map(|tree| tree.snapshot.info().begun_ns);
        let reached = self.reached.take().unwrap_or_else(|| empty_like(&after));
        let stream = self.next as u64;
        let mut random = Random::new(self.options.seed, stream);
        let lifetimes = self.lifetimes.as_ref();
        let mut plan = plan(reached, after, from, &self.options, lifetimes, &mut self.numbers, &mut random);
        plan.counts.left_out = left_out;
        let counts = plan.counts;
        match is_fill {
            true => self.summary.fill = counts,
            false => self.summary.pairs.push(counts),
        }
        self.active = Some(ActivePlan::new(plan, is_fill || self.quota.is_none(), random));
        self.next += 1;
        Ok(true)
    }

    /// Gives out the next operations; returns false if there are none left.
    fn advance(&mut self) -> Result<bool, Error> {
        let Some(active) = &mut self.active else { return self.next_pair() };
        if let (Some(quota), Some(short_lived)) = (&mut self.quota, &self.options.short_lived)
            && active.needs_day()
            && let Some(day) = active.days.next()
        {
            let profiles = quota.next(&day);
            let files = active.begin_day(day, profiles, &short_lived.set.profiles);
            if let Some(counts) = self.summary.pairs.last_mut() {
                counts.short_lived += files;
            }
            return Ok(true);
        }
        let mut maker = Maker { numbers: &mut self.numbers, labels: &self.labels, ops: &mut self.ops };
        if active.step(&self.options, &mut maker) {
            return Ok(true);
        }
        self.ops.push_back(Op::Checkpoint { number: self.next as u64 - 1 });
        self.reached = self.active.take().map(|active| active.plan.b);
        Ok(true)
    }
}

impl Source for Extracted {
    fn next_batch(&mut self, batch: &mut Vec<Op>) -> Result<(), trace::Error> {
        batch.clear();
        while self.ops.len() < BATCH
            && self.advance().map_err(|error| trace::Error::Source(error.to_string()))?
        {}
        let count = self.ops.len().min(BATCH);
        batch.extend(self.ops.drain(..count));
        self.labels.give_out(batch);
        Ok(())
    }
}

/// The state before the first snapshot: its root directory.
fn empty_like(snapshot: &Snapshot) -> Tree {
    let root = snapshot.entries()[ROOT as usize].clone();
    let snapshot = SnapshotBuilder::new(Info::default(), root).finish();
    Tree { snapshot, numbers: vec![0], born: vec![0] }
}

/// Creates operations, and records the labels of the files they create.
struct Maker<'m> {
    numbers: &'m mut Numbers,
    labels: &'m LiveNames,
    ops: &'m mut VecDeque<Op>,
}

impl Maker<'_> {
    fn name(&self, file: FileId, name: &[u8]) {
        self.labels.insert_file(file, FileLabel { name: name.to_vec(), executable: false, blob: None });
    }

    /// Labels the name at `b` of the later snapshot.
    fn new_name(&self, tree: &Tree, b: u32) -> (FileId, DirId) {
        let (file, dir) = tree.file(b);
        self.name(file, tree.snapshot.name(b));
        (file, dir)
    }
}

impl ActivePlan {
    fn new(plan: Plan, without_short_lived: bool, random: Random) -> ActivePlan {
        let moving = plan.acts.iter().filter_map(|act| match act {
            Act::Rename { a, b } => Some((*b, plan.a.file(*a))),
            _ => None,
        });
        let mut active = ActivePlan {
            turn: 0,
            moving: moving.collect(),
            lives: HashMap::new(),
            days: Vec::new().into_iter(),
            day_end: i64::MAX,
            shorts: VecDeque::new(),
            short_files: HashMap::new(),
            random,
            plan,
        };
        if !without_short_lived {
            active.days = days(active.plan.from, active.plan.to).into_iter();
            active.day_end = i64::MIN;
            active.lives = active.lives();
        }
        active
    }

    /// The time from just after each directory's creation to just before its removal.
    fn lives(&self) -> HashMap<DirId, Range<i64>> {
        let mut lives = HashMap::new();
        for (at, turn) in &self.plan.turns {
            let Turn::Do(act) = turn else { continue };
            match self.plan.acts[*act as usize] {
                Act::Mkdir { b } => drop(lives.insert(self.plan.b.dir(b), at + 1..i64::MAX)),
                Act::Rmdir { a } => drop(lives.insert(self.plan.a.dir(a), i64::MIN..*at)),
                _ => {}
            }
        }
        lives
    }

    /// Whether all operations up to the end of the current day are given out.
    fn needs_day(&self) -> bool {
        let next = self.plan.turns.get(self.turn).map(|(at, _)| *at);
        self.shorts.is_empty() && next.is_none_or(|at| at >= self.day_end)
    }

    /// Adds the short-lived files of a day; returns their number.
    fn begin_day(
        &mut self,
        day: Range<i64>,
        profiles: usize,
        set: &[snapshot::activity::ActivityProfile],
    ) -> u64 {
        self.day_end = day.end;
        let mut busy = DirectoryActivity::new(day.clone());
        let today = self.plan.turns[self.turn..].iter().take_while(|(at, _)| *at < day.end);
        for (at, turn) in today {
            let (Turn::Do(act) | Turn::Aside(act)) = turn;
            if let Some(dir) = self.directory_of(self.plan.acts[*act as usize]) {
                busy.count(*at, dir);
            }
        }
        let life = |dir| self.lives.get(&dir).cloned().unwrap_or(i64::MIN..i64::MAX);
        self.shorts = busy.short_lived(profiles, set, life, &mut self.random).into();
        self.short_files.clear();
        self.shorts.len() as u64 / 2
    }

    /// The directory that an act changes.
    fn directory_of(&self, act: Act) -> Option<DirId> {
        match act {
            Act::Create { b, .. }
            | Act::Grow { b, .. }
            | Act::Update { b, .. }
            | Act::Link { to: b, .. }
            | Act::Rename { b, .. } => Some(self.plan.b.file(b).1),
            Act::Delete { a } => Some(self.plan.a.file(a).1),
            Act::Mkdir { .. } | Act::Rmdir { .. } => None,
        }
    }

    /// Gives out the next step; returns false at the end of the plan.
    fn step(&mut self, options: &Options, maker: &mut Maker<'_>) -> bool {
        let next = self.plan.turns.get(self.turn).copied();
        if let Some(short) = self.shorts.front().copied()
            && next.is_none_or(|(at, _)| short.at < at)
        {
            self.shorts.pop_front();
            self.short(short, maker);
            return true;
        }
        let Some((_, turn)) = next else { return false };
        self.turn += 1;
        match turn {
            Turn::Do(act) => self.act(self.plan.acts[act as usize], options, maker),
            Turn::Aside(act) => self.aside(self.plan.acts[act as usize], maker),
        }
        true
    }

    fn short(&mut self, short: Short, maker: &mut Maker<'_>) {
        let Short { dir: parent, size, .. } = short;
        if let Some(size) = size {
            let file = maker.numbers.file();
            maker.name(file, format!(".senesce-short-{:x}", file.0).as_bytes());
            self.short_files.insert(short.file, file);
            maker.ops.push_back(Op::Create { file, parent, size, content: Content::Auto });
        } else if let Some(file) = self.short_files.remove(&short.file) {
            maker.ops.push_back(Op::Delete { file, parent });
        }
    }

    fn act(&mut self, act: Act, options: &Options, maker: &mut Maker<'_>) {
        let Plan { a: tree_a, b: tree_b, .. } = &self.plan;
        let now_at = |b: u32| self.moving.get(&b).copied().unwrap_or_else(|| tree_b.file(b));
        match act {
            Act::Mkdir { b } => {
                let (dir, parent) = (tree_b.dir(b), tree_b.file(b).1);
                maker.labels.insert_dir(dir, tree_b.snapshot.name(b));
                maker.ops.push_back(Op::Mkdir { dir, parent });
            }
            Act::Rmdir { a } => {
                maker.ops.push_back(Op::Rmdir { dir: tree_a.dir(a), parent: tree_a.file(a).1 });
            }
            Act::Create { b, part } => {
                let name = maker.new_name(tree_b, b);
                match part {
                    Some(part) => data::begin(name, part.len, maker.ops),
                    None => data::create(options, &tree_b.snapshot, b, name, maker.ops),
                }
            }
            Act::Grow { b, part } => {
                let (file, parent) = now_at(b);
                maker.ops.push_back(Op::Append { file, parent, len: part.len });
            }
            Act::Delete { a } => {
                let (file, parent) = tree_a.file(a);
                maker.ops.push_back(Op::Delete { file, parent });
            }
            Act::Rename { b, .. } => {
                let (file, parent) = now_at(b);
                let (to_file, to_parent) = maker.new_name(tree_b, b);
                maker.ops.push_back(Op::Rename { file, parent, to_file, to_parent });
                self.moving.remove(&b);
            }
            Act::Link { b, to } => {
                let (file, parent) = now_at(b);
                let (to_file, to_parent) = maker.new_name(tree_b, to);
                maker.ops.push_back(Op::Link { file, parent, to_file, to_parent });
            }
            Act::Update { b, update } => {
                data::change(options, (&tree_a.snapshot, &tree_b.snapshot), b, update, now_at(b), maker.ops);
            }
        }
    }

    /// Moves a file aside, into the root, because its name is needed by the act that frees its new name.
    fn aside(&mut self, act: Act, maker: &mut Maker<'_>) {
        let Act::Rename { b, .. } = act else { unreachable!("only renames move aside") };
        let (file, parent) = self.moving[&b];
        let to_file = maker.numbers.file();
        maker.name(to_file, format!(".senesce-aside-{:x}", to_file.0).as_bytes());
        maker.ops.push_back(Op::Rename { file, parent, to_file, to_parent: trace::ROOT });
        self.moving.insert(b, (to_file, trace::ROOT));
    }
}
