//! F2FS.

use super::{FileSystem, Kind};
use crate::Error;
use disk::{Extent, LABEL, SECTOR_BYTES, command, new_uuid};
use std::path::Path;
use std::process::Command;

/// The flash-friendly file system, which is log-structured (Lee et al., FAST 2015).
pub struct F2fs;

inventory::submit!(Kind(&F2fs));

impl FileSystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0x400, &[0x10, 0x20, 0xf5, 0xf2]))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.f2fs", "fsck.f2fs"], "f2fs-tools")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("mkfs.f2fs");
        // -r: fixes the random seed of the checkpoint to 0.
        command.args(["-q", "-f", "-r", "-l", LABEL, "-U", &new_uuid()]).args(opts).arg(device);
        command.arg((size_bytes / SECTOR_BYTES).to_string());
        command
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("fsck.f2fs");
        command.args(["-f", "--dry-run"]).arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("mkfs.f2fs");
        command.arg("-V");
        command
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // It discards in the background, which would disturb a measurement.
        &["noatime", "nodiscard"]
    }

    /// With `mode=fragment:segment` and `mode=fragment:block` it allocates in pieces, for tests.
    fn option_needs(&self, option: &str) -> Option<&'static str> {
        option.starts_with("mode=fragment:").then_some("Linux 5.16 or later")
    }

    fn min_size_bytes(&self) -> u64 {
        128 << 20
    }

    /// `mkfs.f2fs` reserves space for cleaning: at most 48 MiB and 16 % of devices of 128 MiB to 1 GiB (version 1.15, measured). The rest
    /// also holds a node of 4 KiB per file.
    fn max_fullness(&self, size_bytes: u64) -> f64 {
        let kept_back = (48 << 20) as f64 / size_bytes as f64 + 0.16;
        (1.0 - kept_back).max(0.1) * 0.85
    }

    fn fallocate_assigns_blocks(&self) -> bool {
        false
    }

    fn max_extent_bytes(&self, _: u64) -> u64 {
        // Segments can follow each other without limit.
        u64::MAX
    }

    /// `None`: the kernel does not report them.
    fn free_extents(&self, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }
}
