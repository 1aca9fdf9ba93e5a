//! Btrfs.

use super::{FileSystem, Kind, run_to_success};
use crate::ioctl::btrfs;
use crate::{AddressMap, Error};
use disk::{Extent, LABEL, command, new_uuid};
use std::path::{Path, PathBuf};
use std::process::Command;
use tree::SNAPSHOTS;

/// The first kernel that does not charge metadata to the control group that reads it.
const UNCHARGED_SINCE: [u32; 2] = [6, 18];

/// The B-tree file system.
pub struct Btrfs;

inventory::submit!(Kind(&Btrfs));

impl FileSystem for Btrfs {
    fn name(&self) -> &'static str {
        "btrfs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0x1_0040, b"_BHRfS_M"))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["mkfs.btrfs", "btrfs"], "btrfs-progs")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("mkfs.btrfs");
        command.args(["-q", "-f", "-L", LABEL, "-U", &new_uuid()]).args(opts);
        command.arg("-b").arg(size_bytes.to_string()).arg(device);
        command
    }

    /// From `mkfs.btrfs(8)`, `--mixed`: on a small file system, separate metadata block groups have so little space that each operation
    /// waits for some.
    fn advised_mkfs_opts(&self, size_bytes: u64) -> &'static [&'static str] {
        if size_bytes < 1 << 30 { &["--mixed"] } else { &[] }
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("btrfs");
        command.args(["check", "--readonly"]).arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("mkfs.btrfs");
        command.arg("--version");
        command
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // Unlike others it discards in the background, which would disturb a measurement.
        &["noatime", "nodiscard"]
    }

    /// With `fragment=` it allocates in pieces, for tests.
    fn option_needs(&self, option: &str) -> Option<&'static str> {
        option.starts_with("fragment=").then_some("a kernel built with CONFIG_BTRFS_DEBUG")
    }

    fn min_size_bytes(&self) -> u64 {
        128 << 20
    }

    fn inline_limit_bytes(&self) -> u64 {
        2048
    }

    fn max_extent_bytes(&self, _: u64) -> u64 {
        128 << 20
    }

    /// The free extents of data block groups, from the free-space tree. Addresses are logical, as FIEMAP returns them for files.
    /// Excludes space that is not yet in a block group.
    fn free_extents(&self, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        btrfs::free_extents(root).map(Some)
    }

    fn layout_note(&self) -> Option<&'static str> {
        Some("addresses are logical Btrfs addresses, as reported by its extent maps")
    }

    /// With commit cf1dec76ba8a ("mm/filemap: add AS_KERNEL_FILE") and its user in Btrfs, tree blocks are charged to the root group.
    fn memory_limit_note(&self) -> Option<&'static str> {
        let counts = is_older(&rustix::system::uname().release().to_string_lossy(), UNCHARGED_SINCE);
        (!counts).then_some(
            "the memory limit does not count metadata of Btrfs, with the small files in it (Linux 6.18 and later)",
        )
    }

    /// From sysfs.
    fn devices(&self, source: &Path) -> Vec<PathBuf> {
        let list = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten();
        let mut all = list(PathBuf::from("/sys/fs/btrfs")).map(|entry| entry.path().join("devices"));
        let own = source.file_name().and_then(|name| all.find(|dir| dir.join(name).exists()));
        match own {
            Some(dir) => list(dir).map(|entry| Path::new("/dev").join(entry.file_name())).collect(),
            None => vec![source.to_owned()],
        }
    }

    fn no_write_mount_opts(&self) -> &'static [&'static str] {
        &["rescue=nologreplay"]
    }

    fn unused_extents(&self, device: &Path, root: &Path) -> Result<Option<Vec<Extent>>, Error> {
        btrfs::unused_extents(device, root)
    }

    fn address_map(&self, root: &Path) -> Result<Option<AddressMap>, Error> {
        btrfs::address_map(root)
    }

    /// In the directory [`SNAPSHOTS`], made if it is not there. `root` must be a subvolume.
    fn take_snapshot(&self, root: &Path, name: &str) -> Result<(), Error> {
        let dir = root.join(SNAPSHOTS);
        std::fs::create_dir_all(&dir).map_err(Error::io("creating", &dir))?;
        let mut take = command("btrfs");
        take.args(["subvolume", "snapshot", "-r"]).arg(root).arg(dir.join(name));
        run_to_success(self, root, "taking a snapshot of", &mut take)
    }

    fn delete_snapshot(&self, root: &Path, name: &str) -> Result<(), Error> {
        let doing = "deleting a snapshot of";
        let mut delete = command("btrfs");
        // The thread that frees blocks starts after a commit.
        delete.args(["subvolume", "delete", "--commit-after"]).arg(root.join(SNAPSHOTS).join(name));
        run_to_success(self, root, doing, &mut delete)?;
        run_to_success(self, root, doing, command("btrfs").args(["subvolume", "sync"]).arg(root))
    }

    /// It may span several devices, and has write-back settings of its own.
    fn bdi_dir(&self, root: &Path) -> Result<PathBuf, Error> {
        let id = btrfs::id(root).map_err(Error::io("reading the identity of", root))?;
        Ok(PathBuf::from(format!("/sys/fs/btrfs/{id}/bdi")))
    }

    fn set_read_ahead(&self, root: &Path, kb: u32) -> Result<(), Error> {
        let setting = self.bdi_dir(root)?.join("read_ahead_kb");
        std::fs::write(&setting, kb.to_string()).map_err(Error::io("setting", &setting))
    }
}

/// Whether a kernel release, as printed by `uname -r`, is older than this version.
fn is_older(release: &str, version: [u32; 2]) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    let release = [numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(0)];
    release < version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases_are_ordered_by_number() {
        for (release, older) in [
            ("6.1.0-56-amd64", true),
            ("5.19", true),
            ("6.17.13+deb14", true),
            ("6.18.44-fc", false),
            ("6.18-rc1", false),
            ("7.0.1", false),
            ("strange", false),
        ] {
            assert_eq!(is_older(release, UNCHARGED_SINCE), older, "{release}");
        }
    }
}
