//! The configuration of a simulated file system, as far as files show it.

use crate::allocator::Allocator;
use crate::layout::{Extent, Layout};
use crate::volume::Volume;

/// Size of the file whose first change of group is looked at: more than a group of any simulated file system holds.
const PROBE_BYTES: u64 = 256 << 20;

/// The configuration of a file system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Bytes of the file system.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of the smallest piece of space that a file can have.
    pub fragment_bytes: u64,
    /// The largest transfer, in bytes.
    pub cluster_bytes: u64,
    /// Number of groups.
    pub groups: u32,
    /// The bytes of a large file up to its first change of group; none if it does not fit or does not change.
    pub first_group_bytes: Option<u64>,
}

impl Configuration {
    pub(crate) fn of<A: Allocator>(volume: &Volume<A>) -> Configuration {
        let allocator = volume.allocator();
        let unit_bytes = allocator.unit_bytes();
        let last_unit = (allocator.size_bytes() / unit_bytes - 1) as u32;
        Configuration {
            size_bytes: allocator.size_bytes(),
            block_bytes: u64::from(allocator.block_units()) * unit_bytes,
            fragment_bytes: unit_bytes,
            cluster_bytes: allocator.transfer_bytes(),
            groups: allocator.group_of_unit(last_unit) + 1,
            first_group_bytes: first_group_bytes(allocator.clone()),
        }
    }
}

fn first_group_bytes<A: Allocator>(mut allocator: A) -> Option<u64> {
    let inode = allocator.allocate_inode(Some(0), false)?;
    let mut file = Layout { inode, ..Layout::default() };
    allocator.write(&mut file, 0, PROBE_BYTES).ok()?;
    let group = |extent: &Extent| allocator.group_of_unit(extent.start);
    let change = file.extents.windows(2).find(|pair| group(&pair[0]) != group(&pair[1]))?;
    Some(u64::from(change[1].logical) * allocator.unit_bytes())
}
