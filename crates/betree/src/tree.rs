//! What the writer does to the tree: messages go down, nodes split and merge, changed nodes are written.

mod apply;
mod join;
mod leaf;
mod purge;
mod write_back;

pub(crate) use write_back::Writing;

use crate::error::Result;
use crate::node::{Link, Node};
use crate::pager::Pager;
use crate::pointer::Pointer;

/// Bounds of a node: at or above the first, below the second; `None` is without a bound.
pub(crate) type Bounds<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Levels that counters tell apart.
pub(crate) const LEVELS: usize = 16;

/// The writer's hands: changes trees and remembers what that did.
pub(crate) struct Writer<'a> {
    pub pager: &'a Pager,
    /// Extents that the changed tree does without.
    pub dropped: Vec<Pointer>,
    /// By how much the bytes in buffers of inner nodes changed.
    pub buffered: i64,
    /// Room is short: splits take as little as can be.
    pub tight: bool,
}

impl<'a> Writer<'a> {
    pub fn new(pager: &'a Pager, tight: bool) -> Self {
        Self { pager, dropped: Vec::new(), buffered: 0, tight }
    }

    /// A node to change, with all its parts in memory. What lies on the disk is dropped.
    fn open(&mut self, link: &Link) -> Result<Node> {
        match link {
            Link::Memory(node) => Ok((**node).clone()),
            Link::Disk(pointer) => {
                let node = self.pager.whole(pointer)?;
                self.dropped.push(*pointer);
                Ok(node)
            }
            Link::None => unreachable!("basements have no children"),
        }
    }

    fn block(&self) -> usize {
        self.pager.layout.params.block_bytes as usize
    }

    /// The most bytes of a node.
    fn room(&self) -> usize {
        self.pager.layout.params.node_bytes as usize
    }
}
