//! OpenZFS.

mod pool;

pub use pool::Pool;

use super::{FileSystem, Kind};
use crate::Error;
use disk::{BlockDevice, Extent, POOL_PREFIX, command};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates a pool; arguments are the device and further options. Its file system is mounted by this program only, after an import under
/// another name.
const MAKE: &str = r#"name=$0; device=$1; shift
zpool create -f -o cachefile=none -m legacy "$@" "$name" "$device" && zpool export "$name""#;

/// Bytes of a device outside its metaslabs: four labels of 256 KiB, and the boot block (`vdev_impl.h`, `VDEV_LABEL_START_SIZE` and
/// `VDEV_LABEL_END_SIZE`).
const LABELS_BYTES: u64 = (4 << 20) + (512 << 10);

/// The file system with a volume manager (Bonwick et al., 2003), as it is developed today.
pub struct Zfs;

inventory::submit!(Kind(&Zfs));

impl FileSystem for Zfs {
    fn name(&self) -> &'static str {
        "zfs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        // The first name in the list of pool properties.
        Some((0x4018, b"version\0"))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&["zpool", "zfs", "zdb", "blkid"], "zfsutils-linux")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("`scripts/setup zfs` installs zfsutils-linux from the section contrib of Debian")
    }

    fn in_pool(&self) -> bool {
        true
    }

    /// It uses the whole device regardless of the size.
    fn mkfs(&self, device: &Path, _size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = command("sh");
        command.args(["-c", MAKE, &pool::unused_name()]).arg(device).args(opts);
        command
    }

    /// Verifies the checksum of every block in use, and that each block is in use or free, without importing the pool. A pool whose number
    /// cannot be read is not found.
    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("zdb");
        command.args(["-e", "-p"]).arg(device).arg("-cc").arg(pool::tag(device, "UUID").unwrap_or_default());
        Some(command)
    }

    /// Without its module, it prints the version of the programs only.
    fn version_command(&self) -> Command {
        let mut command = command("zfs");
        command.arg("--version");
        command
    }

    fn is_ours(&self, device: &BlockDevice) -> Result<bool, Error> {
        Ok(pool::tag(device.path(), "LABEL")?.starts_with(POOL_PREFIX))
    }

    fn min_size_bytes(&self) -> u64 {
        128 << 20
    }

    /// The rest is for metadata, which it stores twice, and for blocks that are freed only some transaction groups later.
    fn max_fullness(&self, size_bytes: u64) -> f64 {
        0.8 * usable_bytes(size_bytes) as f64 / size_bytes.max(1) as f64
    }

    fn fallocate_assigns_blocks(&self) -> bool {
        false
    }

    /// The default size of a record.
    fn max_extent_bytes(&self, _: u64) -> u64 {
        128 << 10
    }

    fn supports_fiemap(&self) -> bool {
        false
    }

    /// `None`: only its debugger reports them.
    fn free_extents(&self, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// Its cache is not the page cache, and belongs to no process.
    fn memory_limit_note(&self) -> Option<&'static str> {
        Some("the memory limit does not count the cache of ZFS (ARC)")
    }

    /// `syncfs` writes what is delayed to its intent log only.
    fn sync(&self, root: &Path) -> Result<(), Error> {
        crate::volume::sync(root)?;
        pool::sync(root)
    }

    fn take_snapshot(&self, root: &Path, name: &str) -> Result<(), Error> {
        pool::take_snapshot(root, name)
    }

    fn delete_snapshot(&self, root: &Path, name: &str) -> Result<(), Error> {
        pool::delete_snapshot(root, name)
    }

    fn bdi_dir(&self, root: &Path) -> Result<PathBuf, Error> {
        let why =
            "ZFS limits delayed writes by itself, for all pools together: see zfs_dirty_data_max in zfs(4)";
        Err(Error::io("limiting the delayed writes of", root)(std::io::Error::other(why)))
    }
}

/// The bytes of a device of this size that hold files and their metadata: whole metaslabs, 16 of them or fewer in small pools
/// (`vdev_metaslab_set_size`), less the slop space, 1/32 but at least 128 MiB or half of what there is (`spa_get_slop_space`). OpenZFS 2.1.
fn usable_bytes(size_bytes: u64) -> u64 {
    let allocatable = size_bytes.saturating_sub(LABELS_BYTES);
    let count = if allocatable >= 200 << 29 { 200 } else { 16 };
    let power_above = |bytes: u64| bytes.checked_ilog2().map_or(0, |log| 1 << (log + 1));
    let metaslab: u64 = match allocatable {
        few if few < 16 << 29 => power_above(few / count).max(16 << 20),
        middle if middle < 200 << 29 => 1 << 29,
        many => power_above(many / count).min(16 << 30),
    };
    let whole = allocatable / metaslab * metaslab;
    whole - (whole / 32).max((whole / 2).min(128 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_space_is_whole_metaslabs_less_slop() {
        for (mib, usable_mib) in
            [(0, 0), (16, 0), (128, 56), (256, 120), (512, 352), (1024, 832), (20 << 10, 19_344)]
        {
            assert_eq!(usable_bytes(mib << 20) >> 20, usable_mib, "{mib} MiB");
        }
        for mib in (0..1 << 22).step_by(4099) {
            assert!(usable_bytes(mib << 20) <= mib << 20);
        }
    }
}
