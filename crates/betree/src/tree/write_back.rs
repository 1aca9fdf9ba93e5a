//! Writing changed nodes: children before parents, the leaves of a node in a row.

use std::sync::Arc;

use super::{LEVELS, Writer};
use crate::error::{Error, Result};
use crate::node::{Link, Node};
use crate::pointer::Pointer;
use crate::space::Space;

/// The target of written nodes, and their counters.
pub(crate) struct Writing<'a> {
    pub space: &'a mut Space,
    pub next_birth: &'a mut u64,
    /// Bytes of nodes written, by level.
    pub written: &'a mut [u64; LEVELS],
    /// Nodes up to this level are written,
    pub up_to: u8,
    /// of inner nodes at most this many bytes.
    pub inner_bytes: u64,
    /// The address behind the previous leaf in key order.
    pub hint: u64,
}

impl Writer<'_> {
    /// Writes the changed nodes of a tree.
    ///
    /// # Errors
    /// If a write fails or the disk is full. The tree is still complete then, partly on the disk.
    pub fn write_back(&self, link: &mut Link, to: &mut Writing<'_>) -> Result<()> {
        let node = match link {
            Link::Disk(pointer) => {
                if pointer.level == 0 {
                    self.pass(*pointer, to);
                }
                return Ok(());
            }
            Link::Memory(node) => node,
            Link::None => return Ok(()),
        };
        let level = node.level;
        if level > 0 {
            // A reader that holds this version keeps its own copy.
            let node = Arc::make_mut(node);
            let mut unchanged = None;
            for i in 0..node.entries.len() {
                if level == 1 {
                    self.place_row(node, i, to);
                } else if let Link::Disk(pointer) = node.entries[i].child {
                    unchanged = Some(pointer);
                } else if let Some(before) = unchanged.take() {
                    self.follow(before, to)?;
                }
                self.write_back(&mut node.entries[i].child, to)?;
            }
        }
        let whole = |node: &Node| !node.entries.iter().any(|entry| matches!(entry.child, Link::Memory(_)));
        if level == 0 || (level <= to.up_to && to.inner_bytes > 0 && whole(node)) {
            let bytes = node.disk_bytes(self.block()) as u64;
            if level > 0 {
                to.inner_bytes = to.inner_bytes.saturating_sub(bytes);
            }
            let at = if level == 0 { to.space.take(bytes, to.hint) } else { to.space.take_last(bytes) };
            let at = at.ok_or(Error::NoSpace { bytes })?;
            let pointer = self.pager.write(node, at, *to.next_birth)?;
            *to.next_birth += 1;
            to.written[usize::from(level).min(LEVELS - 1)] += bytes;
            if level == 0 {
                self.pass(pointer, to);
            }
            *link = Link::Disk(pointer);
        }
        Ok(())
    }

    /// Sets the hint behind the last leaf of a subtree that is unchanged on the disk.
    fn follow(&self, mut subtree: Pointer, to: &mut Writing<'_>) -> Result<()> {
        while subtree.level > 0 {
            let node = self.pager.header(&subtree)?;
            let Some(Link::Disk(last)) = node.entries.last().map(|entry| &entry.child) else { return Ok(()) };
            subtree = *last;
        }
        self.pass(subtree, to);
        Ok(())
    }

    /// Sets the hint behind this leaf.
    fn pass(&self, leaf: Pointer, to: &mut Writing<'_>) {
        if to.space.is_large(u64::from(leaf.bytes)) {
            to.hint = leaf.at + self.room() as u64;
        }
    }

    /// Finds a run of free slots for consecutive changed leaves that start at `i`.
    fn place_row(&self, node: &Node, i: usize, to: &mut Writing<'_>) {
        let changed = |i: usize| matches!(node.entries[i].child, Link::Memory(_));
        if !changed(i) {
            return;
        }
        let row = node.entries[i..].iter().map_while(|entry| match &entry.child {
            Link::Memory(leaf) => Some(to.space.is_large(leaf.disk_bytes(self.block()) as u64)),
            _ => None,
        });
        let slots = row.filter(|large| *large).count() as u64;
        if slots > 1
            && let Some(at) = to.space.row(slots, to.hint)
        {
            to.hint = at;
        }
    }
}
