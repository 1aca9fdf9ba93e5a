//! What the writer does to the tree: messages go down, nodes split and merge, changed nodes are written.

mod apply;
mod join;
mod leaf;
mod purge;
mod row;
mod write_back;

pub(crate) use write_back::Writing;

use crate::error::Result;
use crate::node::{Key, Link, Node};
use crate::pager::Pager;
use crate::pointer::Pointer;

/// Bounds of a node: at or above the first, below the second; `None` is without a bound.
pub(crate) type Bounds<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// What became of a node: it, or those that it was divided into, each with the key where it begins.
pub(crate) type Nodes = Vec<(Key, Node)>;

/// Levels that counters tell apart.
pub(crate) const LEVELS: usize = 16;

/// How leaves are made of what does not fit into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// A full leaf becomes two that can take more: the least is written.
    Split,
    /// The leaves of a node are made anew together, full: scans read the least.
    Rows,
    /// Room is short: leaves are divided into as few as can be.
    Tight,
}

/// The writer's hands: changes trees and remembers what that did.
pub(crate) struct Writer<'a> {
    pub pager: &'a Pager,
    /// Extents that the changed tree does without.
    pub dropped: Vec<Pointer>,
    /// By how much the bytes in buffers of inner nodes changed.
    pub buffered: i64,
    /// By how much the number of inner nodes changed.
    pub inner: i64,
    pub packing: Packing,
    /// Whether a purge of rows sends deletes down alone.
    pub only_deletes: bool,
    /// Bytes of leaves that were made anew in rows.
    pub made: u64,
    /// Slots that rows of leaves may take which could also be made later.
    pub spare: u64,
    /// The part of the leaves of a node that messages above them may weigh before the leaves are made anew in a row.
    pub share: usize,
}

impl<'a> Writer<'a> {
    pub fn new(pager: &'a Pager, packing: Packing) -> Self {
        Self {
            pager,
            dropped: Vec::new(),
            buffered: 0,
            inner: 0,
            packing,
            only_deletes: false,
            made: 0,
            spare: 0,
            share: 1,
        }
    }

    /// A node to change, with all its parts in memory. What lies on the disk is dropped; it counts again when it is done.
    fn open(&mut self, link: &Link) -> Result<Node> {
        let node = match link {
            Link::Memory(node) => (**node).clone(),
            Link::Disk(pointer) => {
                let node = self.pager.whole(pointer)?;
                // It is in memory for good, so something else must go.
                self.pager.cache.make_room();
                self.dropped.push(*pointer);
                node
            }
            Link::None => unreachable!("basements have no children"),
        };
        self.inner -= i64::from(node.level > 0);
        Ok(node)
    }

    fn block(&self) -> usize {
        self.pager.layout.params.block_bytes as usize
    }

    /// The most bytes of a node.
    fn room(&self) -> usize {
        self.pager.layout.params.node_bytes as usize
    }
}
