//! ext4 in persistent memory.

use super::ext4::Ext4;
use super::{FileSystem, Kind};
use crate::Error;
use disk::Extent;
use std::path::Path;
use std::process::Command;

/// ext4 in persistent memory, with direct access (DAX): files are read and written in place, without the page cache and the block
/// layer. The on-disk format is plain ext4.
pub struct Ext4Dax;

inventory::submit!(Kind(&Ext4Dax));

impl FileSystem for Ext4Dax {
    fn name(&self) -> &'static str {
        "ext4-dax"
    }

    fn mount_name(&self) -> &'static str {
        Ext4.name()
    }

    fn in_persistent_memory(&self) -> bool {
        true
    }

    fn modules(&self) -> Vec<&'static str> {
        [Ext4.modules(), vec!["virtio_pmem", "nd_pmem"]].concat()
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        Ext4.tools()
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, zeroed: bool, opts: &[String]) -> Command {
        Ext4.mkfs(device, size_bytes, zeroed, opts)
    }

    fn mkfs_opts_for_inodes(&self, size_bytes: u64, inodes: u64) -> Vec<String> {
        Ext4.mkfs_opts_for_inodes(size_bytes, inodes)
    }

    fn check(&self, device: &Path) -> Option<Command> {
        Ext4.check(device)
    }

    fn version_command(&self) -> Command {
        Ext4.version_command()
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // If the memory does not support DAX, the kernel refuses the mount.
        &["noatime", "dax=always"]
    }

    fn min_size_bytes(&self) -> u64 {
        Ext4.min_size_bytes()
    }

    fn grouped_limit_bytes(&self, block_bytes: u64) -> u64 {
        Ext4.grouped_limit_bytes(block_bytes)
    }

    fn max_extent_bytes(&self, block_bytes: u64) -> u64 {
        Ext4.max_extent_bytes(block_bytes)
    }

    fn fiemap_returns_device_addresses(&self) -> bool {
        Ext4.fiemap_returns_device_addresses()
    }

    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        Ext4.no_write_mount_opts()
    }

    fn unused_extents(&self, device: &Path, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ext4.unused_extents(device, root)
    }
}
