//! Applying messages to a leaf: changed basements are rebuilt, and a leaf that becomes too long is split.

use std::sync::Arc;

use super::{Nodes, Packing, Writer};
use crate::error::Result;
use crate::memory::Gauge;
use crate::node::{Entry, Key, Link, NODE_HEAD, Node, Part, entry_bytes};
use crate::run::{Kind, Run, RunBuilder, Slice, Target, compose};

/// Builds basements from values in key order.
pub(super) struct Basements<'a> {
    most: usize,
    gauge: &'a Arc<Gauge>,
    run: RunBuilder,
    done: Vec<Entry>,
}

impl<'a> Basements<'a> {
    pub fn new(writer: &Writer<'a>) -> Self {
        let most = writer.pager.layout.params.basement_bytes as usize;
        Self { most, gauge: &writer.pager.cache.gauge, run: RunBuilder::with_room(0, most), done: Vec::new() }
    }

    /// All basements.
    pub fn finish(mut self) -> Vec<Entry> {
        self.cut();
        self.done
    }

    /// Ends the current basement.
    fn cut(&mut self) {
        if !self.run.is_empty() {
            let run = self.run.finish(self.gauge);
            self.done.push(entry(run.key(0).into(), Arc::new(run)));
        }
    }

    /// Takes a basement unchanged, unless it or the current one is too small.
    fn keep(&mut self, old: &Entry, run: &Arc<Run>) {
        let (pending, bytes) = (self.run.len(), run.bytes().len());
        if bytes < self.most / 2 {
            Target::copy(self, run, 0, run.messages());
        } else if self.run.is_empty() || pending >= self.most / 2 {
            self.cut();
            self.done.push(old.clone());
        } else if pending + bytes <= self.most {
            self.run.copy(run, 0, run.messages());
            self.cut();
        } else {
            // Two of the same length, so that the next one need not change.
            let half = (pending + bytes) / 2;
            let mut first = 0;
            while first < run.messages() && pending + run.bytes_of(0, first) < half {
                first += 1;
            }
            self.run.copy(run, 0, first);
            self.cut();
            self.run.copy(run, first, run.messages());
            self.cut();
        }
    }
}

impl Target for Basements<'_> {
    const LEAF: bool = true;

    fn push(&mut self, key: &[u8], kind: Kind, payload: &[u8]) {
        if self.run.len() + 12 + key.len() + payload.len() > self.most * 3 / 4 {
            self.cut();
        }
        self.run.push(key, kind, payload);
    }

    fn copy(&mut self, run: &Run, mut i: usize, j: usize) {
        while i < j {
            let room = (self.most * 3 / 4).saturating_sub(self.run.len());
            let mut end = j;
            if run.bytes_of(i, j) > room {
                // The most messages that fit, but at least one in an empty basement.
                let (mut low, mut high) = (i, j);
                while low < high {
                    let middle = low + (high - low).div_ceil(2);
                    if run.bytes_of(i, middle) <= room { low = middle } else { high = middle - 1 }
                }
                end = low.max(if self.run.is_empty() { i + 1 } else { i });
            }
            self.run.copy(run, i, end);
            if end < j {
                self.cut();
            }
            i = end;
        }
    }
}

fn entry(key: Key, run: Arc<Run>) -> Entry {
    Entry { key, part: Part::Memory(run), child: Link::None }
}

impl Writer<'_> {
    /// Applies messages to a leaf in memory. Returns it, or the leaves it was split into, each with its lower bound.
    pub(super) fn apply_to_leaf(&mut self, leaf: &Node, batch: &Slice<'_>) -> Result<Nodes> {
        let mut out = Basements::new(self);
        let touched = self.apply_to_basements(leaf, batch, &mut out)?;
        // Messages in one narrow key range will be followed by more there: the leaves before it stay full.
        let local = 4 * touched <= leaf.entries.len();
        Ok(self.divide(out.finish(), local))
    }

    /// Applies messages to the basements of a leaf; returns the number of changed ones.
    pub(super) fn apply_to_basements(
        &self,
        leaf: &Node,
        batch: &Slice<'_>,
        out: &mut Basements<'_>,
    ) -> Result<usize> {
        let (mut next, mut touched) = (batch.first, 0);
        if leaf.entries.is_empty() {
            let nothing = RunBuilder::default().finish(&self.pager.cache.gauge);
            compose(batch, &Slice::all(&nothing), out);
        }
        for (i, old) in leaf.entries.iter().enumerate() {
            let lower = (i > 0).then_some(&*old.key);
            let news = batch.sub(next, lower, leaf.upper(i));
            next = news.last;
            let run = self.pager.run(&old.part)?;
            if news.is_empty() {
                out.keep(old, &run);
            } else {
                touched += 1;
                compose(&news, &Slice::all(&run), out);
            }
        }
        Ok(touched)
    }

    /// Packs basements into leaves.
    pub(super) fn divide(&self, entries: Vec<Entry>, fill: bool) -> Nodes {
        let block = self.block();
        let size = |e: &Entry| entry_bytes(0) + e.key.len() + e.part.bytes().next_multiple_of(block);
        let total: usize = entries.iter().map(size).sum();
        // The header is rounded up to whole blocks as well.
        let room = self.room() - NODE_HEAD - block;
        let target = if total <= room || fill || self.packing == Packing::Tight {
            room
        } else {
            let parts = total.div_ceil(room * 15 / 16);
            (total / parts + self.pager.layout.params.basement_bytes as usize / 2).min(room)
        };
        let mut leaves: Nodes = Vec::new();
        let mut bytes = usize::MAX;
        for mut entry in entries {
            let more = size(&entry);
            if leaves.is_empty() || bytes + more > target {
                let key = std::mem::replace(&mut entry.key, Arc::from([]));
                leaves.push((key, Node::empty_leaf()));
                bytes = 0;
            }
            bytes += more;
            leaves.last_mut().expect("a leaf was just added").1.entries.push(entry);
        }
        if leaves.is_empty() {
            leaves.push((Arc::from([]), Node::empty_leaf()));
        }
        leaves
    }
}
