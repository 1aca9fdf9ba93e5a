//! Rewriting the leaves of a node together, as a row: full, so that keys are placed as if they had been written in order, and at once, so that a run
//! of slots can be allocated for them.
//!
//! This bounds the extra reads and seeks of a scan regardless of the history: pending messages weigh at most a third of the data below them,
//! or a tenth if space is short, and the leaves of a node are in one run of slots if free space has one.

use std::sync::Arc;

use super::apply::inner_bounds;
use super::leaf::Basements;
use super::{Bounds, Nodes, Writer};
use crate::error::Result;
use crate::node::{Entry, Link, Node, Part};
use crate::run::{Run, Slice};

/// Pending messages slow a scan down noticeably from this fraction of the data below them on.
const NOTICED: usize = 256;

impl Writer<'_> {
    /// Whether to flush the messages of a node above leaves now: required if the node is too large, desired if they weigh much,
    /// unless a checkpoint must free slots first.
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

    /// The weight of the pending messages for child `i`: their bytes, and the bytes below that they delete.
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

    /// Bytes of basements and children whose keys are all deleted by a range of `run`. A range has few bytes, but may cover a large file.
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

    /// Flushes all messages of a node to its leaves and rewrites all leaves, since the extent of an old leaf is not available for its next version.
    /// Returns whether only the last leaf changed, as with inserts in key order.
    pub(super) fn flush_row(&mut self, node: &mut Node) -> Result<bool> {
        let Some(touched) = node.entries.iter().position(|entry| !matches!(entry.part, Part::Empty)) else {
            return Ok(false);
        };
        let at_end = touched > 0 && touched + 1 == node.entries.len();
        // Leaves that are not on the disk yet will be written in a row anyway.
        let in_memory = |entry: &Entry| matches!(entry.child, Link::Memory(_));
        let first = if node.entries[..touched].iter().all(in_memory) { touched } else { 0 };
        self.rewrite_row(node, first)?;
        Ok(at_end)
    }

    /// Rewrites the leaves of a node from child `first` on, with their messages.
    pub(super) fn rewrite_row(&mut self, node: &mut Node, first: usize) -> Result<()> {
        let key = Arc::clone(&node.entries[first].key);
        let mut out = Basements::new(self);
        for i in first..node.entries.len() {
            let entry = &mut node.entries[i];
            let part = std::mem::replace(&mut entry.part, Part::Empty);
            // Drops the old leaf before the next one is read, unless a reader uses it.
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
            self.balance_last_leaf(&mut leaves);
            leaves[0].0 = key;
            self.made += leaves.iter().map(|(_, leaf)| leaf.disk_bytes(self.block()) as u64).sum::<u64>();
            let entries = leaves.into_iter().map(|(key, leaf)| Entry {
                key,
                part: Part::Empty,
                child: Link::Memory(Arc::new(leaf)),
            });
            node.entries.extend(entries);
        }
        Ok(())
    }

    /// Bytes of pending messages for a child that do not noticeably slow a scan of the data below it.
    pub(super) fn few(&self, node: &Node) -> usize {
        let below = if node.level == 1 {
            node.entries.iter().map(|entry| self.leaf_bytes(&entry.child)).sum()
        } else {
            self.room() * node.entries.len()
        };
        below / node.entries.len().max(1) / NOTICED
    }

    /// Bytes of the leaves of a node above leaves, and of its messages.
    pub(super) fn row_bytes(&self, link: &Link) -> Result<usize> {
        let node = self.pager.node(link)?;
        Ok(node.entries.iter().map(|entry| self.leaf_bytes(&entry.child) + entry.part.bytes()).sum())
    }

    fn leaf_bytes(&self, link: &Link) -> usize {
        match link {
            Link::Disk(pointer) => pointer.bytes as usize,
            Link::Memory(leaf) => leaf.disk_bytes(self.block()),
            Link::None => 0,
        }
    }

    /// Moves basements from the leaf before the last one to the last, if that would share a slot with small extents, apart from its row.
    fn balance_last_leaf(&self, leaves: &mut Nodes) {
        let least = self.room() / 4;
        let [.., (_, before), (key, last)] = &mut leaves[..] else { return };
        let mut bytes = last.disk_bytes(self.block());
        while bytes <= least && before.entries.len() > 1 {
            let mut basement = before.entries.pop().expect("the leaf has at least two basements");
            bytes += basement.part.bytes().next_multiple_of(self.block());
            if let Some(first) = last.entries.first_mut() {
                first.key = Arc::clone(key);
            }
            *key = std::mem::replace(&mut basement.key, Arc::from([]));
            last.entries.insert(0, basement);
        }
    }
}
