//! The extent tree of a file; its root is in the inode.

use super::checksum;
use super::inode::Inode;
use super::superblock::{Layout, u16_at, u32_at};
use snapshot::Extent;

const MAGIC: u16 = 0xf30a;
/// Size of the header of a node, and of each entry.
const ENTRY_BYTES: usize = 12;
/// The kernel's limit of the tree depth.
const MOST_DEPTH: u16 = 5;
/// Extents with a greater length are unwritten; their length is the excess.
const MOST_BLOCKS: u16 = 0x8000;

/// Number of direct blocks of an inode without an extent tree.
const DIRECT: usize = 12;

/// Fills `blocks` with the bytes at an offset of the device.
pub type ReadBlock<'r> = dyn FnMut(u64, &mut [u8]) -> Option<()> + 'r;

/// Appends the extents of a file to the empty `extents`, merging those that are adjacent in the file and on disk; `None` if the tree
/// is invalid, unsupported or being changed.
pub fn extents(
    inode: &Inode<'_>,
    layout: &Layout,
    read: &mut ReadBlock<'_>,
    extents: &mut Vec<Extent>,
) -> Option<()> {
    let mut walk = Walk { seed: inode.seed, layout, read, extents, next: 0 };
    if inode.has_extents() { walk.node(inode.map(), None) } else { walk.direct(inode.map()) }
}

struct Walk<'w, 'r> {
    seed: u32,
    layout: &'w Layout,
    read: &'w mut ReadBlock<'r>,
    extents: &'w mut Vec<Extent>,
    /// The lowest file block that the next extent may have. It only grows and no node is empty, so the walk visits no node twice and
    /// terminates.
    next: u64,
}

impl Walk<'_, '_> {
    /// Walks a node at the given depth above the leaves; the root has no expected depth.
    fn node(&mut self, node: &[u8], wanted_depth: Option<u16>) -> Option<()> {
        let (magic, count) = (u16_at(node, 0), usize::from(u16_at(node, 2)));
        let (most, depth) = (usize::from(u16_at(node, 4)), u16_at(node, 6));
        let is_sound = magic == MAGIC
            && count <= most
            && (most + 1) * ENTRY_BYTES <= node.len()
            && depth <= MOST_DEPTH
            && wanted_depth.is_none_or(|wanted| depth == wanted && count > 0);
        if !is_sound {
            return None;
        }
        for entry in node.chunks_exact(ENTRY_BYTES).skip(1).take(count) {
            match depth {
                0 => self.leaf(entry)?,
                _ => self.child(entry, depth - 1)?,
            }
        }
        Some(())
    }

    fn leaf(&mut self, entry: &[u8]) -> Option<()> {
        let len = u16_at(entry, 4);
        let len = if len > MOST_BLOCKS { len - MOST_BLOCKS } else { len };
        let physical = u64::from(u16_at(entry, 6)) << 32 | u64::from(u32_at(entry, 8));
        self.push(u32_at(entry, 0).into(), physical, len.into())
    }

    /// Walks the child node of an index entry.
    fn child(&mut self, entry: &[u8], depth: u16) -> Option<()> {
        let number = u64::from(u16_at(entry, 8)) << 32 | u64::from(u32_at(entry, 4));
        if u64::from(u32_at(entry, 0)) < self.next || number == 0 || number >= self.layout.blocks {
            return None;
        }
        let mut node = vec![0; self.layout.block_bytes as usize];
        (self.read)(number * self.layout.block_bytes, &mut node)?;
        let tail = (usize::from(u16_at(&node, 4)) + 1) * ENTRY_BYTES;
        let sum = node.get(tail..tail + 4)?;
        if checksum::update(self.seed, &node[..tail]) != u32_at(sum, 0) {
            return None;
        }
        self.node(&node, Some(depth))
    }

    /// Walks the direct block numbers of a file without an extent tree. Indirect blocks have no checksum and are not read.
    fn direct(&mut self, numbers: &[u8]) -> Option<()> {
        for (logical, number) in numbers.chunks_exact(4).enumerate() {
            match u32_at(number, 0) {
                0 => {}
                _ if logical >= DIRECT => return None,
                physical => self.push(logical as u64, physical.into(), 1)?,
            }
        }
        Some(())
    }

    /// Adds an extent, given in blocks.
    fn push(&mut self, logical: u64, physical: u64, len: u64) -> Option<()> {
        if logical < self.next || len == 0 || physical == 0 || physical + len > self.layout.blocks {
            return None;
        }
        self.next = logical + len;
        let size = self.layout.block_bytes;
        let extent = Extent { logical: logical * size, physical: physical * size, len: len * size };
        match self.extents.last_mut() {
            Some(last) if last.logical_end() == extent.logical && last.physical_end() == extent.physical => {
                last.len += extent.len;
            }
            _ => self.extents.push(extent),
        }
        Some(())
    }
}
