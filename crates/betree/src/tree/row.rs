//! The leaves of a node are made anew together: full, so that a key lies as if all had been written in order, and at the same time, so
//! that there is a row of slots for them.
//!
//! What a scan reads too much, or seeks, is bounded by this whatever happened to the keys: messages that wait weigh at most
//! a third of what lies below them, or a tenth where room is short, and the leaves of a node lie in one row, where free space has one.

use std::sync::Arc;

use super::apply::inner_bounds;
use super::leaf::Basements;
use super::{Bounds, Nodes, Writer};
use crate::error::Result;
use crate::node::{Entry, Link, Node, Part};
use crate::run::{Run, Slice};

/// Messages that wait are noticed by a scan from this part of what lies below them.
const NOTICED: usize = 256;

impl Writer<'_> {
    /// Whether the messages in a node above leaves go down to them now: they must if the node is too large, and should if they weigh much,
    /// unless a checkpoint has to free slots first.
    pub(super) fn is_due(&mut self, node: &Node, bounds: Bounds<'_>) -> Result<bool> {
        let slots = node.entries.len() as u64 + 2;
        let due = node.disk_bytes(self.block()) > self.room()
            || (self.spare >= 2 * slots && self.is_heavy(node, bounds)?);
        if due {
            self.spare = self.spare.saturating_sub(slots);
        }
        Ok(due)
    }

    fn is_heavy(&self, node: &Node, bounds: Bounds<'_>) -> Result<bool> {
        let mut waiting = 0;
        for i in 0..node.entries.len() {
            waiting += self.waiting(node, i, bounds)?;
        }
        let below: usize = node.entries.iter().map(|entry| self.leaf_bytes(&entry.child)).sum();
        Ok(waiting > (below / self.share).clamp(self.room() / 32, 2 * self.room()))
    }

    /// What messages weigh that wait for child `i`: their bytes, and those below them that they delete.
    pub(super) fn waiting(&self, node: &Node, i: usize, bounds: Bounds<'_>) -> Result<usize> {
        let entry = &node.entries[i];
        if matches!(entry.part, Part::Empty) {
            return Ok(0);
        }
        let run = self.pager.run(&entry.part)?;
        Ok(run.bytes().len()
            + run.freed()
            + self.deleted_by_ranges(&entry.child, &run, inner_bounds(node, i, bounds))?)
    }

    /// Bytes of basements, and of children, of whose keys a range of `run` deletes all. A range is a few bytes, and may hide a large file.
    fn deleted_by_ranges(&self, link: &Link, run: &Run, bounds: Bounds<'_>) -> Result<usize> {
        if run.ranges() == 0 {
            return Ok(0);
        }
        let node = self.pager.node(link)?;
        let mut bytes = 0;
        for (i, entry) in node.entries.iter().enumerate() {
            let own = inner_bounds(&node, i, bounds);
            let lower = own.0.unwrap_or_default();
            let first = run.range_above(lower);
            if first == run.ranges() || own.1.is_some_and(|upper| run.range(first).0 >= upper) {
                continue;
            }
            let covers =
                run.range(first).0 <= lower && own.1.is_some_and(|upper| run.range(first).1 >= upper);
            bytes += match (node.level, covers) {
                (0, true) => entry.part.bytes(),
                (0, false) => 0,
                (1, true) => self.leaf_bytes(&entry.child),
                (_, true) => self.room(),
                (_, false) => self.deleted_by_ranges(&entry.child, run, own)?,
            };
        }
        Ok(bytes)
    }

    /// Sends all messages of a node down to its leaves, which are all made anew: where one that is on the disk lies, its next version cannot.
    /// Tells whether the last leaf alone changed, as where keys come in order.
    pub(super) fn flush_row(&mut self, node: &mut Node) -> Result<bool> {
        let Some(touched) = node.entries.iter().position(|entry| !matches!(entry.part, Part::Empty)) else {
            return Ok(false);
        };
        let at_end = touched > 0 && touched + 1 == node.entries.len();
        // What is not on the disk yet will be written in a row anyhow.
        let in_memory = |entry: &Entry| matches!(entry.child, Link::Memory(_));
        let first = if node.entries[..touched].iter().all(in_memory) { touched } else { 0 };
        let key = Arc::clone(&node.entries[first].key);
        let mut out = Basements::new(self);
        for i in first..node.entries.len() {
            let entry = &mut node.entries[i];
            let part = std::mem::replace(&mut entry.part, Part::Empty);
            // The old leaf goes before the next one is read, if nobody else sees it.
            let link = std::mem::replace(&mut entry.child, Link::None);
            self.buffered -= part.bytes() as i64;
            let run = self.pager.run(&part)?;
            let mut leaf = self.open(&link)?;
            drop(link);
            if let Some(basement) = leaf.entries.first_mut() {
                basement.key = Arc::clone(&entry.key);
            }
            self.apply_to_basements(&leaf, &Slice::all(&run), &mut out)?;
        }
        let basements = out.finish();
        node.entries.truncate(first);
        if !basements.is_empty() || first == 0 {
            let mut leaves = self.divide(basements, true);
            self.even_out_the_last(&mut leaves);
            leaves[0].0 = key;
            self.made += leaves.iter().map(|(_, leaf)| leaf.disk_bytes(self.block()) as u64).sum::<u64>();
            let entries = leaves.into_iter().map(|(key, leaf)| Entry {
                key,
                part: Part::Empty,
                child: Link::Memory(Arc::new(leaf)),
            });
            node.entries.extend(entries);
        }
        Ok(at_end)
    }

    /// What may wait for a child of a node without being noticed beside what is below it.
    pub(super) fn few(&self, node: &Node) -> usize {
        let below = if node.level == 1 {
            node.entries.iter().map(|entry| self.leaf_bytes(&entry.child)).sum()
        } else {
            self.room() * node.entries.len()
        };
        below / node.entries.len().max(1) / NOTICED
    }

    fn leaf_bytes(&self, link: &Link) -> usize {
        match link {
            Link::Disk(pointer) => pointer.bytes as usize,
            Link::Memory(leaf) => leaf.disk_bytes(self.block()),
            Link::None => 0,
        }
    }

    /// A last leaf that would share a slot with others, apart from its row, takes some from the one before it.
    fn even_out_the_last(&self, leaves: &mut Nodes) {
        let least = self.room() / 4;
        let [.., (_, before), (key, last)] = &mut leaves[..] else { return };
        let mut bytes = last.disk_bytes(self.block());
        while bytes <= least && before.entries.len() > 1 {
            let mut basement = before.entries.pop().expect("there are two at least");
            bytes += basement.part.bytes().next_multiple_of(self.block());
            if let Some(first) = last.entries.first_mut() {
                first.key = Arc::clone(key);
            }
            *key = std::mem::replace(&mut basement.key, Arc::from([]));
            last.entries.insert(0, basement);
        }
    }
}
