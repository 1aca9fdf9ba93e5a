//! ext4.

use super::{FileSystem, Kind};
use crate::bulk::ext4::InodeTables;
use crate::{BulkReader, Error};
use disk::{Extent, LABEL, MountPoint, command, new_uuid};
use std::path::Path;
use std::process::Command;

/// The seed of directory hashes, which also selects the block groups of top-level directories; any fixed value works.
const HASH_SEED: &str = "73656e65-7363-4e65-8573-656e65736365";

/// The fourth extended file system.
pub struct Ext4;

inventory::submit!(Kind(&Ext4));

impl FileSystem for Ext4 {
    fn name(&self) -> &'static str {
        "ext4"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0x438, &[0x53, 0xef]))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.ext4", "e2fsck"], "e2fsprogs")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, zeroed: bool, opts: &[String]) -> Command {
        // Otherwise the kernel would write inode tables in the background of a measurement.
        let mut extended = format!("lazy_itable_init=0,lazy_journal_init=0,hash_seed={HASH_SEED}");
        if zeroed {
            // Inode tables and journal need no writes: this saves 16 GiB of zeros for a file system of 1 TiB.
            extended += ",assume_storage_prezeroed=1";
        }
        let mut command = command("mkfs.ext4");
        // The default is smaller blocks below 512 MiB.
        command.args(["-q", "-F", "-L", LABEL, "-U", &new_uuid(), "-b", "4096"]);
        let mut opts = opts.iter();
        while let Some(opt) = opts.next() {
            // mkfs uses only the last -E option, so merge them.
            match (opt.strip_prefix("-E"), opts.as_slice()) {
                (Some(""), [value, ..]) => {
                    extended = format!("{extended},{value}");
                    opts.next();
                }
                (Some(value), _) => extended = format!("{extended},{value}"),
                (None, _) => {
                    command.arg(opt);
                }
            }
        }
        command.arg("-E").arg(extended).arg(device).arg(format!("{}k", size_bytes / 1024));
        command
    }

    /// ext4 has a fixed number of inodes: one per 16 KiB by default, too few for many profiles of small files.
    fn mkfs_opts_for_inodes(&self, size_bytes: u64, inodes: u64) -> Vec<String> {
        // 25 % more than are ever alive at once, for deleted files that churn has not freed yet.
        let wanted = inodes + inodes / 4;
        if wanted <= size_bytes / 16384 { Vec::new() } else { vec!["-N".to_owned(), wanted.to_string()] }
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("e2fsck");
        command.arg("-fn").arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("mkfs.ext4");
        command.arg("-V");
        command
    }

    fn min_size_bytes(&self) -> u64 {
        // Smaller ones get no journal.
        8 << 20
    }

    /// Written files of up to 16 blocks (`mb_stream_req` in the kernel's ext4 documentation) are allocated from a group of 512 blocks
    /// that is preallocated for small files, one per processor.
    fn grouped_limit_bytes(&self, block_bytes: u64) -> u64 {
        16 * block_bytes
    }

    fn fiemap_returns_device_addresses(&self) -> bool {
        true
    }

    /// Also that of ext3, which the same driver serves. The ext2 driver keeps changed inodes in memory for a while, as does any file system
    /// mounted with lazytime.
    fn bulk_reader(&self, mount: &MountPoint, synced_ns: i64) -> Option<Box<dyn BulkReader>> {
        let is_current = mount.options.split(',').all(|option| option != "lazytime");
        if !["ext4", "ext3"].contains(&&*mount.kind) || !is_current {
            return None;
        }
        Some(Box::new(InodeTables::open(mount.devno, synced_ns)?))
    }

    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        &["noload"]
    }

    /// The free extents; journal, inodes and all other metadata are in use.
    fn unused_extents(&self, _device: &Path, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        self.free_extents(root)
    }

    fn max_extent_bytes(&self, block_bytes: u64) -> u64 {
        32768 * block_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_extended_options_are_merged() {
        let line = |opts: &[&str]| {
            let opts: Vec<_> = opts.iter().map(|o| o.to_string()).collect();
            format!("{:?}", Ext4.mkfs(Path::new("/dev/x"), 1 << 30, false, &opts))
        };
        for opts in [&["-E", "stride=2", "-O", "^has_journal"][..], &["-Estride=2", "-O", "^has_journal"]] {
            let line = line(opts);
            assert!(line.contains("hash_seed=73656e65-7363-4e65-8573-656e65736365,stride=2\""), "{line}");
            assert!(
                line.contains("\"-O\" \"^has_journal\" \"-E\"") && line.ends_with("\"1048576k\""),
                "{line}"
            );
        }
    }
}
