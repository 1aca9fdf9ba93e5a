//! Flushing: messages go into the buffers of a node, and from the heaviest one to its child, until the node fits.

use std::sync::Arc;

use super::{Bounds, Nodes, Packing, Writer};
use crate::error::Result;
use crate::node::{Entry, Key, Link, Node, Part};
use crate::run::{Kind, Run, RunBuilder, Slice, compose, union};

impl Writer<'_> {
    /// Applies messages to a whole tree.
    pub fn apply_to_root(&mut self, root: &Link, batch: &Run) -> Result<Link> {
        let root = self.open(root)?;
        let nodes = self.apply(root, &Slice::all(batch), (None, None))?;
        self.grow(nodes)
    }

    /// Builds the tree above nodes of one level.
    pub(super) fn grow(&mut self, mut nodes: Nodes) -> Result<Link> {
        loop {
            while nodes.len() > 1 {
                let level = nodes[0].1.level + 1;
                let entries = nodes.into_iter().map(|(key, node)| Entry {
                    key,
                    part: Part::Empty,
                    child: Link::Memory(Arc::new(node)),
                });
                nodes = self.divide_inner(Node { level, entries: entries.collect() }, false);
            }
            let (_, mut root) = nodes.pop().expect("a tree has a root");
            if root.level == 0 || root.entries.len() > 1 {
                return Ok(Link::Memory(Arc::new(root)));
            }
            // A root with a single child is replaced by the child.
            self.inner -= 1;
            self.flush_child(&mut root, 0, (None, None))?;
            if root.entries.len() > 1 {
                self.inner += 1;
                return Ok(Link::Memory(Arc::new(root)));
            }
            let child = self.open(&root.entries[0].child)?;
            // Counted like split nodes.
            self.inner += i64::from(child.level > 0);
            nodes = vec![(Arc::from([]), child)];
        }
    }

    /// Applies messages to a node. Returns it, or the nodes it was split into, each with its lower bound.
    fn apply(&mut self, node: Node, batch: &Slice<'_>, bounds: Bounds<'_>) -> Result<Nodes> {
        if node.level == 0 {
            return self.apply_to_leaf(&node, batch);
        }
        let mut node = self.buffer(node, batch)?;
        self.drop_deleted_children(&mut node, bounds)?;
        self.send_wide_ranges(&mut node, bounds)?;
        if node.level == 1 && self.packing == Packing::Rows {
            let fill = self.is_due(&node, bounds)? && self.flush_row(&mut node)?;
            return Ok(self.divide_inner(node, fill));
        }
        while node.weight(self.block()) > self.room() {
            let heaviest = (0..node.entries.len()).max_by_key(|i| node.entries[*i].part.weight());
            let heaviest = heaviest.expect("an inner node has children");
            if matches!(node.entries[heaviest].part, Part::Empty) {
                break;
            }
            self.flush_child(&mut node, heaviest, bounds)?;
        }
        Ok(self.divide_inner(node, false))
    }

    /// Adds messages to the buffers of their children.
    pub(super) fn buffer(&mut self, mut node: Node, batch: &Slice<'_>) -> Result<Node> {
        let mut next = batch.first;
        let keys: Vec<Key> = node.entries.iter().map(|entry| Arc::clone(&entry.key)).collect();
        for (i, entry) in node.entries.iter_mut().enumerate() {
            let lower = (i > 0).then_some(&*keys[i]);
            let news = batch.sub(next, lower, keys.get(i + 1).map(|key| &**key));
            next = news.last;
            if !news.is_empty() {
                let old = self.pager.run(&entry.part)?;
                let run = self.over(&news, &Slice::all(&old));
                self.set_buffer(entry, run);
            }
        }
        Ok(node)
    }

    /// Composes two runs.
    fn over(&self, newer: &Slice<'_>, older: &Slice<'_>) -> Run {
        let messages = newer.last - newer.first + older.last - older.first;
        let bytes = newer.run.bytes_of(newer.first, newer.last) + older.run.bytes_of(older.first, older.last);
        let mut out = RunBuilder::with_room(messages, bytes - 4 * messages);
        compose(newer, older, &mut out);
        for (from, to) in union(&newer.ranges, &older.ranges) {
            out.push_range(from, to);
        }
        out.finish(&self.pager.cache.gauge)
    }

    pub(super) fn set_buffer(&mut self, entry: &mut Entry, run: Run) {
        self.buffered -= entry.part.bytes() as i64;
        entry.part = Part::of(run);
        self.buffered += entry.part.bytes() as i64;
    }

    /// Flushes the buffer of child `i` to the child, and merges a child that became small with a neighbour.
    pub(super) fn flush_child(&mut self, node: &mut Node, i: usize, bounds: Bounds<'_>) -> Result<()> {
        let part = std::mem::replace(&mut node.entries[i].part, Part::Empty);
        self.buffered -= part.bytes() as i64;
        let run = self.pager.run(&part)?;
        drop(part);
        let child = self.open(&node.entries[i].child)?;
        // Drops the old version before the new one is built, unless a reader uses it.
        node.entries[i].child = Link::None;
        let bounds = inner_bounds(node, i, bounds);
        let children = self.apply(child, &Slice::all(&run), bounds)?;
        self.replace_child(node, i, children)
    }

    /// Replaces child `i`, and merges a child that became small with a neighbour.
    pub(super) fn replace_child(&mut self, node: &mut Node, i: usize, children: Nodes) -> Result<()> {
        let count = children.len();
        let key = Arc::clone(&node.entries[i].key);
        let mut children = children.into_iter().map(|(key, child)| Entry {
            key,
            part: Part::Empty,
            child: Link::Memory(Arc::new(child)),
        });
        let first = Entry { key, ..children.next().expect("a changed node yields at least one node") };
        node.entries.splice(i..=i, std::iter::once(first).chain(children));
        if count == 1 { self.join_small(node, i) } else { Ok(()) }
    }

    /// Drops children whose keys are all deleted by a range, without reading them or the nodes below.
    pub(super) fn drop_deleted_children(&mut self, node: &mut Node, bounds: Bounds<'_>) -> Result<()> {
        let mut i = 0;
        while i < node.entries.len() {
            if node.entries.len() > 1
                && let (lower, Some(upper)) = inner_bounds(node, i, bounds)
                && let Part::Memory(run) = &node.entries[i].part
                && run.ranges() == 1
                && run.range(0).0 <= lower.unwrap_or_default()
                && run.range(0).1 >= upper
            {
                let run = Arc::clone(run);
                let mut kept = RunBuilder::default();
                for message in (0..run.messages()).filter(|m| run.kind(*m) == Kind::Insert) {
                    kept.copy(&run, message, message + 1);
                }
                let kept = kept.finish(&self.pager.cache.gauge);
                let child = std::mem::replace(&mut node.entries[i].child, Link::None);
                self.drop_tree(&child)?;
                self.set_buffer(&mut node.entries[i], kept);
                self.remove_child(node, i)?;
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// Flushes ranges that delete a whole grandchild at once: they free more space than the flush costs.
    fn send_wide_ranges(&mut self, node: &mut Node, bounds: Bounds<'_>) -> Result<()> {
        if node.level < 2 {
            return Ok(());
        }
        for i in (0..node.entries.len()).rev() {
            let Some(entry) = node.entries.get(i) else { continue };
            let Part::Memory(run) = &entry.part else { continue };
            if run.ranges() == 0 {
                continue;
            }
            let run = Arc::clone(run);
            let own = inner_bounds(node, i, bounds);
            let child = self.pager.node(&entry.child)?;
            let wide = (0..child.entries.len()).any(|j| {
                let (lower, upper) = inner_bounds(&child, j, own);
                let lower = lower.unwrap_or_default();
                let range = run.range_above(lower);
                range < run.ranges()
                    && run.range(range).0 <= lower
                    && upper.is_some_and(|upper| run.range(range).1 >= upper)
            });
            if wide {
                self.flush_child(node, i, bounds)?;
            }
        }
        Ok(())
    }

    /// Drops all extents of a subtree, without reading leaves.
    pub(super) fn drop_tree(&mut self, link: &Link) -> Result<()> {
        let level = match link {
            Link::Disk(pointer) => {
                self.dropped.push(*pointer);
                pointer.level
            }
            Link::Memory(node) => node.level,
            Link::None => return Ok(()),
        };
        if level > 0 {
            self.inner -= 1;
            for entry in &self.pager.node(link)?.entries {
                self.buffered -= entry.part.bytes() as i64;
                self.drop_tree(&entry.child)?;
            }
        }
        Ok(())
    }

    /// Removes child `i`, which has nothing below it; a neighbour takes over its key range and buffer.
    pub(super) fn remove_child(&mut self, node: &mut Node, i: usize) -> Result<()> {
        let gone = node.entries.remove(i);
        self.buffered -= gone.part.bytes() as i64;
        let neighbour = i.saturating_sub(1);
        if i == 0 {
            node.entries[0].key = gone.key;
        }
        if !matches!(gone.part, Part::Empty) {
            let beside = self.pager.run(&node.entries[neighbour].part)?;
            let own = self.pager.run(&gone.part)?;
            let run = self.over(&Slice::all(&own), &Slice::all(&beside));
            self.set_buffer(&mut node.entries[neighbour], run);
        }
        Ok(())
    }

    /// Splits a node with too many children: into nodes of equal numbers, or with `fill`, if more keys will follow, into full ones except the last.
    pub(super) fn divide_inner(&mut self, node: Node, fill: bool) -> Nodes {
        let fanout = self.pager.layout.params.fanout as usize;
        let parts = node.entries.len().div_ceil(fanout).max(1);
        let each = if fill { fanout } else { node.entries.len().div_ceil(parts) };
        self.inner += node.entries.len().div_ceil(each) as i64;
        let mut out: Nodes = Vec::with_capacity(parts);
        for (i, mut entry) in node.entries.into_iter().enumerate() {
            if i % each == 0 {
                let key = std::mem::replace(&mut entry.key, Arc::from([]));
                out.push((key, Node { level: node.level, entries: Vec::with_capacity(each) }));
            }
            out.last_mut().expect("a node was just added").1.entries.push(entry);
        }
        out
    }
}

/// The bounds of child `i` of a node with these bounds.
pub(super) fn inner_bounds<'a>(node: &'a Node, i: usize, (lower, upper): Bounds<'a>) -> Bounds<'a> {
    let lower = if i > 0 { Some(&*node.entries[i].key) } else { lower };
    (lower, node.upper(i).or(upper))
}
