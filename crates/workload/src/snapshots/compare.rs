//! The changes between two successive snapshots: the operations, their times and their dependencies.

use snapshot::{Kind, ROOT, Snapshot};

use super::counts::ChangeCounts;
use super::data::{self, Update};
use super::growth::{self, Part};
use super::lifetimes::LifetimeModel;
use super::matching::{Matching, Predecessor};
use super::options::{Options, Updates};
use super::order::{Turn, order};
use super::tree::{NONE, Numbers, Tree};
use crate::random::Random;

/// The clock of the kernel's timestamps lags behind the time by up to a tick, at most 10 ms.
const TICK_NS: i64 = 10_000_000;

/// One change. `a` is a place in the earlier snapshot, `b` one in the later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Mkdir {
        b: u32,
    },
    Rmdir {
        a: u32,
    },
    /// Creates the file at `b` completely, or only its first `part`.
    Create {
        b: u32,
        part: Option<Part>,
    },
    /// Appends a part to the file that has, or will have, the name at `b`.
    Grow {
        b: u32,
        part: Part,
    },
    Delete {
        a: u32,
    },
    Rename {
        a: u32,
        b: u32,
    },
    /// Adds the name at `to` to the file that has, or will have, the name at `b`.
    Link {
        b: u32,
        to: u32,
    },
    Update {
        b: u32,
        update: Update,
    },
}

/// All changes from `a` to `b`.
pub(super) struct Plan {
    pub a: Tree,
    pub b: Tree,
    pub acts: Vec<Act>,
    pub turns: Vec<(i64, Turn)>,
    /// The time span between the snapshots, in nanoseconds since 1970.
    pub from: i64,
    pub to: i64,
    pub counts: ChangeCounts,
}

/// Plans the changes from `a` to `b`. If `from` is `None`, `a` is the state before the first snapshot.
pub(super) fn plan(
    a: Tree,
    b: Snapshot,
    from: Option<i64>,
    options: &Options,
    lifetimes: Option<&LifetimeModel>,
    numbers: &mut Numbers,
    random: &mut Random,
) -> Plan {
    let matching = Matching::of(&a.snapshot, &b);
    let to = b.info().ended_ns;
    let entries = b.entries().len();
    let mut planner = Planner {
        b: Tree { snapshot: b, numbers: vec![0; entries], born: vec![0; entries] },
        from: from.unwrap_or(i64::MIN),
        to,
        options,
        lifetimes,
        random,
        acts: Vec::new(),
        times: Vec::new(),
        frees: vec![NONE; a.snapshot.entries().len()],
        takes: vec![NONE; entries],
        waiting: Vec::new(),
        counts: ChangeCounts { by_inode_alone: matching.by_inode_alone, ..ChangeCounts::default() },
        a,
        matching,
    };
    planner.number(numbers);
    planner.files_of_b();
    planner.directories_of_b();
    planner.deletions_of_a();
    planner.finish()
}

struct Planner<'p> {
    a: Tree,
    b: Tree,
    matching: Matching,
    from: i64,
    to: i64,
    options: &'p Options,
    lifetimes: Option<&'p LifetimeModel>,
    random: &'p mut Random,
    acts: Vec<Act>,
    times: Vec<i64>,
    /// The act that frees the place of each entry of `a`, and the act that takes the place of each entry of
    /// `b`.
    frees: Vec<u32>,
    takes: Vec<u32>,
    /// Dependencies: a link waits for its source name, a part of a file for the part before it.
    waiting: Vec<(u32, u32)>,
    counts: ChangeCounts,
}

