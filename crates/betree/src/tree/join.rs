//! Merging of small children with a neighbour.

use std::sync::Arc;

use super::{Packing, Writer};
use crate::error::Result;
use crate::node::{Link, NODE_HEAD, Node, Part};

impl Writer<'_> {
    /// Merges child `i`, which is in memory, with a neighbour if it is small and both fit into one node.
    pub(super) fn join_small(&mut self, node: &mut Node, i: usize) -> Result<()> {
        let Link::Memory(child) = &node.entries[i].child else { return Ok(()) };
        if node.entries.len() == 1 {
            return Ok(());
        }
        if is_void(child) {
            let gone = std::mem::replace(&mut node.entries[i].child, Link::None);
            self.drop_tree(&gone)?;
            return self.remove_child(node, i);
        }
        if child.level == 1 && self.packing == Packing::Rows {
            return self.join_rows(node, i);
        }
        let (bytes, count) = (child.disk_bytes(self.block()), child.entries.len());
        let fanout = self.pager.layout.params.fanout as usize;
        let small = if child.level == 0 { 4 * bytes <= self.room() } else { 4 * count <= fanout };
        if !small {
            return Ok(());
        }
        for left in [Some(i), i.checked_sub(1)].into_iter().flatten() {
            if left + 1 < node.entries.len() {
                let other = if left == i { i + 1 } else { left };
                if self.fits(&node.entries[other].child, bytes, count)? {
                    return self.join(node, left);
                }
            }
        }
        Ok(())
    }

    /// Merges child `i`, a node above leaves, with a neighbour, and rewrites the leaves of both in one row, if they leave room for more: so the
    /// last leaf of a row, which is half empty on average, stays a small part of it, and a scan seldom goes from row to row.
    fn join_rows(&mut self, node: &mut Node, i: usize) -> Result<()> {
        let fanout = u64::from(self.pager.layout.params.fanout);
        // Of a whole row. It fills up and splits only after as many inserts as its rewriting costs.
        let most = (fanout as usize - 1) * self.room() / 8 * 7;
        let own = self.row_bytes(&node.entries[i].child)?;
        if 3 * own > 2 * most || self.spare < 2 * (fanout + 2) {
            return Ok(());
        }
        for left in [Some(i), i.checked_sub(1)].into_iter().flatten() {
            if left + 1 < node.entries.len() {
                let other = if left == i { i + 1 } else { left };
                if own + self.row_bytes(&node.entries[other].child)? <= most {
                    self.spare -= fanout + 2;
                    return self.join(node, left);
                }
            }
        }
        Ok(())
    }

    /// Whether a child can take `bytes` with `count` entries and still have free space.
    fn fits(&self, link: &Link, bytes: usize, count: usize) -> Result<bool> {
        let other = match link {
            Link::Disk(pointer) if pointer.level == 0 => pointer.bytes as usize,
            _ => self.pager.node(link)?.disk_bytes(self.block()),
        };
        if 4 * (bytes + other) > 3 * self.room() {
            return Ok(false);
        }
        let node = self.pager.node(link)?;
        let most = self.pager.layout.params.fanout as usize;
        Ok(node.level == 0 || 4 * (node.entries.len() + count) <= 3 * most)
    }

    /// Merges children `left` and `left + 1`.
    fn join(&mut self, node: &mut Node, left: usize) -> Result<()> {
        let mut first = self.open(&node.entries[left].child)?;
        let second = self.open(&node.entries[left + 1].child)?;
        let mut entries = second.entries;
        if let Some(entry) = entries.first_mut() {
            entry.key = Arc::clone(&node.entries[left + 1].key);
        }
        first.entries.extend(entries);
        if let Some(entry) = first.entries.first_mut() {
            entry.key = Arc::from([]);
        }
        if first.level == 1 && self.packing == Packing::Rows {
            self.rewrite_row(&mut first, 0)?;
        }
        self.inner += i64::from(first.level > 0);
        node.entries[left].child = Link::Memory(Arc::new(first));
        self.remove_child(node, left + 1)
    }
}

/// Whether a subtree is empty: an empty leaf, below any number of single children.
fn is_void(node: &Node) -> bool {
    match &node.entries[..] {
        [] => true,
        [only] => {
            matches!(only.part, Part::Empty)
                && match &only.child {
                    Link::Memory(child) => is_void(child),
                    Link::Disk(pointer) => pointer.level == 0 && pointer.header as usize == NODE_HEAD,
                    Link::None => false,
                }
        }
        _ => false,
    }
}
