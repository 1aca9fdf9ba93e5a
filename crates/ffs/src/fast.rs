//! The fast file system of 4.4BSD, without names: placement of inodes, blocks and fragments.
//!
//! Based on the descriptions that [`crate::policy`] cites. Omitted: rotational positions of blocks (no disk of the publications needed
//! them), and triple indirect blocks.

mod clusters;
mod groups;
mod grow;
mod partial;
mod shrink;

pub use groups::{GroupSummary, Groups};
pub(crate) use shrink::kept_fragments;

use crate::allocator::{Allocator, NoSpace};
use crate::geometry::{FRAGMENT_BYTES, FRAGMENTS, GROUP_INODES, Geometry};
use crate::layout::Layout;
use crate::policy::Policy;

/// A fast file system with a policy.
#[derive(Clone)]
pub struct FastFs<P> {
    groups: Groups,
    policy: P,
    /// Whether growing fragments favour space over time: they then move for every added fragment.
    saves_space: bool,
    /// Fragments that are kept free.
    reserve: u64,
}

impl<P: Policy> FastFs<P> {
    /// An empty file system.
    pub fn new(geometry: Geometry, policy: P) -> FastFs<P> {
        let groups = Groups::new(geometry);
        let reserve = groups.data_fragments() * geometry.reserve_percent / 100;
        FastFs { groups, policy, saves_space: false, reserve }
    }

    /// The cylinder groups.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Tries groups in the order of 4.4BSD: the preferred one, then those 1, 2, 4 … further on, then all others. `ask` gets true for
    /// the preferred one.
    fn in_some_group<T>(
        &mut self,
        group: u32,
        mut ask: impl FnMut(&mut Self, u32, bool) -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = ask(self, group, true) {
            return Some(found);
        }
        let count = self.groups.count();
        let (mut next, mut step) = (group, 1);
        while step < count {
            next = (next + step) % count;
            if let Some(found) = ask(self, next, false) {
                return Some(found);
            }
            step *= 2;
        }
        (2..count).find_map(|step| ask(self, (group + step) % count, false))
    }

    /// Fragments available above the reserve.
    fn available_fragments(&self) -> u64 {
        self.groups.free_fragments().saturating_sub(self.reserve)
    }

    /// The first block of an inode's group.
    fn group_begin(&self, inode: u32) -> u32 {
        self.groups.geometry().first_data(self.group_of_inode(inode))
    }
}

impl<P: Policy> Allocator for FastFs<P> {
    fn unit_bytes(&self) -> u64 {
        FRAGMENT_BYTES
    }

    fn block_units(&self) -> u32 {
        FRAGMENTS
    }

    fn transfer_bytes(&self) -> u64 {
        u64::from(self.groups.geometry().cluster_blocks * FRAGMENTS) * FRAGMENT_BYTES
    }

    /// Until a full cluster of a file is written, 4.4BSD writes each block by itself (Smith and Seltzer 1997, §4.2).
    fn clustered_from_bytes(&self) -> u64 {
        self.transfer_bytes()
    }

    fn size_bytes(&self) -> u64 {
        self.groups.size_bytes()
    }

    fn allocate_inode(&mut self, parent: Option<u32>, directory: bool) -> Option<u32> {
        let group = match parent {
            Some(parent) if !directory => self.group_of_inode(parent),
            Some(_) => self.policy.directory_group(&self.groups),
            None => 0,
        };
        self.in_some_group(group, |this, group, _| this.groups.allocate_inode(group, directory))
    }

    fn free_inode(&mut self, inode: u32, directory: bool) {
        self.groups.free_inode(inode, directory);
    }

    fn inode_byte(&self, inode: u32) -> u64 {
        self.groups.geometry().inode_byte(inode)
    }

    fn group_of_inode(&self, inode: u32) -> u32 {
        inode / GROUP_INODES
    }

    fn group_of_unit(&self, unit: u32) -> u32 {
        self.groups.group_of(unit / FRAGMENTS)
    }

    fn write(&mut self, file: &mut Layout, offset: u64, len: u64) -> Result<(), NoSpace> {
        self.write_blocks(file, offset, len)
    }

    fn truncate(&mut self, file: &mut Layout, size: u64) -> Result<(), NoSpace> {
        if size > file.size {
            // Allocates the block of the last byte.
            return self.write_blocks(file, size - 1, 1);
        }
        self.shrink(file, size);
        Ok(())
    }

    fn punch(&mut self, file: &mut Layout, offset: u64, len: u64) {
        self.punch_blocks(file, offset, len);
    }

    fn writes_metadata_through(&self) -> bool {
        true
    }

    fn available_bytes(&self) -> u64 {
        self.available_fragments() * FRAGMENT_BYTES
    }

    fn free_bytes(&self) -> (u64, u64) {
        let in_parts = u64::from(self.groups.total().fragments);
        (self.groups.free_fragments() * FRAGMENT_BYTES, in_parts * FRAGMENT_BYTES)
    }

    fn each_free_run(&self, visit: &mut dyn FnMut(u32)) {
        for group in 0..self.groups.count() {
            self.groups.free_runs(group).for_each(|(_, len)| visit(len));
        }
    }

    fn heap_bytes(&self) -> (usize, usize) {
        self.groups.heap_bytes()
    }

    fn check(&self) -> Result<(), String> {
        self.groups.check()
    }
}
