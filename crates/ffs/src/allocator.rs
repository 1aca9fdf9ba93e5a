//! The interface between a volume, which handles names and sizes, and an allocator, which handles disk space.

use crate::layout::Layout;

/// The file system has not enough free space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSpace;

/// The block allocation of a simulated file system.
pub trait Allocator: Clone + Send {
    /// Bytes of a unit, in which disk addresses are counted.
    fn unit_bytes(&self) -> u64;

    /// Units per block.
    fn block_units(&self) -> u32;

    /// The largest transfer between disk and memory, in bytes.
    fn transfer_bytes(&self) -> u64;

    /// Files of at least this size are written in transfers as long as possible, smaller ones block by block.
    fn clustered_from_bytes(&self) -> u64 {
        0
    }

    /// Bytes of the disk.
    fn size_bytes(&self) -> u64;

    /// Allocates an inode, near that of its parent directory; the root has no parent.
    fn allocate_inode(&mut self, parent: Option<u32>, directory: bool) -> Option<u32>;

    /// Frees an inode.
    fn free_inode(&mut self, inode: u32, directory: bool);

    /// The byte address of the inode's block on disk.
    fn inode_byte(&self, inode: u32) -> u64;

    /// The group of an inode.
    fn group_of_inode(&self, inode: u32) -> u32;

    /// The group of a unit on disk.
    fn group_of_unit(&self, unit: u32) -> u32;

    /// Allocates blocks for `len` bytes at `offset` of the file, and extends it if they pass its end. Without space the file is
    /// unchanged.
    fn write(&mut self, file: &mut Layout, offset: u64, len: u64) -> Result<(), NoSpace>;

    /// Truncates or extends the file to `size` bytes.
    fn truncate(&mut self, file: &mut Layout, size: u64) -> Result<(), NoSpace>;

    /// Frees the whole blocks within `len` bytes at `offset`.
    fn punch(&mut self, file: &mut Layout, offset: u64, len: u64);

    /// Whether new files are written at once, with inode and directory forced to disk (`true`), or delayed and
    /// journaled.
    fn writes_metadata_through(&self) -> bool;

    /// Bytes available to files.
    fn available_bytes(&self) -> u64;

    /// Free bytes in total, and those in partly free blocks.
    fn free_bytes(&self) -> (u64, u64);

    /// Visits every maximal run of free blocks: its length in blocks.
    fn each_free_run(&self, visit: &mut dyn FnMut(u32));

    /// Bytes on the heap: (maps of free space, maps of used inodes).
    fn heap_bytes(&self) -> (usize, usize);

    /// Recounts all cached counts; an error describes a difference.
    fn check(&self) -> Result<(), String>;
}
