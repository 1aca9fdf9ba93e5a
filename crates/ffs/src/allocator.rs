//! What the outer part of the laboratory, which knows names and sizes, asks of an allocator, which knows the disk.

use crate::layout::Layout;

/// There is not enough space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSpace;

/// A simulated file system below its names.
pub trait Allocator: Clone {
    /// Bytes of a unit, in which places on disk are counted.
    fn unit_bytes(&self) -> u64;

    /// Units of a block.
    fn block_units(&self) -> u32;

    /// The longest transfer between disk and memory, in bytes.
    fn transfer_bytes(&self) -> u64;

    /// Bytes of the disk.
    fn size_bytes(&self) -> u64;

    /// Takes an inode, near that of the directory that it is made in; the root is in none.
    fn take_inode(&mut self, parent: Option<u32>, directory: bool) -> Option<u32>;

    /// Gives back an inode.
    fn give_inode(&mut self, inode: u32, directory: bool);

    /// The byte on disk where the block of an inode lies.
    fn inode_byte(&self, inode: u32) -> u64;

    /// The group of an inode.
    fn group_of_inode(&self, inode: u32) -> u32;

    /// The group of a unit on disk.
    fn group_of_unit(&self, unit: u32) -> u32;

    /// Gives blocks to `len` bytes at `offset` of the file, which grows where they pass its end. Without space the file is as
    /// it was.
    fn write(&mut self, file: &mut Layout, offset: u64, len: u64) -> Result<(), NoSpace>;

    /// Cuts or extends the file to `size` bytes.
    fn truncate(&mut self, file: &mut Layout, size: u64) -> Result<(), NoSpace>;

    /// Frees the whole blocks within `len` bytes at `offset`.
    fn punch(&mut self, file: &mut Layout, offset: u64, len: u64);

    /// Whether files are written when they are made, with their inode and directory forced to disk (`true`), or gathered and
    /// logged.
    fn writes_metadata_through(&self) -> bool;

    /// Bytes that files can still be given.
    fn available_bytes(&self) -> u64;

    /// Free bytes in all, and those of them in blocks that are not free as a whole.
    fn free_bytes(&self) -> (u64, u64);

    /// Every maximal run of free blocks: its length in blocks.
    fn each_free_run(&self, visit: &mut dyn FnMut(u32));

    /// Bytes on the heap: (maps of free space, maps of inodes in use).
    fn heap_bytes(&self) -> (usize, usize);

    /// Counts all that is kept anew; what differs, in words.
    fn check(&self) -> Result<(), String>;
}
