//! Purging: flushes all messages to the leaves, step by step. Deletes free space there, and scans need not read the buffers.

use std::sync::Arc;

use super::apply::inner_bounds;
use super::{Bounds, Nodes, Packing, Writer};
use crate::error::Result;
use crate::node::{Entry, Key, Link, Node, Part};
use crate::run::{Kind, Run, RunBuilder, Slice};

/// Leaves changed per step, not counting splits.
const STEP: usize = 4;

impl Writer<'_> {
    /// The smallest key from `from` on with enough pending messages to slow a scan down, if found within the next `visits` nodes.
    pub fn next_waiting(&self, root: &Link, from: &[u8], visits: u32) -> Result<Option<Key>> {
        let noticed =
            |node: &Node, i, bounds: Bounds<'_>| Ok(self.waiting(node, i, bounds)? > self.few(node));
        self.next_where(root, from, (None, None), &mut { visits }, &noticed)
    }

    /// The smallest key from `from` on with pending deletes, if any.
    pub fn next_deleting(&self, root: &Link, from: &[u8]) -> Result<Option<Key>> {
        let deletes =
            |node: &Node, i: usize, _: Bounds<'_>| Ok(self.pager.run(&node.entries[i].part)?.has_deletes());
        self.next_where(root, from, (None, None), &mut { u32::MAX }, &deletes)
    }

    /// The smallest key from `from` on of a child whose buffer is `wanted`, within the next `visits` nodes.
    fn next_where(
        &self,
        link: &Link,
        from: &[u8],
        bounds: Bounds<'_>,
        visits: &mut u32,
        wanted: &dyn Fn(&Node, usize, Bounds<'_>) -> Result<bool>,
    ) -> Result<Option<Key>> {
        let level = match link {
            Link::Disk(pointer) => pointer.level,
            Link::Memory(node) => node.level,
            Link::None => 0,
        };
        if level == 0 || *visits == 0 {
            return Ok(None);
        }
        *visits -= 1;
        let node = self.pager.node(link)?;
        let first = node.entry_of(from);
        for (i, entry) in node.entries.iter().enumerate().skip(first) {
            let from = if i == first { from } else { &entry.key };
            if wanted(&node, i, bounds)? {
                return Ok(Some(from.into()));
            }
            let own = inner_bounds(&node, i, bounds);
            if let Some(key) = self.next_where(&entry.child, from, own, visits, wanted)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Flushes messages to some leaves, starting with the leaf of `from`. Returns the tree and the key at which to continue.
    pub fn purge(&mut self, root: &Link, from: &[u8]) -> Result<(Link, Option<Key>)> {
        let root = self.open(root)?;
        let (nodes, next) = self.purge_node(root, from, (None, None))?;
        Ok((self.grow(nodes)?, next))
    }

    /// Takes the messages that must stay out of buffers: all but deletes if `only_deletes` is set, else none.
    fn take_kept(&mut self, entries: &mut [Entry]) -> Result<Run> {
        let mut kept = RunBuilder::default();
        let parted = if self.only_deletes { entries } else { &mut [] };
        for entry in parted {
            let run = self.pager.run(&entry.part)?;
            let mut deletes = RunBuilder::default();
            for message in 0..run.messages() {
                let to = if run.kind(message) == Kind::Delete { &mut deletes } else { &mut kept };
                to.copy(&run, message, message + 1);
            }
            (0..run.ranges()).for_each(|range| {
                let (from, to) = run.range(range);
                deletes.push_range(from, to);
            });
            let deletes = deletes.finish(&self.pager.cache.gauge);
            self.set_buffer(entry, deletes);
        }
        Ok(kept.finish(&self.pager.cache.gauge))
    }

    fn purge_node(
        &mut self,
        mut node: Node,
        from: &[u8],
        bounds: Bounds<'_>,
    ) -> Result<(Nodes, Option<Key>)> {
        if node.level == 0 {
            return Ok((vec![(Arc::from([]), node)], None));
        }
        let i = node.entry_of(from);
        let mut next: Option<Key> = bounds.1.map(Key::from);
        if node.level > 1 {
            next = node.upper(i).map(Key::from).or(next);
            let own = inner_bounds(&node, i, bounds);
            let (lower, upper) = (own.0.map(Key::from), own.1.map(Key::from));
            let mut child = self.open(&node.entries[i].child)?;
            let kept = self.take_kept(&mut node.entries[i..=i])?;
            if let Part::Memory(run) = std::mem::replace(&mut node.entries[i].part, Part::Empty) {
                self.buffered -= run.bytes().len() as i64;
                child = self.buffer(child, &Slice::all(&run))?;
                self.drop_deleted_children(&mut child, (lower.as_deref(), upper.as_deref()))?;
            }
            let (children, below) = self.purge_node(child, from, (lower.as_deref(), upper.as_deref()))?;
            next = below.or(next);
            self.replace_child(&mut node, i, children)?;
            node = self.buffer(node, &Slice::all(&kept))?;
        } else if self.packing == Packing::Rows {
            let kept = self.take_kept(&mut node.entries)?;
            let fill = self.flush_row(&mut node)?;
            node = self.buffer(node, &Slice::all(&kept))?;
            return Ok((self.divide_inner(node, fill), next));
        } else {
            // From the last to the first, so that splits and merges do not move the remaining ones.
            let waiting: Vec<usize> =
                (i..node.entries.len()).filter(|j| !matches!(node.entries[*j].part, Part::Empty)).collect();
            if let Some(beyond) = waiting.get(STEP) {
                next = Some(Arc::clone(&node.entries[*beyond].key));
            }
            for j in waiting.into_iter().take(STEP).rev() {
                self.flush_child(&mut node, j, bounds)?;
            }
        }
        while node.disk_bytes(self.block()) > self.room() {
            let heaviest = (0..node.entries.len()).max_by_key(|i| node.entries[*i].part.bytes());
            self.flush_child(&mut node, heaviest.expect("an inner node has children"), bounds)?;
        }
        Ok((self.divide_inner(node, false), next))
    }
}
