//! Checks the invariants of the format in a whole store.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::log::inspect;
use crate::node::{Link, Node, Part};
use crate::open::{read_map, ring};
use crate::pager::Pager;
use crate::params::Params;
use crate::pointer::Pointer;
use crate::run::{Kind, Run};
use crate::space::Space;
use crate::storage::Storage;
use crate::superblock::Superblock;

/// The number of problems that are listed; further ones are only counted.
const TOLD: usize = 100;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Problems, each starting with the damaged structure; empty if the store is valid.
    pub problems: Vec<String>,
    /// Number of problems that are not listed.
    pub more_problems: u64,
    /// Whether the store was closed. Otherwise the log, which this does not check, may hold writes.
    pub closed: bool,
    /// Nodes read.
    pub nodes: u64,
    /// Values in leaves.
    pub values: u64,
    /// Messages in buffers.
    pub messages: u64,
}

/// Checks the store in `storage` without changing it. No other process may have it open.
///
/// # Errors
/// If `storage` has no store that can be checked: the superblock errors of [`Store::open`](crate::Store::open).
pub fn check(storage: Arc<dyn Storage>) -> Result<CheckReport> {
    let superblock = Superblock::read(&*storage)?;
    let pager = Pager::new(storage, superblock.layout(), 16 << 20);
    let mut walk = Walk {
        pager: &pager,
        params: superblock.params,
        map: None,
        marked: Space::new(superblock.params, superblock.area),
        buffered: 0,
        inner: 0,
        found: CheckReport { closed: superblock.closed, ..CheckReport::default() },
    };
    match read_map(&pager, &superblock) {
        Ok(map) => walk.map = Some(map),
        Err(error) => walk.wrong("map", error.to_string()),
    }
    walk.mark(&superblock.map);
    walk.node(&superblock.root, (&[], None));
    if let Some(map) = &walk.map
        && walk.found.problems.is_empty()
        && !map.same(&walk.marked)
    {
        walk.wrong("map", "it does not match the extents of the tree".into());
    }
    if walk.found.problems.is_empty() && walk.buffered != superblock.buffered {
        let why =
            format!("{} bytes in buffers, but {} in the superblock", walk.buffered, superblock.buffered);
        walk.wrong("count", why);
    }
    if walk.found.problems.is_empty() && walk.inner != superblock.inner {
        let why = format!("{} inner nodes, but {} in the superblock", walk.inner, superblock.inner);
        walk.wrong("count", why);
    }
    if let Err(error) = inspect(&*pager.storage, &ring(&superblock)) {
        walk.wrong("log", error.to_string());
    }
    Ok(walk.found)
}

struct Walk<'a> {
    pager: &'a Pager,
    params: Params,
    map: Option<Space>,
    /// Space that the tree uses.
    marked: Space,
    buffered: u64,
    inner: u64,
    found: CheckReport,
}

type Bounds<'a> = (&'a [u8], Option<&'a [u8]>);

impl Walk<'_> {
    fn wrong(&mut self, what: &str, why: String) {
        if self.found.problems.len() < TOLD {
            self.found.problems.push(format!("{what}: {why}"));
        } else {
            self.found.more_problems += 1;
        }
    }

    fn mark(&mut self, pointer: &Pointer) {
        let Some(map) = &self.map else { return };
        if !self.marked.mark(pointer.at, pointer.bytes, map) {
            self.wrong(
                "map",
                format!("the extent at {} overlaps another, or is at an invalid position", pointer.at),
            );
        }
    }

    fn node(&mut self, pointer: &Pointer, bounds: Bounds<'_>) {
        self.mark(pointer);
        let node = match self.pager.whole(pointer) {
            Ok(node) => node,
            Err(error) => return self.wrong("node", error.to_string()),
        };
        self.found.nodes += 1;
        self.inner += u64::from(node.level > 0);
        let most = self.params.fanout as usize;
        if node.level > 0 && node.entries.len() > most {
            self.wrong("level", format!("the node at {} has more than {most} children", pointer.at));
        }
        for i in 0..node.entries.len() {
            self.entry(pointer.at, &node, i, bounds);
        }
    }

    fn entry(&mut self, at: u64, node: &Node, i: usize, (lower, upper): Bounds<'_>) {
        let entry = &node.entries[i];
        let own_lower = if i > 0 { &*entry.key } else { lower };
        let own_upper = node.upper(i).or(upper);
        if own_lower < lower
            || own_upper.is_some_and(|own| own <= own_lower || upper.is_some_and(|up| own > up))
        {
            self.wrong("order", format!("a key in the node at {at} is not within its bounds"));
        }
        if let Part::Memory(run) = &entry.part {
            if let Err(why) = self.run(run, node.level == 0, (own_lower, own_upper)) {
                self.wrong(why.0, format!("{} in a part of the node at {at}", why.1));
            }
            if node.level > 0 {
                self.buffered += run.bytes().len() as u64;
                self.found.messages += run.messages() as u64;
            } else {
                self.found.values += run.messages() as u64;
            }
        }
        if let Link::Disk(child) = &entry.child {
            self.node(child, (own_lower, own_upper));
        }
    }

    fn run(
        &self,
        run: &Run,
        leaf: bool,
        (lower, upper): Bounds<'_>,
    ) -> std::result::Result<(), (&'static str, &'static str)> {
        let within = |key: &[u8]| key >= lower && upper.is_none_or(|upper| key < upper);
        if run.is_empty() {
            return Err(("run", "it is empty"));
        }
        if run.messages() > 0 && !(within(run.key(0)) && within(run.key(run.messages() - 1))) {
            return Err(("order", "a message is not within the bounds"));
        }
        for i in 0..run.ranges() {
            let (from, to) = run.range(i);
            if from < lower || upper.is_some_and(|upper| to > upper) {
                return Err(("order", "a range is not within the bounds"));
            }
        }
        if leaf && run.ranges() > 0 {
            return Err(("leaf", "there is a range"));
        }
        for i in 0..run.messages() {
            let kind = run.kind(i);
            if leaf && kind != Kind::Insert {
                return Err(("leaf", "a message is not a value"));
            }
            let long = kind == Kind::Insert && run.payload(i).len() > self.params.max_value_bytes();
            if long || run.key(i).len() > self.params.max_key_bytes() {
                return Err(("leaf", "a key or value is too long"));
            }
            if kind == Kind::Patch && run.deletes(run.key(i)) {
                return Err(("run", "a patch is inside a range"));
            }
        }
        Ok(())
    }
}

impl CheckReport {
    /// Whether the check found no problem.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the first problem as an error.
    ///
    /// # Errors
    /// If the check found a problem.
    pub fn result(&self) -> Result<()> {
        match self.problems.first() {
            None => Ok(()),
            Some(first) => Err(Error::damaged("store", 0, first.clone())),
        }
    }
}
