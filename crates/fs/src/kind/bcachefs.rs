//! bcachefs.

use super::{FileSystem, Kind};
use crate::Error;
use disk::{Extent, LABEL, command, new_uuid};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy-on-write file system that evolved from a block cache (Overstreet, 2015). Included in kernels 6.7 to 6.17; an out-of-tree
/// module for later ones.
pub struct Bcachefs;

inventory::submit!(Kind(&Bcachefs));

impl FileSystem for Bcachefs {
    fn name(&self) -> &'static str {
        "bcachefs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0x1018, disk::BCACHEFS_MAGIC))
    }

    fn device_count_offset(&self) -> Option<u64> {
        Some(0x107b)
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.bcachefs", "bcachefs"], "bcachefs-tools")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("install bcachefs-tools from https://bcachefs.org (Debian 12 has no package)")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("mkfs.bcachefs");
        // By default it would use the sector size of the device as block size. The kernel must do the initial allocation at the first mount:
        // if the program does it, it occasionally crashes on exit (1.13.0).
        command.args(["-q", "-f", "-L", LABEL, "-U", &new_uuid(), "--block_size=4096", "--no_initialize"]);
        command.args(opts);
        command.arg(format!("--fs_size={size_bytes}")).arg(device);
        command
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("bcachefs");
        command.args(["fsck", "-n"]).arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("bcachefs");
        command.arg("version");
        command
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // It discards in the background, which would disturb a measurement.
        &["noatime", "nodiscard"]
    }

    fn min_size_bytes(&self) -> u64 {
        128 << 20
    }

    /// Measured on kernel 6.12: new files fill 0.78 to 0.80 of 128, 256 and 512 MiB. Aging to 0.8 fails on 128 MiB; to 0.7 never fails
    /// on 128 MiB to 1 GiB. It reserves 8 % to compact partly filled buckets (`gc_reserve_percent`), and metadata takes the rest.
    fn max_fullness(&self, _size_bytes: u64) -> f64 {
        0.7
    }

    /// Its option `inline_data`: a quarter of a block, or half of a smaller block.
    fn inline_limit_bytes(&self) -> u64 {
        1024
    }

    /// Preallocation only reserves blocks; data is written elsewhere.
    fn fallocate_assigns_blocks(&self) -> bool {
        false
    }

    /// An extent has one checksum and is at most `encoded_extent_max` long.
    fn max_extent_bytes(&self, _: u64) -> u64 {
        64 << 10
    }

    /// `None`: the kernel does not report them.
    fn free_extents(&self, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        &["nochanges"]
    }

    /// An error: nothing maps the settings to a mount, and throttling the writes of another mount would be worse than too much read-ahead.
    fn bdi_dir(&self, root: &Path) -> Result<PathBuf, Error> {
        let why = "the kernel does not show which settings belong to a bcachefs file system";
        Err(Error::NoDirtyLimit { path: root.to_owned(), why })
    }

    fn set_read_ahead(&self, root: &Path, kb: u32) -> Result<(), Error> {
        let names =
            std::fs::read_dir(SETTINGS).map_err(Error::io("setting the read-ahead of", root))?.flatten();
        // Nothing maps the settings to a mount, but they are numbered and this mount is the newest.
        let Some(newest) = names.filter_map(|entry| number(&entry.file_name())).max() else { return Ok(()) };
        let setting = PathBuf::from(format!("{SETTINGS}/{PREFIX}{newest}/read_ahead_kb"));
        std::fs::write(&setting, kb.to_string()).map_err(Error::io("setting", &setting))
    }
}

/// The kernel's settings for the read-ahead of devices, and of file systems that do not use that of their device.
const SETTINGS: &str = "/sys/class/bdi";
/// The prefix of bcachefs settings before a number.
const PREFIX: &str = "bcachefs-";

fn number(name: &OsStr) -> Option<u64> {
    name.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}
