//! ZFS, through zfs-fuse.

mod daemon;
mod pool;

pub use daemon::start;
pub use pool::Pool;

use super::{FileSystem, Kind};
use crate::Error;
use disk::{BlockDevice, Extent, command};
use std::path::Path;
use std::process::Command;

const PACKAGE: &str = "zfs-fuse";

/// The name prefix of the pools that this program creates.
const NAME: &str = "senesce-";

/// Creates a pool; arguments are the device and further options. Mounts it below a directory of the daemon, then exports it.
const MAKE: &str = r#"name=$0; device=$1; shift
zpool create -f -o cachefile=none -O atime=off -R /run/zfs/new -m / "$@" "$name" "$device" && zpool export "$name""#;

/// Checks every block in use. Scrubbing runs in the background, so wait for it.
const SCRUB: &str = r#"name=$0; mkdir -p "/run/zfs/$name"; ln -sf "$1" "/run/zfs/$name/disk"
zpool import -f -d "/run/zfs/$name" -o cachefile=none -R /run/zfs/new "$(blkid -p -s UUID -o value "$1")" "$name" || exit
zpool scrub "$name"
while zpool status "$name" | grep -q 'scrub in progress'; do sleep 0.2; done
zpool status -v "$name"
zpool status "$name" | grep -q 'with 0 errors' && zpool status -x "$name" | grep -q 'is healthy'
status=$?
zpool export "$name" && exit $status"#;

/// The file system with a volume manager (Bonwick et al., 2003), in its FUSE port of 2008 to 2012.
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
        (&["zfs-fuse", "zpool", "zfs"], PACKAGE)
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

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = command("sh");
        command.args(["-c", SCRUB, &pool::unused_name()]).arg(device);
        Some(command)
    }

    /// Its programs do not print a version.
    fn version_command(&self) -> Command {
        let mut command = command("dpkg-query");
        command.args(["-W", "-f", "${Package} ${Version}, pool version 23", PACKAGE]);
        command
    }

    fn default_mount_opts(&self) -> &'static [&'static str] {
        // The pool is created with `atime=off`, so reads do not cause writes.
        &[]
    }

    fn is_ours(&self, device: &BlockDevice) -> Result<bool, Error> {
        Ok(pool::tag(device.path(), "LABEL")?.starts_with(NAME))
    }

    fn min_size_bytes(&self) -> u64 {
        128 << 20
    }

    /// The rest is its reserve and metadata, which it stores twice.
    fn max_fullness(&self, _size_bytes: u64) -> f64 {
        0.6
    }

    /// Nothing is allocated before it is written, so every file is written.
    fn inline_limit_bytes(&self) -> u64 {
        u64::MAX
    }

    /// The size of a record.
    fn max_extent_bytes(&self, _: u64) -> u64 {
        128 << 10
    }

    fn supports_fiemap(&self) -> bool {
        false
    }

    /// `None`: only its debugger reports them, and it cannot see the pools of this program's daemon.
    fn free_extents(&self, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// `syncfs` does not reach the daemon. But a property is set in a transaction group that commits after all earlier writes.
    fn sync(&self, root: &Path) -> Result<(), Error> {
        crate::volume::sync(root)?;
        pool::sync(root)
    }
}
