//! betreefs: this program creates it, serves it through FUSE and checks it.

use super::{FileSystem, Kind, TreeStatFn};
use crate::Error;
use disk::{BlockDevice, Extent, FuseServerSpec, LABEL, command};
use std::path::Path;
use std::process::Command;

/// Options that belong to the mount and go to the kernel; all others go to the server.
const MOUNT_OPTIONS: [&str; 6] = ["ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime"];

/// The file system on a Bε-tree.
pub struct Betreefs;

inventory::submit!(Kind(&Betreefs));

impl FileSystem for Betreefs {
    fn name(&self) -> &'static str {
        "betreefs"
    }

    fn magic(&self) -> Option<(u64, &'static [u8])> {
        Some((0, disk::BETREE_MAGIC))
    }

    fn tools(&self) -> (&'static [&'static str], &'static str) {
        (&[], "senesce")
    }

    fn mkfs(&self, device: &Path, size_bytes: u64, _zeroed: bool, opts: &[String]) -> Command {
        let mut command = this_program("mkfs");
        command.args(["--label", LABEL]).args(opts).arg("--size").arg(size_bytes.to_string());
        command.arg("--erase").arg(device).arg(device);
        command
    }

    fn fuse_server(&self, device: &Path, options: &[String]) -> Option<FuseServerSpec> {
        let options: Vec<&str> = options.iter().flat_map(|option| option.split(',')).collect();
        let mount_options =
            options.iter().filter(|option| MOUNT_OPTIONS.contains(option)).map(ToString::to_string);
        let mut kernel_options = vec![betreefs::kernel_options()];
        kernel_options.extend(mount_options);
        let args = ["betreefs", "serve", "-o", &options.join(",")].map(Into::into);
        Some(FuseServerSpec {
            what: format!("betreefs on {}", device.display()),
            source: device.to_owned(),
            kind: betreefs::FS_TYPE,
            options: kernel_options,
            args: args.into_iter().chain([device.into()]).collect(),
        })
    }

    fn check(&self, device: &Path) -> Option<Command> {
        let mut command = this_program("check");
        command.arg(device);
        Some(command)
    }

    fn version_command(&self) -> Command {
        let mut command = command("/proc/self/exe");
        command.arg("--version");
        command
    }

    fn is_ours(&self, device: &BlockDevice) -> Result<bool, Error> {
        Ok(betreefs::label(device.path())? == LABEL)
    }

    fn min_size_bytes(&self) -> u64 {
        betreefs::MIN_BYTES
    }

    /// The rest is the log, reserve for node copies, and partly filled leaves.
    fn max_fullness(&self, _size_bytes: u64) -> f64 {
        0.5
    }

    /// An operation is a message to the server and a reply: while one waits, another is processed. File locations depend on their names,
    /// not on the number of threads.
    fn default_threads(&self) -> usize {
        2 * std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Nothing is allocated before it is written, so every file is written.
    fn inline_limit_bytes(&self) -> u64 {
        u64::MAX
    }

    /// The size of a leaf.
    fn max_extent_bytes(&self, _: u64) -> u64 {
        4 << 20
    }

    fn supports_fiemap(&self) -> bool {
        false
    }

    /// `None`: the free extents belong to the store; `senesce betreefs stat` counts them.
    fn free_extents(&self, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        Ok(None)
    }

    /// The free extents in the space map of the last checkpoint, which excludes superblocks and log.
    fn unused_extents(&self, device: &Path, _: &Path) -> Result<Option<Vec<Extent>>, Error> {
        let free = betreefs::free_extents(device)?;
        Ok(Some(free.into_iter().map(|(start_bytes, len_bytes)| Extent { start_bytes, len_bytes }).collect()))
    }

    fn tree_stat_fn(&self) -> Option<TreeStatFn> {
        Some(|device| Ok(betreefs::tree_stat(device)?))
    }

    /// The page cache of the mount is filled from the server's memory; the server reads ahead on the disk in the layout of the store.
    fn set_read_ahead(&self, root: &Path, _kb: u32) -> Result<(), Error> {
        Ok(betreefs::set_read_ahead(root)?)
    }

    fn sync(&self, root: &Path) -> Result<(), Error> {
        crate::volume::sync(root)?;
        Ok(betreefs::checkpoint(root)?)
    }
}

fn this_program(action: &str) -> Command {
    let mut command = command("/proc/self/exe");
    command.args(["betreefs", action]);
    command
}
