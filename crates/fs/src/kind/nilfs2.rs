//! NILFS2.

use super::{FileSystem, Kind};
use crate::Error;
use disk::{Extent, LABEL, command, new_uuid};
use std::path::Path;
use std::process::Command;

/// The new implementation of a log-structured file system (Konishi et al., 2006). No cleaner runs, because it would free deleted data at
/// times of its own. So all writes of an aging run must fit.
pub struct Nilfs2;

inventory::submit!(Kind(&Nilfs2));

impl FileSystem for Nilfs2 {
    fn name(&self) -> &'static str {
        "nilfs2"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        // Revision 2.0 is the only one. Two bytes alone could be a part of the number of blocks of ext4.
        Some((0x400, b"\x02\0\0\0\0\0\x34\x34"))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.nilfs2", "nilfs-tune"], "nilfs-tools")
    }

    /// It uses the whole device regardless of the size.
    fn mkfs(&self, device: &Path, _size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("mkfs.nilfs2");
        command.args(["-q", "-f", "-K", "-b", "4096", "-L", LABEL]).args(opts).arg(device);
        command
    }

    fn set_uuid(&self, device: &Path) -> Option<Command> {
        let mut command = command("nilfs-tune");
        command.arg("-U").arg(new_uuid()).arg(device);
        Some(command)
    }

    /// It has no checker.
    fn check(&self, _: &Path) -> Option<Command> {
        None
    }

    fn version_command(&self) -> Command {
        let mut command = command("mkfs.nilfs2");
        command.arg("-V");
        command
    }

    fn min_size_bytes(&self) -> u64 {
        134 << 20
    }

    fn fallocate_assigns_blocks(&self) -> bool {
        false
    }

    fn reclaims_space(&self) -> bool {
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
