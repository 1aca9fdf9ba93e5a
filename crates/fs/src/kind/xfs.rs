//! XFS.

use super::{FileSystem, Kind};
use crate::Error;
use disk::{Extent, LABEL, command, new_uuid};
use std::path::Path;
use std::process::Command;

/// The XFS file system.
pub struct Xfs;

inventory::submit!(Kind(&Xfs));

impl FileSystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0, b"XFSB"))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.xfs", "xfs_repair"], "xfsprogs")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("mkfs.xfs");
        command.args(["-q", "-f", "-L", LABEL]);
        // mkfs rejects a second UUID.
        if !opts.iter().any(|opt| opt.contains("uuid=")) {
            command.arg("-m").arg(format!("uuid={}", new_uuid()));
        }
        command.args(opts).arg("-d").arg(format!("size={size_bytes}")).arg(device);
        command
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("xfs_repair");
        command.arg("-n").arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("mkfs.xfs");
        command.arg("-V");
        command
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // A copy has the UUID of its original, which may be mounted at the same time: by another run, or for some milliseconds after its
        // unmount in a mount namespace that was created in the meantime.
        &["noatime", "nouuid"]
    }

    fn min_size_bytes(&self) -> u64 {
        300 << 20
    }

    fn fiemap_returns_device_addresses(&self) -> bool {
        true
    }

    /// An inode number has the allocation group in its upper bits, above those for the blocks of a group and the 8 inodes of a block;
    /// mkfs.xfs creates 4 groups of up to 1 TiB each unless the storage is striped.
    fn inodes_per_group(&self, capacity_bytes: u64) -> u64 {
        let groups = (capacity_bytes >> 40).max(4);
        let blocks = capacity_bytes.div_ceil(groups).div_ceil(4096);
        blocks.next_power_of_two() * 8
    }

    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        &["norecovery"]
    }

    /// The free extents; journal, inodes and all other metadata are in use.
    fn unused_extents(&self, _device: &Path, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        self.free_extents(root)
    }

    fn max_extent_bytes(&self, block_bytes: u64) -> u64 {
        // An extent record has 21 bits for the length.
        ((1 << 21) - 1) * block_bytes
    }
}
