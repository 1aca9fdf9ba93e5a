//! Changes of the tree: messages are flushed down, nodes split and merge, changed nodes are written.

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

/// Bounds of a node: lower (included) and upper (excluded); `None` is unbounded.
pub(crate) type Bounds<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// The result of changing a node: it, or the nodes it was split into, each with its lower bound.
pub(crate) type Nodes = Vec<(Key, Node)>;

/// Number of levels with counters of their own.
pub(crate) const LEVELS: usize = 16;

/// How leaves are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// A full leaf splits into two with free space: fewest writes.
    Split,
    /// The leaves of a node are rewritten together, full: fastest scans.
    Rows,
    /// Space is short: leaves are split into as few as possible.
    Tight,
}

/// Changes trees and records the effects.
pub(crate) struct Writer<'a> {
    pub pager: &'a Pager,
    /// Extents that the changed tree does not use any more.
    pub dropped: Vec<Pointer>,
    /// Change of the bytes in buffers of inner nodes.
    pub buffered: i64,
    /// Change of the number of inner nodes.
    pub inner: i64,
    pub packing: Packing,
    /// Whether a purge of rows flushes deletes only.
    pub only_deletes: bool,
    /// Bytes of leaves rewritten in rows.
    pub made: u64,
    /// Slots that rewrites of rows which could wait may use.
    pub spare: u64,
    /// Leaves of a node are rewritten in a row once the messages above them weigh more than this fraction of the leaves.
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

    /// Reads a node with all its parts, in order to change it. Its extent is dropped, and its counters are subtracted until it is put back.
    fn open(&mut self, link: &Link) -> Result<Node> {
        let node = match link {
            Link::Memory(node) => (**node).clone(),
            Link::Disk(pointer) => {
                let node = self.pager.whole(pointer)?;
                // Changed nodes cannot be evicted, so other memory must be freed.
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

    /// The maximum bytes of a node.
    fn room(&self) -> usize {
        self.pager.layout.params.node_bytes as usize
    }
}