impl Planner<'_> {
    fn push(&mut self, at: i64, act: Act) -> u32 {
        let place = self.acts.len() as u32;
        self.acts.push(act);
        self.times.push(at);
        match act {
            Act::Mkdir { b } | Act::Create { b, .. } | Act::Link { to: b, .. } => {
                self.takes[b as usize] = place
            }
            Act::Rmdir { a } | Act::Delete { a } => self.frees[a as usize] = place,
            Act::Rename { a, b } => {
                self.frees[a as usize] = place;
                self.takes[b as usize] = place;
            }
            Act::Update { .. } | Act::Grow { .. } => {}
        }
        place
    }

    /// An entry that keeps its place keeps its number; all others get new ones.
    fn number(&mut self, numbers: &mut Numbers) {
        self.b.numbers[ROOT as usize] = 0;
        for place in self.b.places() {
            let kept = self.matching.kept[place as usize];
            self.b.numbers[place as usize] = if kept != NONE {
                self.a.numbers[kept as usize]
            } else if self.b.entry(place).kind == Kind::Dir {
                numbers.dir().0.into()
            } else {
                numbers.file().0
            };
        }
    }

    /// The change time of `b`, clamped to the interval between the snapshots.
    fn changed(&mut self, b: u32) -> i64 {
        let changed = self.b.entry(b).changed_ns;
        let (earliest, latest) = (self.from.saturating_sub(TICK_NS), self.to.saturating_add(TICK_NS));
        self.counts.out_of_time += u64::from(changed < earliest || changed > latest);
        changed.clamp(self.from, self.to)
    }

    fn is_between(&self, at: i64) -> bool {
        (self.from..=self.to).contains(&at)
    }

    fn is_file(&self, b: u32) -> bool {
        self.b.entry(b).kind != Kind::Dir
    }

    fn files_of_b(&mut self) {
        for b in self.b.places() {
            if !self.is_file(b) || self.matching.files_b.first[b as usize] != b {
                continue;
            }
            match self.matching.predecessor[b as usize] {
                Predecessor::File(a) => self.same_file(a, b),
                Predecessor::None => {
                    let at = self.changed(b);
                    self.counts.creates += 1;
                    self.create(b, at);
                }
                Predecessor::Replaced(a) => {
                    let at = self.changed(b);
                    self.counts.replaces += 1;
                    self.delete(a, at);
                    self.create(b, at);
                }
            }
        }
    }

    /// Creates a file under its first name and adds the other names.
    fn create(&mut self, b: u32, at: i64) {
        let entry = self.b.entry(b);
        self.b.born[b as usize] = entry.born_ns.unwrap_or(at);
        let growth = growth::of_new(self.options, (&self.b.snapshot, b), self.from, self.to);
        let mut parts = growth.iter().copied();
        let first = parts.next();
        let made = self.push(first.map_or(at, |part| part.at), Act::Create { b, part: first });
        self.grow(b, made, parts);
        let names: Vec<u32> = self.matching.files_b.names(b).skip(1).collect();
        for to in names {
            let link = self.push(at, Act::Link { b, to });
            self.waiting.push((made, link));
            self.counts.links += 1;
        }
    }

    /// Adds the parts that a file grows by, each after the previous one.
    fn grow(&mut self, b: u32, after: u32, parts: impl Iterator<Item = Part>) {
        let mut before = after;
        for part in parts {
            let next = self.push(part.at, Act::Grow { b, part });
            if before != NONE {
                self.waiting.push((before, next));
            }
            before = next;
        }
    }

    /// Deletes all names of a file.
    fn delete(&mut self, a: u32, at: i64) {
        let names: Vec<u32> = self.matching.files_a.names(a).collect();
        for a in names {
            self.push(at, Act::Delete { a });
        }
    }

    fn same_file(&mut self, a: u32, b: u32) {
        self.b.born[b as usize] = self.a.born[a as usize];
        let (matching, frees) = (&self.matching, &self.frees);
        let (kept, mut gained): (Vec<u32>, Vec<u32>) =
            matching.files_b.names(b).partition(|name| matching.kept[*name as usize] != NONE);
        let stays = |name: &u32| kept.iter().any(|b| matching.kept[*b as usize] == *name);
        let mut lost: Vec<u32> = matching.files_a.names(a).filter(|name| !stays(name)).collect();
        debug_assert!(lost.iter().all(|name| frees[*name as usize] == NONE));
        if kept.is_empty() && !self.options.renames {
            let at = self.moved_at(b);
            self.counts.deletes += 1;
            self.counts.creates += 1;
            self.delete(a, at);
            return self.create(b, at);
        }
        // The name that the file keeps, or the one that it is renamed to.
        let anchor = kept.first().or(gained.first()).copied().expect("a file has a name");
        while self.options.renames && !lost.is_empty() && !gained.is_empty() {
            let (a, b) = (lost.remove(0), gained.remove(0));
            let at = self.moved_at(b);
            self.push(at, Act::Rename { a, b });
            self.counts.renames += 1;
        }
        for to in gained {
            let at = self.moved_at(to);
            self.push(at, Act::Link { b: anchor, to });
            self.counts.links += 1;
        }
        // `deletions_of_a` determines the times.
        self.counts.unlinks += lost.len() as u64;
        if let Some(update) = data::update(self.options, (&self.a.snapshot, a), (&self.b.snapshot, b)) {
            let modified = self.b.entry(b).modified_ns;
            let is_inferred = self.options.updates == Updates::Inferred && self.is_between(modified);
            let at = if is_inferred { modified } else { self.changed(b) };
            match growth::of_appended(self.options, (&self.b.snapshot, b), update, self.from, at) {
                Some(parts) => self.grow(anchor, NONE, parts.into_iter()),
                None => drop(self.push(at, Act::Update { b: anchor, update })),
            }
            self.counts.modifies += 1;
            self.counts.appends += u64::from(matches!(update, Update::Appended { .. }));
        }
    }

    /// The time at which the file got the name at `b`: its change time; else the time at which a renamed
    /// directory above it was moved; else the time of the later snapshot.
    fn moved_at(&self, b: u32) -> i64 {
        let mut at = b;
        loop {
            let entry = self.b.entry(at);
            let changed = entry.changed_ns;
            if self.is_between(changed) {
                return changed;
            }
            at = entry.parent;
            if self.matching.kept[at as usize] != NONE {
                let modified = self.b.entry(at).modified_ns;
                return if self.is_between(modified) { modified } else { self.to };
            }
        }
    }

    /// Creates new directories when they are first needed.
    fn directories_of_b(&mut self) {
        let mut needed = vec![i64::MAX; self.b.numbers.len()];
        for b in self.b.places().rev() {
            let is_new_dir = !self.is_file(b) && self.matching.kept[b as usize] == NONE;
            if is_new_dir {
                let entry = self.b.entry(b);
                let own = entry.born_ns.filter(|born| self.is_between(*born)).unwrap_or(entry.changed_ns);
                let at = own.clamp(self.from, self.to).min(needed[b as usize]);
                self.push(at, Act::Mkdir { b });
                self.counts.mkdirs += 1;
            }
            let taken = self.takes[b as usize];
            if taken != NONE {
                let parent = &mut needed[self.b.entry(b).parent as usize];
                *parent = (*parent).min(self.times[taken as usize]);
            }
        }
    }

    /// Deletes entries without a successor, and removes directories.
    fn deletions_of_a(&mut self) {
        let latest = self.latest_times();
        // All names of a file are deleted at the same time.
        let mut drawn = vec![None; self.a.numbers.len()];
        let stay = self.kept_of_a();
        for a in self.a.places() {
            let place = a as usize;
            if self.a.entry(a).kind == Kind::Dir || stay[place] || self.frees[place] != NONE {
                continue;
            }
            let first = self.matching.files_a.first[place] as usize;
            if first == place && self.matching.became[first] == NONE {
                self.counts.deletes += 1;
            }
            let at = match drawn[first] {
                Some(at) => at,
                None => self.deleted_at(self.a.born[first], latest[place]),
            };
            drawn[first] = Some(at);
            self.push(at.min(latest[place].0), Act::Delete { a });
        }
        let mut emptied = vec![i64::MIN; self.a.numbers.len()];
        for a in self.a.places().rev() {
            let place = a as usize;
            if self.a.entry(a).kind == Kind::Dir && !stay[place] {
                let at = match emptied[place] {
                    i64::MIN => self.uniform(latest[place].0),
                    at => at.min(latest[place].0),
                };
                self.push(at, Act::Rmdir { a });
                self.counts.rmdirs += 1;
            }
            let freed = self.frees[place];
            if freed != NONE {
                let parent = &mut emptied[self.a.entry(a).parent as usize];
                *parent = (*parent).max(self.times[freed as usize]);
            }
        }
    }

    /// Whether each entry of `a` keeps its place.
    fn kept_of_a(&self) -> Vec<bool> {
        let mut kept = vec![false; self.a.numbers.len()];
        self.matching.kept.iter().filter(|a| **a != NONE).for_each(|a| kept[*a as usize] = true);
        kept
    }

    /// The latest time at which each entry of `a` was deleted, and whether another file took its name at that
    /// time.
    fn latest_times(&self) -> Vec<(i64, bool)> {
        let mut latest = vec![(self.to, false); self.a.numbers.len()];
        let stay = self.kept_of_a();
        let mut modified = vec![self.to; self.a.numbers.len()];
        for b in 0..self.b.numbers.len() as u32 {
            let slot = self.matching.slot[b as usize];
            let taken = self.takes[b as usize];
            if slot != NONE && taken != NONE {
                let both_files = self.is_file(b) && self.a.entry(slot).kind != Kind::Dir;
                latest[slot as usize] = (self.times[taken as usize], both_files);
            }
            let kept = self.matching.kept[b as usize];
            let entry = self.b.entry(b);
            if kept != NONE && self.lifetimes.is_some() && self.is_between(entry.modified_ns) {
                modified[kept as usize] = entry.modified_ns;
            }
        }
        for a in self.a.places() {
            let parent = self.a.entry(a).parent as usize;
            let within = if stay[parent] { modified[parent] } else { latest[parent].0 };
            if within < latest[a as usize].0 {
                latest[a as usize] = (within, false);
            }
        }
        latest
    }

    /// The deletion time of a file that was gone at `latest`: exactly `latest` if another file took its name,
    /// as in a replacement.
    fn deleted_at(&mut self, born: i64, (latest, has_successor): (i64, bool)) -> i64 {
        match self.lifetimes {
            _ if has_successor || latest <= self.from => latest,
            None => self.uniform(latest),
            Some(lifetimes) => {
                let born = born.min(self.from);
                let age = |at: i64| at.saturating_sub(born) as f64;
                let age = lifetimes.age_at_deletion(age(self.from), age(latest), self.random.unit());
                born.saturating_add(age as i64).clamp(self.from, latest)
            }
        }
    }

    fn uniform(&mut self, latest: i64) -> i64 {
        let span = latest.saturating_sub(self.from).max(0);
        self.from.saturating_add((self.random.unit() * span as f64) as i64).min(latest)
    }

    fn finish(mut self) -> Plan {
        let mut before = std::mem::take(&mut self.waiting);
        let mut add = |first: u32, then: u32| {
            if first != NONE && then != NONE && first != then {
                before.push((first, then));
            }
        };
        for b in self.b.places() {
            let (take, slot) = (self.takes[b as usize], self.matching.slot[b as usize]);
            add(self.takes[self.b.entry(b).parent as usize], take);
            if slot != NONE {
                add(self.frees[slot as usize], take);
            }
        }
        for a in self.a.places() {
            add(self.frees[a as usize], self.frees[self.a.entry(a).parent as usize]);
        }
        let acts = &self.acts;
        let turns =
            order(&self.times, &mut before, |place| matches!(acts[place as usize], Act::Rename { .. }));
        let Planner { a, b, acts, from, to, counts, .. } = self;
        Plan { a, b, acts, turns, from, to, counts }
    }
}
